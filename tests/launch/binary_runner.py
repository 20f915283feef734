# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a binary many times and imports TensorFlow Federated only once.

A server process imports the binary's modules and forks for every run, so each
run is a process of its own with its own flags, exit code and output, that goes
through the same code as `python -m`. The server itself runs no TensorFlow.
"""

from collections.abc import Sequence
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from launch import cli

_ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Outcome:
  """How a run ended; negative codes are signals."""

  code: int
  stdout: str
  stderr: str


def environment() -> dict[str, str]:
  """Returns an environment in which the repository can be imported."""
  paths = [str(_ROOT), *filter(None, sys.path)]
  return {**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}


class BinaryRunner:
  """A server that runs one binary."""

  def __init__(self, module: str, *imported_late: str) -> None:
    """Starts the server.

    Args:
      module: The binary, such as `launch.train`.
      *imported_late: Modules that its main imports.
    """
    self._server = subprocess.Popen(
      [sys.executable, __file__, module, *imported_late],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      env=environment(),
      text=True,
    )

  def run(self, *arguments: Any) -> Outcome:
    """Runs the binary to its end."""
    with tempfile.TemporaryDirectory() as folder:
      request = {'arguments': list(map(str, arguments)), 'folder': folder}
      self._server.stdin.write(json.dumps(request) + '\n')
      self._server.stdin.flush()
      code = int(self._server.stdout.readline())
      return Outcome(
        code=code,
        stdout=pathlib.Path(folder, 'stdout').read_text(),
        stderr=pathlib.Path(folder, 'stderr').read_text(),
      )

  def close(self) -> None:
    """Ends the server."""
    self._server.stdin.close()
    self._server.wait()
    self._server.stdout.close()


def _serve(module_name: str, imported_late: Sequence[str]) -> None:
  module = importlib.import_module(module_name)
  for name in imported_late:
    importlib.import_module(name)
  for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
      for name, descriptor in (('stdin', 0), ('stdout', 1), ('stderr', 2)):
        path = '/dev/null' if name == 'stdin' else f'{request["folder"]}/{name}'
        flags = os.O_RDONLY if name == 'stdin' else os.O_WRONLY | os.O_CREAT
        os.dup2(os.open(path, flags), descriptor)
      sys.argv = [module.__file__, *request['arguments']]
      cli.run(module.main, flags_parser=getattr(module, 'parse_flags', None))
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == '__main__':
  _serve(sys.argv[1], sys.argv[2:])
