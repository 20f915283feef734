# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Changes modules, one place at a time, and tells which tests notice.

A change that no test notices survives: it changes nothing, or a test is missing.
A test that never kills a mutant alone may be needless. Tests run in copies of one
process that has loaded the libraries; the files stay as they are, so processes
that tests start do not see a change. Each mutant meets the tests that run its
line, of the files that import its module and of its package's folder. A
mutant whose tests do not end within five times their time is killed.

  python .ci/mutate.py [--mutants=N] [--seed=S] [--tests=PATH ...] MODULE.py ...
"""

import argparse
import ast
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import copy
import importlib
import importlib.machinery
import linecache
import multiprocessing
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path.cwd()
_KILLERS = 10  # Enough to say that a test is not the only one.
_LIMIT = 1200.0  # Seconds of the tests of a module as it is.
_OPERATORS = {
  ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
  ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
  ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
  ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
  ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
  ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
_FUNCTIONS = {'min': 'max', 'max': 'min', 'any': 'all', 'all': 'any'}
_TYPES = ('annotation', 'returns', 'decorator_list')


def _with(node: ast.AST, **fields) -> ast.AST:
  result = copy.copy(node)
  for name, value in fields.items():
    setattr(result, name, value)
  return result


def _changed(node: ast.AST) -> list[ast.AST]:
  """Returns what takes the place of a node, in one mutant each."""
  match node:
    case ast.Compare(ops=[operator]):
      return [_with(node, ops=[_OPERATORS[type(operator)]()])]
    case ast.BinOp() | ast.BoolOp() if type(node.op) in _OPERATORS:
      return [_with(node, op=_OPERATORS[type(node.op)]())]
    case ast.UnaryOp(op=ast.Not() | ast.USub()):
      return [node.operand]
    case ast.Constant(value=bool()):
      return [_with(node, value=not node.value)]
    case ast.Constant(value=int() | float()):
      return [_with(node, value=node.value + 1)]
    case ast.Name(id=name) if name in _FUNCTIONS:
      return [_with(node, id=_FUNCTIONS[name])]
    case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
      if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        return [_with(node, test=ast.UnaryOp(ast.Not(), test))]
    case ast.Return(value=ast.expr()) if ast.unparse(node) != 'return None':
      return [_with(node, value=ast.Constant(None))]
    case ast.Raise() | ast.Expr(value=ast.Call()):
      return [ast.Pass()]
  return []


def _places(node: ast.AST) -> Iterator[tuple]:
  """Yields (parent, field, position or None, child) of all that runs."""
  for field, value in ast.iter_fields(node):
    children = value if isinstance(value, list) else [value]
    for position, child in enumerate(children):
      if not isinstance(child, ast.AST) or field in _TYPES:
        continue
      if isinstance(child, ast.If) and 'TYPE_CHECKING' in ast.unparse(child):
        continue
      yield node, field, position if value is children else None, child
      yield from _places(child)


def mutants(source: str) -> list[tuple[int, str, str]]:
  """Returns (line, words, source) of all mutants of a module."""
  result = []
  tree = ast.parse(source)
  for parent, field, position, child in list(_places(tree)):
    for new in _changed(child):
      words = [
        ast.unparse(ast.fix_missing_locations(x)).splitlines()[0][:70]
        for x in (child, new)
      ]
      if position is None:
        setattr(parent, field, new)
      else:
        getattr(parent, field)[position] = new
      text = ast.unparse(ast.fix_missing_locations(tree))
      result.append((child.lineno, ' -> '.join(words), text))
      if position is None:
        setattr(parent, field, child)
      else:
        getattr(parent, field)[position] = child
  return result


class _Tests:
  """A plugin of pytest: runs some tests, and tells which fail and what they run.

  Attributes:
    lines: The lines of the module that each test runs; '' runs those of imports.
    failed: The tests that fail, and files that cannot be imported.
    seconds: The duration of each test.
  """

  def __init__(
    self, path: pathlib.Path, selected: set[str] | None, tell: Callable
  ):
    self._path, self._selected, self._tell = str(path), selected, tell
    self.lines, self.failed, self.seconds = {'': set()}, [], {}
    self._running = self.lines['']

  def watch(self) -> None:
    """Notes the lines that run from now on."""
    # The first of them are of imports.
    threading.settrace(self._enter)
    sys.settrace(self._enter)

  def _enter(self, frame, event, argument):
    return self._line if frame.f_code.co_filename == self._path else None

  def _line(self, frame, event, argument):
    self._running.add(frame.f_lineno)
    return self._line

  def pytest_collection_modifyitems(self, items: list) -> None:
    if self._selected is not None:
      items[:] = [item for item in items if item.nodeid in self._selected]

  def pytest_runtest_logstart(self, nodeid: str) -> None:
    self._running = self.lines.setdefault(nodeid, set())
    self._tell(nodeid)

  def pytest_runtest_logfinish(self) -> None:
    self._running = self.lines['']

  def pytest_runtest_logreport(self, report) -> None:
    self.seconds[report.nodeid] = (
      self.seconds.get(report.nodeid, 0.0) + report.duration
    )
    if report.failed and report.nodeid not in self.failed:
      self.failed.append(report.nodeid)

  def pytest_collectreport(self, report) -> None:
    if report.failed:
      self.failed.append(report.nodeid)


def _install(path: pathlib.Path, source: str) -> None:
  """Has imports of a file take another source."""
  code = compile(source, str(path), 'exec', dont_inherit=True)
  # AutoGraph reads the source.
  lines = source.splitlines(keepends=True)
  linecache.cache[str(path)] = (len(source), None, lines, str(path))
  loader = importlib.machinery.SourceFileLoader
  original = loader.get_code
  loader.get_code = lambda self, name: (
    code if self.path == str(path) else original(self, name)
  )


def _test(path, source, files, selected, connection) -> None:
  """Runs tests in this process, a copy that ends afterwards."""
  os.setsid()
  with open(os.devnull, 'w') as nowhere:
    os.dup2(nowhere.fileno(), 1)
    os.dup2(nowhere.fileno(), 2)
  import pytest

  tests = _Tests(path, selected, connection.send)
  if source is None:
    tests.watch()
  else:
    _install(path, source)
  pytest.main(
    ['-p', 'no:cacheprovider', f'--maxfail={_KILLERS}', *files], plugins=[tests]
  )
  libraries = (sys.prefix, sys.base_prefix)
  modules = [
    name
    for name, module in list(sys.modules.items())
    if (getattr(module, '__file__', None) or '').startswith(libraries)
  ]
  connection.send((tests.failed, tests.lines, tests.seconds, modules))
  connection.close()
  os._exit(0)


def _run(path, source, files, selected, limit: float) -> tuple:
  """Returns what `_test` tells; a test that does not end has failed."""
  fork = multiprocessing.get_context('fork')
  ours, its = fork.Pipe(duplex=False)
  process = fork.Process(
    target=_test, args=(path, source, files, selected, its)
  )
  process.start()
  its.close()
  told, end = 'imports', time.monotonic() + limit
  try:
    while ours.poll(max(0.0, end - time.monotonic())):
      told = ours.recv()
      if isinstance(told, tuple):
        return told
    return [f'{told} (no end)'], {}, {}, []
  except EOFError:
    return [f'{told} (the process ended)'], {}, {}, []
  finally:
    # With what its tests have started.
    with contextlib.suppress(ProcessLookupError):
      os.killpg(process.pid, signal.SIGKILL)
    process.join()


def _files(path: pathlib.Path) -> list[str]:
  """Returns the files of tests of a module: its folder's and its importers."""
  relative = path.relative_to(ROOT)
  package = '.'.join(relative.parent.parts)
  folder = relative.parent
  if folder.parts[0] == 'fedfish_tff':
    folder = folder.relative_to('fedfish_tff')
  words = (
    f'from {package} import {path.stem}\n',
    f'import {package}.{path.stem}\n',
  )
  return sorted(
    str(file)
    for file in (ROOT / 'tests').rglob('*_test.py')
    if file.parent == ROOT / 'tests' / folder
    or any(word in file.read_text(encoding='utf-8') for word in words)
  )


