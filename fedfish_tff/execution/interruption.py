# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls that can be stopped while TensorFlow computes.

Python handles Ctrl-C between two of its own steps, that is, only after a
TensorFlow call has returned. So the work runs on a thread of its own, and the
caller waits for it. When the wait is interrupted, the work is told to stop:
TensorFlow calls in a `cancellable` block end, and `check` raises between them.
"""

import asyncio
from collections.abc import Callable
from collections.abc import Iterator
import concurrent.futures
import contextlib
import contextvars
import threading
from typing import TypeVar

from fedfish_tff import private_apis

import tensorflow as tf

_T = TypeVar('_T')

# An interrupted caller waits this long for the work to end. Work that has not
# ended then is stuck outside TensorFlow; its thread does not keep Python alive.
_STOP_TIMEOUT_SECONDS = 1.5

# The interval at which a waiting caller looks for signals. Python sees a signal
# that comes just before a wait only when the wait has ended; an event loop sees
# what a signal's handler has called, as in Jupyter, only when it wakes.
_SIGNAL_SECONDS = 0.2


class StoppedError(RuntimeError):
  """An error raised inside work that was told to stop."""


class _Interruption:
  """The means to stop one piece of work."""

  def __init__(self) -> None:
    self.is_stopped = False
    self._lock = threading.Lock()
    self._managers: set[private_apis.CancellationManager] = set()

  @contextlib.contextmanager
  def cancellable(self) -> Iterator[private_apis.CancellationManager]:
    """Yields a manager that this interruption cancels."""
    manager = private_apis.CancellationManager()
    with self._lock:
      self.check()
      self._managers.add(manager)
    try:
      yield manager
      # TensorFlow sometimes ends a cancelled loop over a dataset without an
      # error, as if the data had ended, and so returns a wrong result.
      if self.is_stopped:
        raise tf.errors.CancelledError(None, None, 'The call was cancelled.')
    finally:
      with self._lock:
        self._managers.discard(manager)

  def check(self) -> None:
    """Raises StoppedError if the work was told to stop."""
    if self.is_stopped:
      raise StoppedError('The computation was interrupted.')

  def stop(self) -> None:
    """Tells the work to stop."""
    with self._lock:
      self.is_stopped = True
      managers = list(self._managers)
    for manager in managers:
      manager.start_cancel()


_current: contextvars.ContextVar[_Interruption | None] = contextvars.ContextVar(
  'interruption', default=None
)


@contextlib.contextmanager
def cancellable() -> Iterator[private_apis.CancellationManager | None]:
  """Makes the manager that can cancel one TensorFlow call.

  A manager is for one call only, since TensorFlow cancels it when the call
  fails.

  Threads that the work starts are part of it if they run in a copy of its
  context (`contextvars.copy_context`).

  Yields:
    The manager; `None` outside work that can be stopped.

  Raises:
    StoppedError: If the running work was told to stop before the block.
    tf.errors.CancelledError: If it was told to stop within the block.
  """
  interruption = _current.get()
  if interruption is None:
    yield None
  else:
    with interruption.cancellable() as manager:
      yield manager


def check() -> None:
  """Raises a StoppedError if the running work was told to stop."""
  interruption = _current.get()
  if interruption is not None:
    interruption.check()


class _Call:
  """Work on a thread of its own."""

  def __init__(self, work: Callable[[], _T]):
    self._work = work
    self._interruption = _Interruption()
    self.future: concurrent.futures.Future[_T] = concurrent.futures.Future()
    # Others can wait for the future but not cancel it.
    self.future.set_running_or_notify_cancel()
    self._thread = threading.Thread(
      target=contextvars.copy_context().run,
      args=(self._run,),
      name='cohort_execution_context',
      daemon=True,
    )

  def _run(self) -> None:
    _current.set(self._interruption)
    try:
      result = self._work()
    except BaseException as error:
      self.future.set_exception(error)
    else:
      self.future.set_result(result)

  def start(self) -> None:
    """Begins the work."""
    self._thread.start()

  def join_if_done(self) -> None:
    """Joins the thread if its work is done, which takes almost no time."""
    if self.future.done():
      self._thread.join()

  def stop(self) -> None:
    """Tells the work to stop."""
    self._interruption.stop()


def run(work: Callable[[], _T]) -> _T:
  """Does work that stops when the caller is interrupted, as by Ctrl-C."""
  call = _Call(work)
  try:
    # An interrupt may come as soon as the work runs.
    call.start()
    while not call.future.done():
      concurrent.futures.wait([call.future], timeout=_SIGNAL_SECONDS)
  except BaseException:
    call.stop()
    concurrent.futures.wait([call.future], timeout=_STOP_TIMEOUT_SECONDS)
    call.join_if_done()
    raise
  call.join_if_done()
  return call.future.result()


async def run_async(work: Callable[[], _T]) -> _T:
  """Does work that stops when the awaiting task is cancelled."""
  call = _Call(work)
  future = asyncio.wrap_future(call.future)
  call.start()
  try:
    while not future.done():
      await asyncio.wait([future], timeout=_SIGNAL_SECONDS)
    return future.result()
  except asyncio.CancelledError:
    # Read the error with which the work ends, since asyncio would log it.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    call.stop()
    await asyncio.wait([future], timeout=_STOP_TIMEOUT_SECONDS)
    call.join_if_done()
    raise
