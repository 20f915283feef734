# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for interruption."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading

from fedfish_tff.execution import interruption
from fedfish_tff.execution.reading import tensorflow_functions
from tests.execution import interrupts

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _endless_function():
  """Returns a TensorFlow computation that never ends by itself."""
  comp = tff.tensorflow.computation(
    lambda: tf.data.Dataset.range(7).repeat().reduce(np.int64(0), tf.maximum)
  )
  return tensorflow_functions.TensorFlowFunction(
    tff.framework.serialize_computation(comp)
  )


class _EndlessWork:
  """Work in TensorFlow; says when it has begun, and notes how it ends."""

  def __init__(self):
    self._function = _endless_function()
    self.begun = threading.Event()
    self.ended = threading.Event()
    self.error = None

  def __call__(self):
    try:
      with interruption.cancellable() as manager:
        self.begun.set()
        self._function(cancellation_manager=manager)
    except BaseException as error:
      self.error = error
      raise
    finally:
      self.ended.set()


def _threads():
  return [t for t in threading.enumerate() if t.name.startswith('cohort')]


class RunTest(absltest.TestCase):
  def tearDown(self):
    super().tearDown()
    self.assertEmpty(_threads())

  def test_returns_the_result(self):
    self.assertEqual(interruption.run(lambda: 3), 3)

  def test_raises_what_the_work_raises(self):
    error = KeyError('x')

    def fail():
      raise error

    with self.assertRaises(KeyError) as raised:
      interruption.run(fail)
    self.assertIs(raised.exception, error)

  def test_work_runs_eagerly_on_a_thread_of_its_own(self):
    with tf.Graph().as_default():
      eager, thread = interruption.run(
        lambda: (tf.executing_eagerly(), threading.current_thread())
      )
    self.assertTrue(eager)
    self.assertIsNot(thread, threading.current_thread())

  def test_keeps_the_context_of_the_caller(self):
    variable = contextvars.ContextVar('variable')
    variable.set(5)
    self.assertEqual(interruption.run(variable.get), 5)

  def test_interrupt_stops_tensorflow(self):
    work = _EndlessWork()

    with (
      interrupts.interrupted_after(work.begun),
      self.assertRaises(KeyboardInterrupt),
    ):
      interruption.run(work)
    self.assertTrue(work.ended.wait(interrupts.HANG_SECONDS))
    self.assertIsInstance(work.error, tf.errors.CancelledError)

  def test_interrupt_stops_the_work_of_pools(self):
    endless = [_EndlessWork(), _EndlessWork()]

    def work():
      with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [
          pool.submit(contextvars.copy_context().run, e) for e in endless
        ]
        for future in futures:
          future.result(interrupts.HANG_SECONDS)

    with (
      interrupts.interrupted_after(*(e.begun for e in endless)),
      self.assertRaises(KeyboardInterrupt),
    ):
      interruption.run(work)
    for e in endless:
      self.assertTrue(e.ended.wait(interrupts.HANG_SECONDS))
      self.assertIsInstance(e.error, tf.errors.CancelledError)

  def test_no_call_begins_after_the_interrupt(self):
    errors = []
    begun = threading.Event()
    ended = threading.Event()

    def work():
      begun.set()
      try:
        while True:
          interruption.check()
      except interruption.StoppedError as error:
        errors.append(error)
      try:
        with interruption.cancellable():
          self.fail('This cannot begin.')
      except interruption.StoppedError as error:
        errors.append(error)
      ended.set()

    with (
      interrupts.interrupted_after(begun),
      self.assertRaises(KeyboardInterrupt),
    ):
      interruption.run(work)
    self.assertTrue(ended.wait(interrupts.HANG_SECONDS))
    self.assertLen(errors, 2)

  def test_a_failed_call_does_not_stop_the_others(self):
    comp = tff.tensorflow.computation(
      lambda: tf.debugging.check_numerics(tf.math.log(tf.constant(-1.0)), 'bad')
    )
    failing = tensorflow_functions.TensorFlowFunction(
      tff.framework.serialize_computation(comp)
    )

    def work():
      with contextlib.suppress(tf.errors.InvalidArgumentError):
        with interruption.cancellable() as manager:
          failing(cancellation_manager=manager)
      interruption.check()
      with interruption.cancellable() as manager:
        return manager.is_cancelled

    self.assertFalse(interruption.run(work))

  def test_outside_of_work_nothing_stops(self):
    interruption.check()
    with interruption.cancellable() as manager:
      self.assertIsNone(manager)


class RunAsyncTest(absltest.TestCase):
  def test_returns_the_result(self):
    async def run_two():
      return await asyncio.gather(
        interruption.run_async(lambda: 3), interruption.run_async(lambda: 4)
      )

    self.assertEqual(asyncio.run(run_two()), [3, 4])

  def test_raises_what_the_work_raises(self):
    def fail():
      raise KeyError('x')

    with self.assertRaises(KeyError):
      asyncio.run(interruption.run_async(fail))

  def test_cancellation_stops_tensorflow(self):
    work = _EndlessWork()

    async def cancel():
      task = asyncio.create_task(interruption.run_async(work))
      while not work.begun.is_set():
        await asyncio.sleep(0.01)
      task.cancel()
      with self.assertRaises(asyncio.CancelledError):
        await task

    asyncio.run(cancel())
    self.assertTrue(work.ended.wait(interrupts.HANG_SECONDS))
    self.assertIsInstance(work.error, tf.errors.CancelledError)

  def test_cancellation_by_a_signal_stops_tensorflow(self):
    """As in Jupyter, whose handler of signals does not wake the event loop."""
    work = _EndlessWork()
    loop = asyncio.new_event_loop()
    task = loop.create_task(interruption.run_async(work))
    late = []
    loop.call_later(interrupts.HANG_SECONDS, late.append, True)
    with (
      contextlib.closing(loop),
      interrupts.interrupted_after(
        work.begun, handler=lambda *_: loop.call_soon(task.cancel)
      ),
      self.assertRaises(asyncio.CancelledError),
    ):
      loop.run_until_complete(task)
    self.assertEmpty(late)
    self.assertTrue(work.ended.wait(interrupts.HANG_SECONDS))
    self.assertIsInstance(work.error, tf.errors.CancelledError)