def _mutate(path: pathlib.Path, options: argparse.Namespace) -> None:
  files = options.tests or _files(path)
  if not files:
    raise SystemExit(f'mutate: no tests of {path}')
  name = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
  failed, lines, seconds, modules = _run(path, None, files, None, _LIMIT)
  if failed:
    raise SystemExit(f'mutate: without a mutant fails {failed[0]}')
  # After this, and before TFF, as everywhere.
  importlib.import_module('fedfish_tff')
  for module in modules:
    # Some modules cannot be loaded by their names.
    with contextlib.suppress(Exception):
      importlib.import_module(module)
  if name in sys.modules:
    raise SystemExit(f'mutate: {path} is loaded before any test.')
  all_ = mutants(path.read_text(encoding='utf-8'))
  some = random.Random(options.seed).sample(
    all_, min(len(all_), options.mutants or len(all_))
  )
  killed = 0
  for line, words, source in sorted(some):
    tests = {test for test, ran in lines.items() if test and line in ran}
    if line in lines['']:
      tests = set(seconds)
    place = f'{path.relative_to(ROOT)}:{line}: {words}'
    limit = 60 + 5 * sum(seconds[test] for test in tests)
    its_files = sorted({test.split('::')[0] for test in tests})
    killers = tests and _run(path, source, its_files, tests, limit)[0]
    killed += bool(killers)
    end = (
      f'killed by {len(killers)}'
      if killers
      else f'SURVIVES {len(tests)}'
      if tests
      # Such as a line of a literal, which Python folds into its first one.
      else 'met by no test'
    )
    print(f'{place}: {end}', *killers, sep='\n  ', flush=True)
  print(
    f'{path.relative_to(ROOT)}: {len(some)} of {len(all_)} mutants, '
    f'{killed} killed, {len(some) - killed} survive',
    flush=True,
  )


def main(arguments: list[str]) -> int:
  """Returns the exit code."""
  parser = argparse.ArgumentParser(prog='mutate', description=__doc__)
  parser.add_argument('modules', nargs='+', type=pathlib.Path)
  parser.add_argument('--mutants', type=int, help='number per module, or all')
  parser.add_argument('--seed', type=int, default=0)
  parser.add_argument('--tests', action='append', help='instead of its own')
  options = parser.parse_args(arguments)
  sys.path.insert(0, str(ROOT))
  os.chdir(ROOT)
  sys.dont_write_bytecode = True
  with tempfile.TemporaryDirectory(prefix='mutate_') as folder:
    # Tests that are killed leave theirs.
    os.environ['TMPDIR'] = tempfile.tempdir = folder
    os.environ['HYPOTHESIS_STORAGE_DIRECTORY'] = folder
    for module in options.modules:
      _mutate(module.resolve(), options)
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
