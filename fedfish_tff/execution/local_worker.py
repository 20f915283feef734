# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts backed by TFF's own worker on this machine.

TFF computations run in TFF's C++ runtime, as in
`tff.backends.native.create_sync_local_cpp_execution_context`, with these
differences:

*   The worker ends with the process that started it, however that ends, leaves
    no zombie and keeps no one's stdout open (see `worker_process`). What it
    writes, such as the output of `tf.print` at the clients, is logged at level
    INFO.
*   Client work runs with one intra-op thread, so that results are the same bit
    for bit whatever the number of cores.
*   A worker that dies is one clear error in the call that needed it, and the
    call after it starts a new worker; TFF would repeat the call for ever.

Known limit: the worker listens on all network interfaces, without credentials,
on a port that is free at its start, and runs any computation sent to it. TFF
offers no other address. On a network shared with others, put a firewall before
it or do not use it.

The worker runs on Linux only, on the CPU only.
"""

from collections.abc import Callable, Mapping
import os
import socket
import threading
import time
from typing import Any
import weakref

from fedfish_tff.execution import worker_process
import grpc
import tensorflow_federated as tff

_MAX_MESSAGE_BYTES = 2 * 1000 * 1000 * 1000
_CHANNEL_OPTIONS = (
    ('grpc.max_message_length', _MAX_MESSAGE_BYTES),
    ('grpc.max_receive_message_length', _MAX_MESSAGE_BYTES),
    ('grpc.max_send_message_length', _MAX_MESSAGE_BYTES),
    # A proxy named in the environment is not for this machine's own ports.
    ('grpc.enable_http_proxy', 0),
)
_WORKER_ENVIRONMENT = {
    # Read by TensorFlow where its thread pools are made: the results of
    # convolutions depend on the number of threads.
    'TF_NUM_INTRAOP_THREADS': '1',
    'OMP_NUM_THREADS': '1',
}
_START_TIMEOUT_SECONDS = 300.0
_POLL_SECONDS = 0.05
# Between a broken connection and the end of the process behind it.
_END_TIMEOUT_SECONDS = 5.0


class LocalWorkerError(RuntimeError, grpc.RpcError):
  """The worker could not be started or has died, or its context was closed.

  TFF takes it, as a `grpc.RpcError` without a status code, for a broken
  connection when it cleans up, and for an error that repeating the call does
  not cure.
  """


def _worker_binary() -> str:
  """Returns the path of the worker that comes with TFF."""
  path = os.path.join(os.path.dirname(tff.__file__), 'data', 'worker_binary')
  if not os.path.isfile(path):
    raise LocalWorkerError(
        f'TFF\'s worker binary was expected at {path}, but is not there.'
    )
  return path


def _reserve_port() -> socket.socket:
  """Returns a socket bound to a free port that a worker can share.

  TFF's worker binds with SO_REUSEPORT: two workers started on one port would
  both run and share the calls between them. While this socket is bound, and the
  kernel chose its port, no one else is given that port.
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
  """A running worker, and the channel to it as far as TFF's stub needs one."""

  def __init__(self, *, max_concurrent_computation_calls: int):
    """Starts a worker and waits until it takes connections."""
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
      raise LocalWorkerError(f'TFF\'s worker cannot start: {error}') from error
    try:
      self._wait_until_listening(port)
    except BaseException:
      self.process.stop()
      self._reservation.close()
      raise
    self._channel = grpc.insecure_channel(f'localhost:{port}', _CHANNEL_OPTIONS)
    self.stub = tff.framework.RemoteExecutorGrpcStub(self)

  def _wait_until_listening(self, port: int) -> None:
    """Returns once the worker takes connections; raises if that fails."""
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
        f'TFF\'s worker (process {self.process.pid}) {what}. '
        + (f'Its last output was:\n{output}' if output else 'It wrote nothing.')
    )

  def end_error(self) -> LocalWorkerError:
    """Returns the error that says how this worker ended."""
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
    """Tells TFF's stub that the worker is ready.

    gRPC's own watch would be one more thread, which trips over the closing of
    the channel and the end of the interpreter.

    Args:
      callback: Takes the state of the connection.
      try_to_connect: Of no effect: the worker listens already.
    """
    del try_to_connect
    callback(grpc.ChannelConnectivity.READY)

  def unary_unary(self, method: str, **kwargs: Any) -> Callable[[Any], Any]:
    """Returns gRPC's call, but failing with how the worker ended if it did."""
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


