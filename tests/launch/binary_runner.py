# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs binaries without importing TensorFlow Federated every time.

`run_here` runs one in this process, which costs nothing besides the run itself.
`BinaryRunner` is for what must not share a process: a server imports the
binary's modules and forks for every run, so each run is a process of its own
with its own flags, exit code and output, that goes through the same code as
`python -m`. The server itself runs no TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import importlib
import importlib.util
import io
import json
import logging as standard_logging
import os
import pathlib
import subprocess
import sys
import tempfile
import types
from typing import Any
from unittest import mock

from launch import cli
from tests import processes

from absl import flags
from absl import logging

_ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Outcome:
  """The end of a run; negative codes are signals."""

  code: int
  stdout: str
  stderr: str

  @property
  def problems(self) -> list[str]:
    """The lines of stderr but those that tell what begins, or of the data."""
    return [
      line
      for line in self.stderr.splitlines()
      if not line.endswith(' ...') and not line.startswith('Data: ')
    ]


def environment() -> dict[str, str]:
  """Returns an environment in which the repository can be imported."""
  paths = [str(_ROOT), *filter(None, sys.path)]
  return {**os.environ, 'PYTHONPATH': os.pathsep.join(paths)}


def _is_of_a_binary(name: str) -> bool:
  module = flags.FLAGS.find_module_defining_flag(name) or ''
  # The names with a point are those of fields of a --config.
  folders = ('benchmarks.', 'launch.', 'research.')
  return '.' in name or module.startswith(folders)


@contextlib.contextmanager
def _flags_of_a_new_process() -> Iterator[None]:
  """Inside, no binary has defined flags; after it, all is as it was."""
  values = vars(flags.FLAGS)
  before = {
    # The lists of a module's flags grow, too.
    name: {k: list(v) if isinstance(v, list) else v for k, v in value.items()}
    if isinstance(value, dict)
    else value
    for name, value in values.items()
  }
  given = {name: vars(flag).copy() for name, flag in before['__flags'].items()}
  for name in filter(_is_of_a_binary, list(flags.FLAGS)):
    delattr(flags.FLAGS, name)
  try:
    yield
  finally:
    # Of libraries that were imported inside, and will not be again.
    kept = {
      name: values['__flags'][name]
      for name in flags.FLAGS
      if name not in given and not _is_of_a_binary(name)
    }
    for name, attributes in given.items():
      vars(before['__flags'][name]).update(attributes)
    values.update(before)
    for name, flag in kept.items():
      flags.FLAGS[name] = flag


@contextlib.contextmanager
def flags_of(module_name: str) -> Iterator[types.ModuleType]:
  """Yields a binary that has defined its flags; afterwards all is as before."""
  # A module of its own, which defines its flags anew.
  spec = importlib.util.find_spec(module_name)
  module = importlib.util.module_from_spec(spec)
  with _flags_of_a_new_process():
    # absl looks there for the module that defines a flag.
    before = sys.modules.get(module_name)
    sys.modules[module_name] = module
    try:
      spec.loader.exec_module(module)
    finally:
      if before is None:
        del sys.modules[module_name]
      else:
        sys.modules[module_name] = before
    yield module


def load(module_name: str) -> types.ModuleType:
  """Returns a binary's module; tests of other binaries never see its flags."""
  with flags_of(module_name) as module:
    return module


def run_here(module_name: str, *arguments: Any) -> Outcome:
  """Runs a binary in this process, from its flags to its exit code.

  Args:
    module_name: The binary, such as `launch.train`.
    *arguments: What would stand behind its name.

  Returns:
    How it ended. Errors that are defects are raised.
  """
  stdout, stderr = io.StringIO(), io.StringIO()
  log = standard_logging.StreamHandler(stderr)
  verbosity, code = logging.get_verbosity(), 0
  path = importlib.util.find_spec(module_name).origin
  argv = [path, *map(str, arguments)]
  standard_logging.getLogger().addHandler(log)
  try:
    with (
      mock.patch.object(sys, 'argv', argv),
      contextlib.redirect_stdout(stdout),
      contextlib.redirect_stderr(stderr),
      flags_of(module_name) as module,
    ):
      parse = getattr(module, 'parse_flags', cli.parse_flags)
      try:
        cli.call(module.main, parse(argv))
      except SystemExit as error:
        code = error.code
  finally:
    logging.set_verbosity(verbosity)
    standard_logging.getLogger().removeHandler(log)
  return Outcome(code, stdout.getvalue(), stderr.getvalue())


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

  def run(
    self, *arguments: Any, watch: Callable[[int], None] = lambda pid: None
  ) -> Outcome:
    """Runs the binary to its end.

    Args:
      *arguments: What would stand behind its name.
      watch: Called with the id of its process, which leads a group of its own,
        while that runs.

    Returns:
      How it ended.
    """
    with tempfile.TemporaryDirectory() as folder:
      request = {'arguments': list(map(str, arguments)), 'folder': folder}
      self._server.stdin.write(json.dumps(request) + '\n')
      self._server.stdin.flush()
      with processes.killed_if_hanging(self._server):
        watch(int(self._server.stdout.readline()))
        code = int(self._server.stdout.readline())
      return Outcome(
        code=code,
        stdout=pathlib.Path(folder, 'stdout').read_text(),
        stderr=pathlib.Path(folder, 'stderr').read_text(),
      )

  def close(self) -> None:
    """Ends the server."""
    self._server.stdin.close()
    self._server.wait(processes.HANG_SECONDS)
    self._server.stdout.close()


def _serve(module_name: str, imported_late: Sequence[str]) -> None:
  module = importlib.import_module(module_name)
  for name in imported_late:
    importlib.import_module(name)
  for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
      os.setsid()
      for name, descriptor in (('stdin', 0), ('stdout', 1), ('stderr', 2)):
        path = '/dev/null' if name == 'stdin' else f'{request["folder"]}/{name}'
        flags = os.O_RDONLY if name == 'stdin' else os.O_WRONLY | os.O_CREAT
        os.dup2(os.open(path, flags), descriptor)
      sys.argv = [module.__file__, *request['arguments']]
      cli.run(module.main, flags_parser=getattr(module, 'parse_flags', None))
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == '__main__':
  _serve(sys.argv[1], sys.argv[2:])
