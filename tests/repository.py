# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The repository as the tests of its structure see it: files, not modules."""

import ast
import dataclasses
import functools
import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = (
  'benchmarks',
  'examples',
  'fedfish_tff',
  'launch',
  'research',
  'tasks',
  'tests',
)


@dataclasses.dataclass(frozen=True)
class Module:
  """One Python file of the repository.

  Attributes:
    name: Dotted name, a package's own for its `__init__.py`.
    path: Path below the root of the repository.
    tree: The parsed source.
  """

  name: str
  path: pathlib.PurePosixPath
  tree: ast.Module

  @property
  def folder(self) -> str:
    return str(self.path.parent)

  @property
  def is_package(self) -> bool:
    return self.path.name == '__init__.py'

  @property
  def is_test(self) -> bool:
    return self.path.parts[0] == 'tests' and self.path.stem.endswith('_test')

  @property
  def is_binary(self) -> bool:
    return any(
      isinstance(node, ast.If)
      and ast.unparse(node.test) == "__name__ == '__main__'"
      for node in self.tree.body
    )

  @functools.cached_property
  def imported_names(self) -> tuple[tuple[str, str | None], ...]:
    """All imports as (module, name imported from it or None)."""
    found = []
    for node in ast.walk(self.tree):
      if isinstance(node, ast.Import):
        found += [(alias.name, None) for alias in node.names]
      elif isinstance(node, ast.ImportFrom):
        assert not node.level, f'{self.path}: relative import.'
        found += [(node.module, alias.name) for alias in node.names]
    return tuple(found)


def _read_module(file: pathlib.Path) -> Module:
  path = pathlib.PurePosixPath(file.relative_to(ROOT).as_posix())
  parts = path.parent if path.name == '__init__.py' else path.with_suffix('')
  return Module(
    name='.'.join(parts.parts),
    path=path,
    tree=ast.parse(file.read_text(encoding='utf-8'), str(path)),
  )


@functools.cache
def read_modules() -> dict[str, Module]:
  """Returns all modules by their dotted names; not to be changed."""
  files = [file for tree in TREES for file in (ROOT / tree).rglob('*.py')]
  modules = map(_read_module, sorted(files))
  return {module.name: module for module in modules}


def imported_modules(module: Module) -> set[str]:
  """Returns the dotted names of our modules that `module` imports."""
  modules, found = read_modules(), set()
  for source, name in module.imported_names:
    if source.split('.')[0] in TREES:
      candidates = [source] if name is None else [f'{source}.{name}', source]
      target = next((c for c in candidates if c in modules), None)
      assert target, f'{module.path} imports {candidates[0]}: not found.'
      found.add(target)
  return found - {module.name}


@functools.cache
def load_script(path: str) -> types.ModuleType:
  """Imports a script that is in no package, such as those of .ci, once.

  Args:
    path: Path below the root of the repository.

  Returns:
    The module.
  """
  file = ROOT / path
  spec = importlib.util.spec_from_file_location(file.stem, file)
  module = importlib.util.module_from_spec(spec)
  sys.modules[file.stem] = module  # dataclasses look their module up there.
  spec.loader.exec_module(module)
  return module