class _LocalWorkerExecutorFactory(tff.framework.ExecutorFactory):
  """Executors of one worker, started when the first is asked for."""

  def __init__(
      self,
      *,
      default_num_clients: int,
      max_concurrent_computation_calls: int,
      stream_structs: bool,
  ):
    self._default_num_clients = default_num_clients
    self._max_concurrent_computation_calls = max_concurrent_computation_calls
    self._stream_structs = stream_structs
    self._owner_pid = os.getpid()
    self._lock = threading.Lock()
    self._closed = False
    self._worker: _LocalWorker | None = None
    self._executors: tff.framework.ResourceManagingExecutorFactory | None = None
    # Ends the worker when the context is garbage.
    self._stop_worker = lambda: None

  @property
  def worker_pid(self) -> int | None:
    worker = self._worker
    if worker is None or not worker.process.is_running:
      return None
    return worker.process.pid

  def create_executor(
      self, cardinalities: tff.framework.CardinalitiesType
  ) -> tff.framework.RemoteExecutor:
    if os.getpid() != self._owner_pid:
      raise LocalWorkerError(
          'This context belongs to the process that created it (process '
          f'{self._owner_pid}) and was copied into process {os.getpid()} by a '
          'fork; create a context of its own there, best in a process started '
          'by "spawn".'
      )
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
    if os.getpid() != self._owner_pid:
      return
    with self._lock:
      if self._worker is None:
        return
      if self._worker.process.is_running:
        self._executors.clean_up_executor(cardinalities)
      else:
        # The caller is on its way out with the error that says so.
        self._forget_worker()

  def close(self) -> None:
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
    stream_structs = self._stream_structs

    def create_remote_executor(
        cardinalities: tff.framework.CardinalitiesType,
    ) -> tff.framework.RemoteExecutor:
      cardinalities.setdefault(tff.CLIENTS, default_num_clients)
      executor = tff.framework.RemoteExecutor(
          worker.stub, stream_structs=stream_structs
      )
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


class _LocalWorkerContext:
  """What both kinds of context have beside TFF's: a worker, and its end."""

  executor_factory: _LocalWorkerExecutorFactory

  @property
  def worker_pid(self) -> int | None:
    """The worker's process id; `None` while no worker runs."""
    return self.executor_factory.worker_pid

  def close(self) -> None:
    """Ends the worker; later calls raise `LocalWorkerError`."""
    self.executor_factory.close()

  def __enter__(self):
    return self

  def __exit__(self, *unused_exc_info) -> None:
    self.close()


class SyncLocalWorkerExecutionContext(
    _LocalWorkerContext, tff.framework.SyncExecutionContext
):
  """A synchronous context with a worker of its own, ended by `close`."""


class AsyncLocalWorkerExecutionContext(
    _LocalWorkerContext, tff.framework.AsyncExecutionContext
):
  """An asynchronous context with a worker of its own, ended by `close`."""


def _context_arguments(
    default_num_clients: int,
    max_concurrent_computation_calls: int,
    stream_structs: bool,
) -> Mapping[str, Any]:
  return dict(
      executor_fn=_LocalWorkerExecutorFactory(
          default_num_clients=default_num_clients,
          max_concurrent_computation_calls=max_concurrent_computation_calls,
          stream_structs=stream_structs,
      ),
      compiler_fn=tff.backends.native.desugar_and_transform_to_native,
      transform_args=tff.tensorflow.transform_args,
      transform_result=tff.tensorflow.transform_result,
  )


def create_sync_local_worker_execution_context(
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    stream_structs: bool = False,
) -> SyncLocalWorkerExecutionContext:
  """Creates a synchronous context that runs computations in a local worker.

  The worker starts with the first computation and ends with the context's
  `close` (or `with` block), with the context itself, or with this process.

  Args:
    default_num_clients: The number of clients where the arguments of a
      computation do not tell it.
    max_concurrent_computation_calls: How many clients' calls of one computation
      run at a time; not limited if not positive.
    stream_structs: Whether structures are sent element by element.

  Returns:
    A `tff.framework.SyncContext`, to be installed or made the default.
  """
  return SyncLocalWorkerExecutionContext(
      **_context_arguments(
          default_num_clients, max_concurrent_computation_calls, stream_structs
      )
  )


def set_sync_local_worker_execution_context(
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    stream_structs: bool = False,
) -> None:
  """Makes a new synchronous local worker context TFF's default.

  Args:
    default_num_clients: See `create_sync_local_worker_execution_context`.
    max_concurrent_computation_calls: See the same.
    stream_structs: See the same.
  """
  tff.framework.set_default_context(
      create_sync_local_worker_execution_context(
          default_num_clients,
          max_concurrent_computation_calls,
          stream_structs=stream_structs,
      )
  )


def create_async_local_worker_execution_context(
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    stream_structs: bool = False,
) -> AsyncLocalWorkerExecutionContext:
  """Creates a context whose computations are coroutines, run in a local worker.

  Args:
    default_num_clients: See `create_sync_local_worker_execution_context`.
    max_concurrent_computation_calls: See the same.
    stream_structs: See the same.

  Returns:
    A `tff.framework.AsyncContext`, to be installed or made the default.
  """
  return AsyncLocalWorkerExecutionContext(
      **_context_arguments(
          default_num_clients, max_concurrent_computation_calls, stream_structs
      )
  )


def set_async_local_worker_execution_context(
    default_num_clients: int = 0,
    max_concurrent_computation_calls: int = -1,
    *,
    stream_structs: bool = False,
) -> None:
  """Makes a new asynchronous local worker context TFF's default.

  Args:
    default_num_clients: See `create_sync_local_worker_execution_context`.
    max_concurrent_computation_calls: See the same.
    stream_structs: See the same.
  """
  tff.framework.set_default_context(
      create_async_local_worker_execution_context(
          default_num_clients,
          max_concurrent_computation_calls,
          stream_structs=stream_structs,
      )
  )
