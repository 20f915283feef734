# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster: an existing one, or one of this machine's own.

Scheduling, restarts and authentication are left to Ray. This machine's own
cluster listens on loopback only, has a secret token, and ends with this
process.
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

# The time within which an address must answer.
_CONNECT_SECONDS = 5.0
_LOOPBACK = '127.0.0.1'
# Without this, Ray's processes listen at the address by which others reach the
# machine. Ray reads it at its import.
_NO_OTHERS = {'RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER': '0'}


# Ray silently ends a process when its node has ended. Another process notices
# an unannounced end, reports it, and removes the folders left behind.
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
  """Error for a Ray cluster that does not exist or has ended."""


class RayCluster:
  """A connection of this process to a cluster.

  Attributes:
    ray: The module of Ray.
    address: The cluster's address; None for this machine's own cluster.
    folder: The folder with the sockets and logs of this machine's own cluster,
      while it exists; else None.
  """

  def __init__(self, address: str | None = None):
    """Connects, or starts a cluster on this machine.

    Args:
      address: The address in Ray's form: 'host:port' for a cluster of which
        this machine is a node, 'ray://host:port' for a cluster's client server,
        'auto' for the cluster that runs here. None starts one.

    Raises:
      RayError: If Ray is not installed, or no cluster answers at the address.
    """
    self.address = address
    self.folder: str | None = None
    self._watcher: subprocess.Popen[bytes] | None = None
    if address is not None:
      _check_answers(address)
    self.ray = import_ray(is_local=address is None)
    # A program that has connected before also ends the connection.
    self._is_own = not self.ray.is_initialized()
    if self._is_own:
      self._connect()

  def count(self, resource: str) -> int:
    """Returns Ray's number of a resource: 'CPU', 'GPU' or 'TPU'."""
    return int(self.ray.cluster_resources().get(resource, 0))

  def stop(self) -> None:
    """Ends the connection and the cluster that it started, if any."""
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
      # Ray's sockets have long names; a socket's path has 107 characters at
      # most.
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
      # Ray's message about another version takes several lines.
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
  """Restores the signal handlers, which Ray replaces, after its block."""
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
  """Returns Ray, imported so that a cluster started here stays private.

  Raises:
    RayError: If Ray is not installed.
  """
  if is_local and 'ray' not in sys.modules:
    os.environ.update(_NO_OTHERS)
    # Otherwise Ray writes a token into the user's home folder, with a message.
    os.environ.setdefault('RAY_AUTH_MODE', 'token')
    os.environ.setdefault('RAY_AUTH_TOKEN', secrets.token_hex(32))
  # Otherwise Ray sends usage statistics to its authors.
  os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
  try:
    # Imported only here, since it is optional.
    import ray  # pylint: disable=g-import-not-at-top

    return ray
  except ImportError as error:
    raise RayError(
      f'Ray cannot be imported ({error}); `pip install "ray>=2.50,<3"`, or '
      'in a checkout `make ray`, installs it.'
    ) from error


def _check_answers(address: str) -> None:
  """Raises if an address does not answer; Ray would retry for minutes."""
  host, _, port = address.removeprefix('ray://').rpartition(':')
  if address == 'auto':
    return
  if not host or not port.isdecimal():
    raise RayError(
      'The address of a Ray cluster must be host:port, ray://host:port or '
      f'auto, got {address!r}.'
    )
  try:
    socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
  except (OSError, OverflowError) as error:
    raise RayError(
      f'There must be a Ray cluster at {address}, and none answers: {error}'
    ) from error
