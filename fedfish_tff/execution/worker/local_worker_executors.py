# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFF's worker as a server on this machine, and the executors that call it.

The worker runs as a `worker_process`, listens on a port reserved for it, and
serves `tff.framework.RemoteExecutor`s.
"""

from collections.abc import Callable
import os
import socket
import threading
import time
from typing import Any
import weakref

from fedfish_tff.execution.worker import worker_process

import grpc
import tensorflow_federated as tff

_MAX_MESSAGE_BYTES = 2 * 1000 * 1000 * 1000
_CHANNEL_OPTIONS = (
  ('grpc.max_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
  ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
  # A proxy in the environment does not apply to this machine's own ports.
  ('grpc.enable_http_proxy', 0),
)
_WORKER_ENVIRONMENT = {
  # TensorFlow reads these when it makes its thread pools. The results of
  # convolutions depend on the number of threads.
  'TF_NUM_INTRAOP_THREADS': '1',
  'OMP_NUM_THREADS': '1',
}
_START_TIMEOUT_SECONDS = 300.0
_POLL_SECONDS = 0.05
# The time between a broken connection and the end of the worker's process.
_END_TIMEOUT_SECONDS = 5.0


class LocalWorkerError(RuntimeError, grpc.RpcError):
  """Error if the worker cannot start or has died, or its context was closed.

  It is a `grpc.RpcError` without a status code. So TFF treats it as a broken
  connection when it cleans up, and as an error for which it does not repeat the
  call.
  """


def _worker_binary() -> str:
  """Returns the path of the worker that comes with TFF."""
  path = os.path.join(os.path.dirname(tff.__file__), 'data', 'worker_binary')
  if not os.path.isfile(path):
    raise LocalWorkerError(
      f"There is no file {path}, which must be TFF's worker binary."
    )
  return path


def _reserve_port() -> socket.socket:
  """Returns a socket bound to a free port that a worker can share.

  TFF's worker binds with SO_REUSEPORT, so two workers on one port would both
  run and share the calls. The kernel chooses the port and gives it to no other
  process while this socket is bound.
  """
  dual_stack = socket.has_dualstack_ipv6()
  reservation = socket.socket(
    socket.AF_INET6 if dual_stack else socket.AF_INET, socket.SOCK_STREAM
  )
  if dual_stack:
    reservation.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
  reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
  reservation.bind(('', 0))
  return reservation


class _LocalWorker:
  """A running worker, with the parts of a channel that TFF's stub needs."""

  def __init__(self, *, max_concurrent_computation_calls: int):
    """Starts a worker and waits until it accepts connections."""
    binary = _worker_binary()
    self._reservation = _reserve_port()
    port = self._reservation.getsockname()[1]
    try:
      self.process = worker_process.WorkerProcess(
        [
          binary,
          f'--port={port}',
          '--max_concurrent_computation_calls='
          f'{max_concurrent_computation_calls}',
        ],
        environment={
          'TF_CPP_MIN_LOG_LEVEL': '3',
          **os.environ,
          **_WORKER_ENVIRONMENT,
        },
      )
    except OSError as error:
      self._reservation.close()
      raise LocalWorkerError(f"TFF's worker cannot start: {error}") from error
    try:
      self._wait_until_listening(port)
    except BaseException:
      self.process.stop()
      self._reservation.close()
      raise
    self._channel = grpc.insecure_channel(f'localhost:{port}', _CHANNEL_OPTIONS)
    self.stub = tff.framework.RemoteExecutorGrpcStub(self)

  def _wait_until_listening(self, port: int) -> None:
    """Returns once the worker accepts connections; raises if it does not."""
    deadline = time.monotonic() + _START_TIMEOUT_SECONDS
    while True:
      try:
        socket.create_connection(('localhost', port), timeout=1.0).close()
        return
      except OSError:
        if self.process.wait(_POLL_SECONDS):
          raise self._error(
            f'{self.process.describe_end()} at its start'
          ) from None
        if time.monotonic() > deadline:
          raise self._error(
            f'did not listen within {_START_TIMEOUT_SECONDS:.0f} s'
          ) from None

  def _error(self, what: str) -> LocalWorkerError:
    output = self.process.output_tail
    return LocalWorkerError(
      f"TFF's worker (process {self.process.pid}) {what}. "
      + (f'Its last output was:\n{output}' if output else 'It wrote nothing.')
    )

  def end_error(self) -> LocalWorkerError:
    """Returns the error that describes this worker's end."""
    what = self.process.describe_end()
    if what.endswith('SIGKILL'):
      what += ', as happens when memory runs out'
    return self._error(f'{what}; the next call starts a new one')

  def stop(self) -> None:
    """Ends the worker."""
    self.process.stop()
    if os.getpid() == self.process.owner_pid:
      self._channel.close()
    self._reservation.close()

  def subscribe(
    self,
    callback: Callable[[grpc.ChannelConnectivity], None],
    try_to_connect: bool = False,
  ) -> None:
    """Tells TFF's stub that the worker is ready, since it listens already.

    gRPC's own watch would be another thread, which fails when the channel
    closes or the interpreter ends.
    """
    del try_to_connect
    callback(grpc.ChannelConnectivity.READY)

  def unary_unary(self, method: str, **kwargs: Any) -> Callable[[Any], Any]:
    """Returns gRPC's call, which raises `end_error` if the worker has ended."""
    call = self._channel.unary_unary(method, **kwargs)

    def call_worker(request: Any) -> Any:
      try:
        return call(request)
      except grpc.RpcError as error:
        broken = error.code() == grpc.StatusCode.UNAVAILABLE
        if self.process.wait(_END_TIMEOUT_SECONDS if broken else 0.0):
          raise self.end_error() from error
        raise

    return call_worker


