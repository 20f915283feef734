# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs notebooks in a kernel of their own, without a network."""

import os
import pathlib
import sys
from unittest import mock

from tests import repository

import nbclient
import nbformat

# For a cell; on two idle cores the slowest takes a quarter of a minute.
_TIMEOUT_SECONDS = 300

# Read by the kernel's Python as it starts: what is not a file's socket fails.
_WITHOUT_NETWORK = """
import pathlib
import socket

def _refuse(method):
  def checked(self, address, *rest):
    if self.family != socket.AF_UNIX:
      raise OSError(f'The test of the notebook has no network: {address}')
    return method(self, address, *rest)
  return checked

for name in ('bind', 'connect', 'connect_ex', 'sendto'):
  setattr(socket.socket, name, _refuse(getattr(socket.socket, name)))
pathlib.Path(__file__).with_name('loaded').touch()
"""


def execute(
  notebook: nbformat.NotebookNode, folder: pathlib.Path
) -> nbformat.NotebookNode:
  """Runs a notebook from start to end and returns it with its outputs.

  Args:
    notebook: The notebook, which is changed.
    folder: An empty one, where it runs; its path is short, as those of sockets
      are.

  Raises:
    nbclient.exceptions.CellExecutionError: If a cell raises.
    RuntimeError: If the kernel has not been kept from the network.
  """
  guard = folder / 'guard'
  guard.mkdir()
  (guard / 'sitecustomize.py').write_text(_WITHOUT_NETWORK)
  environment = {
    'PYTHONPATH': os.pathsep.join(
      [str(guard), str(repository.ROOT), *filter(None, sys.path)]
    ),
    'HOME': str(folder),
    'IPYTHONDIR': str(folder / 'ipython'),
    'JUPYTER_CONFIG_DIR': str(folder / 'config'),
    'JUPYTER_DATA_DIR': str(folder / 'data'),
    'JUPYTER_RUNTIME_DIR': str(folder),
    'JUPYTER_PLATFORM_DIRS': '1',
    'JUPYTER_PREFER_ENV_PATH': '1',
  }
  with mock.patch.dict(os.environ, environment):
    client = nbclient.NotebookClient(
      notebook,
      kernel_name='python3',
      timeout=_TIMEOUT_SECONDS,
      resources={'metadata': {'path': str(folder)}},
    )
    kernel = client.create_kernel_manager()
    # Sockets of the file system: no port is opened.
    kernel.transport = 'ipc'
    kernel.ip = str(folder / 'kernel')
    executed = client.execute()
  if not (guard / 'loaded').exists():
    raise RuntimeError(
      'The kernel has not read what keeps it from the network.'
    )
  return executed
