# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster: one that is there, or one of this machine's own.

Ray schedules, restarts and authenticates; nothing here does. One of this machine's
own listens on loopback only, with a token that nobody else knows, and ends with
this process.
"""

from collections.abc import Iterator
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from types import ModuleType
from typing import Any

from fedfish_tff import errors
from fedfish_tff.execution import threads

# How long an address has to answer.
_CONNECT_SECONDS = 5.0
_LOOPBACK = '127.0.0.1'
# Ray takes the address that others reach a machine at, for what it starts there,
# unless this says that there are no others. Read when Ray is imported.
_NO_OTHERS = {'RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER': '0'}


# Ray ends a process, without a word, whose node has gone. Another one sees that it
# ended before it said that it would, and removes what it cannot any more.
_WATCH = """
import os, shutil, sys, time
if not sys.stdin.read():
  folders = sys.argv[1:]
  for _ in range(100):
    # Ray's own processes end by and by, and write until then.
    for folder in folders:
      shutil.rmtree(folder, ignore_errors=True)
    time.sleep(0.1)
    if not any(map(os.path.exists, folders)):
      break
  sys.exit('This process was ended: the Ray node on this machine has gone, or it was '
           'killed. What it has saved is there; the same command continues.')
"""


class RayError(errors.InputError):
  """A Ray cluster that is not there, or is no longer."""


class RayCluster:
  """A connection of this process to a cluster.

  Attributes:
    ray: Ray itself.
    address: Of the cluster; None for one of this machine's own.
    folder: The sockets and logs of the latter, while it is there.
  """

  def __init__(self, address: str | None = None):
    """Connects, or starts a cluster on this machine.

    Args:
      address: As Ray writes it: 'host:port' for a cluster that this machine is a
        node of, 'ray://host:port' for its client server, 'auto' for the one that
        runs here. None starts one.

    Raises:
      RayError: If Ray is not installed, or nobody answers there.
    """
    self.address = address
    self.folder: str | None = None
    self._watcher: subprocess.Popen[bytes] | None = None
    if address is not None:
      _check_answers(address)
    self.ray = import_ray(is_local=address is None)
    # A program may have connected before; it then ends the connection, too.
    self._is_own = not self.ray.is_initialized()
    if self._is_own:
      self._connect()

  def count(self, resource: str) -> int:
    """Returns how many of 'CPU', 'GPU' or 'TPU' Ray knows of."""
    return int(self.ray.cluster_resources().get(resource, 0))

  def stop(self) -> None:
    """Ends the connection, and a cluster that was started."""
    if self._is_own:
      self.ray.shutdown()
    if self._watcher is not None:
      self._watcher.communicate(b'.')
      self._watcher = None
    if self.folder is not None:
      shutil.rmtree(self.folder, ignore_errors=True)
      self.folder = None

  def _connect(self) -> None:
    options: dict[str, Any] = dict(log_to_driver=False, configure_logging=False)
    if self.address is None:
      # Its sockets have long names there, of which there may be 107 characters.
      self.folder = tempfile.mkdtemp(prefix='fedfish_ray_', dir='/tmp')
      options.update(
        num_cpus=threads.num_cores(),
        include_dashboard=False,
        _temp_dir=self.folder,
      )
    try:
      with _keeping_signals():
        self.ray.init(self.address, **options)
      self._watcher = subprocess.Popen(
        [sys.executable, '-ISc', _WATCH, *filter(None, [self.folder])],
        stdin=subprocess.PIPE,
        start_new_session=True,
      )
      if self.address is None:
        self._check_loopback()
    except errors.InputError:
      self.stop()
      raise
    except (ConnectionError, RuntimeError, OSError, ValueError) as error:
      self.stop()
      # That the cluster has another version takes several lines.
      reason = ' '.join(str(error).split())
      raise RayError(
        f'There is no Ray cluster for this process at {self.address or "this machine"}: {reason}'
      ) from error

  def _check_loopback(self) -> None:
    here = self.ray.util.get_node_ip_address()
    if here != _LOOPBACK:
      raise RayError(
        f'Ray would listen on {here}, since it was imported before: set '
        'RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 first, or start a cluster and give '
        'its address.'
      )


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
  """Undoes what its block does with signals, which Ray takes for its own."""
  is_main = threading.current_thread() is threading.main_thread()
  handlers = {
    number: signal.getsignal(number)
    for number in (signal.SIGINT, signal.SIGTERM)
    if is_main
  }
  try:
    yield
  finally:
    for number, handler in handlers.items():
      signal.signal(number, handler)


def import_ray(*, is_local: bool) -> ModuleType:
  """Returns Ray, imported so that a local cluster keeps to itself.

  Args:
    is_local: Whether a cluster may be started here.

  Raises:
    RayError: If Ray is not installed.
  """
  if is_local and 'ray' not in sys.modules:
    os.environ.update(_NO_OTHERS)
    # Otherwise it writes one into the user's home folder, and says so.
    os.environ.setdefault('RAY_AUTH_MODE', 'token')
    os.environ.setdefault('RAY_AUTH_TOKEN', secrets.token_hex(32))
  # It would tell its authors that it runs.
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  try:
    # As late as this, since it is optional.
    import ray  # pylint: disable=g-import-not-at-top

    return ray
  except ImportError as error:
    raise RayError(
      f'Ray cannot be imported ({error}); `pip install "ray>=2.50,<3"`, or '
      'in a checkout `make ray`, installs it.'
    ) from error


def _check_answers(address: str) -> None:
  """Raises if nobody answers; Ray itself would ask for minutes."""
  host, _, port = address.removeprefix('ray://').rpartition(':')
  if address == 'auto':
    return
  if not host or not port.isdecimal():
    raise RayError(
      f'{address!r} is no address of a Ray cluster; host:port, ray://host:port '
      'or auto was expected.'
    )
  try:
    socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
  except (OSError, OverflowError) as error:
    raise RayError(
      f'Nobody answers at {address}, where a Ray cluster was expected: {error}'
    ) from error