class LocalWorkerExecutorFactory(tff.framework.ExecutorFactory):
  """A factory of remote executors of one worker, which starts with the first.

  TFF keeps up to ten executors, one for each number of clients.
  """

  def __init__(
    self,
    *,
    default_num_clients: int,
    max_concurrent_computation_calls: int,
  ):
    """Makes a factory without a worker, by `LocalWorkerOptions`."""
    self._default_num_clients = default_num_clients
    self._max_concurrent_computation_calls = max_concurrent_computation_calls
    self._owner_pid = os.getpid()
    self._lock = threading.Lock()
    self._closed = False
    self._worker: _LocalWorker | None = None
    self._executors: tff.framework.ResourceManagingExecutorFactory | None = None
    # Ends the worker when the context is garbage-collected.
    self._stop_worker = lambda: None

  @property
  def worker_pid(self) -> int | None:
    """The worker's process id; `None` while no worker runs."""
    worker = self._worker
    if worker is None or not worker.process.is_running:
      return None
    return worker.process.pid

  def check_owner(self) -> None:
    """Raises an error in a process forked from this context's process."""
    if os.getpid() != self._owner_pid:
      raise LocalWorkerError(
        'This context belongs to the process that created it (process '
        f'{self._owner_pid}) and was copied into process {os.getpid()} by a '
        'fork; create a context of its own there, best in a process started '
        'by "spawn".'
      )

  def create_executor(
    self, cardinalities: tff.framework.CardinalitiesType
  ) -> tff.framework.RemoteExecutor:
    """Returns an executor for the given numbers of clients.

    Raises:
      LocalWorkerError: If the worker has died since the last call (the next
        call starts another), cannot start, or `close` was called.
    """
    self.check_owner()
    with self._lock:
      if self._closed:
        raise LocalWorkerError('This context was closed.')
      if self._worker is not None and not self._worker.process.is_running:
        error = self._worker.end_error()
        self._forget_worker()
        raise error
      if self._worker is None:
        self._start_worker()
      return self._executors.create_executor(cardinalities)

  def clean_up_executor(
    self, cardinalities: tff.framework.CardinalitiesType
  ) -> None:
    """Drops the executor of a failed call."""
    if os.getpid() != self._owner_pid:
      return
    with self._lock:
      if self._worker is None:
        return
      if self._worker.process.is_running:
        self._executors.clean_up_executor(cardinalities)
      else:
        # The call already raises the error that reports this.
        self._forget_worker()

  def close(self) -> None:
    """Ends the worker permanently."""
    if os.getpid() != self._owner_pid:
      return
    with self._lock:
      self._closed = True
      if self._worker is not None:
        self._forget_worker()

  def _start_worker(self) -> None:
    worker = _LocalWorker(
      max_concurrent_computation_calls=self._max_concurrent_computation_calls
    )

    default_num_clients = self._default_num_clients

    def create_remote_executor(
      cardinalities: tff.framework.CardinalitiesType,
    ) -> tff.framework.RemoteExecutor:
      cardinalities.setdefault(tff.CLIENTS, default_num_clients)
      executor = tff.framework.RemoteExecutor(worker.stub)
      executor.set_cardinalities(cardinalities)
      return executor

    self._worker = worker
    self._executors = tff.framework.ResourceManagingExecutorFactory(
      create_remote_executor
    )
    self._stop_worker = weakref.finalize(self, worker.stop)

  def _forget_worker(self) -> None:
    self._stop_worker()
    self._worker = None
    self._executors = None
