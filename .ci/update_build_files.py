# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the BUILD files: one target a module, its deps from the imports.

A module is a py_library, a *_test.py a py_test, and a module with a main guard
outside tests/ a py_binary besides the library, which is then called <name>_lib.
A package's __init__.py is the library named like the folder. Names of modules
and paths of Python files in string literals count as imports, since registries
and tests start modules by name.

What the imports do not tell stands in the module as a comment line, the reason
behind it:

  # bazel: tags = ['manual']  # Reads the working tree.

with the keys tags, data and deps; and found_by = 'NAME' where a module imports
all others below its folder that define NAME. A test module that is marked
thorough or slow as a whole (pytestmark = pytest.mark.slow) gets size large.

  python .ci/update_build_files.py
"""

import ast
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import pathlib
import re
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREES = ('examples', 'fedfish_tff', 'launch', 'tasks', 'tests')

_HEADER = """\
# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
# Written by `make build-files` from the imports; do not edit.

package(default_visibility = ["//visibility:public"])
"""
_DIRECTIVE = re.compile(
  r'^# bazel: (?P<key>\w+) = (?P<value>.+?)(?:  # .+)?$',
  re.MULTILINE,
)
_LONG = re.compile(r'pytestmark = pytest\.mark\.(thorough|slow)')
_PATH = re.compile(rf'\b(?:{"|".join(TREES)})/[\w/]+\.py\b')


class BuildFileError(ValueError):
  """The sources do not fit into BUILD files; the message says why."""


@dataclasses.dataclass(frozen=True)
class Module:
  """One Python file of the repository.

  Attributes:
    name: Dotted name, a package's own for its `__init__.py`.
    path: Path below the root of the repository.
    tree: The parsed source.
    directives: The values of its `# bazel:` comments.
  """

  name: str
  path: pathlib.PurePosixPath
  tree: ast.Module
  directives: Mapping[str, Any]

  @property
  def folder(self) -> str:
    return str(self.path.parent)

  @property
  def is_package(self) -> bool:
    return self.path.name == '__init__.py'

  @property
  def is_test(self) -> bool:
    return self.path.parts[0] == 'tests' and self.path.stem.endswith('_test')

  @functools.cached_property
  def has_main_guard(self) -> bool:
    return any(
      isinstance(node, ast.If)
      and ast.unparse(node.test) == "__name__ == '__main__'"
      for node in self.tree.body
    )

  @property
  def is_binary(self) -> bool:
    return self.has_main_guard and self.path.parts[0] != 'tests'

  def defines(self, name: str) -> bool:
    """Whether the module has a variable or a function of that name."""
    return any(
      (isinstance(node, ast.FunctionDef) and node.name == name)
      or (
        isinstance(node, ast.Assign)
        and any(ast.unparse(target) == name for target in node.targets)
      )
      for node in self.tree.body
    )

  @property
  def is_long(self) -> bool:
    return any(
      isinstance(node, ast.Assign) and _LONG.fullmatch(ast.unparse(node))
      for node in self.tree.body
    )

  @property
  def size(self) -> str:
    """The size of a test: importing TFF alone takes more than 'small'."""
    return 'large' if self.is_long else 'medium'

  @property
  def tags(self) -> list[str]:
    return self.directives.get('tags', [])

  @property
  def target(self) -> str:
    """Name of the library or test."""
    if self.is_package:
      return self.path.parent.name
    return self.path.stem + ('_lib' if self.is_binary else '')

  @property
  def label(self) -> str:
    return f'//{self.folder}:{self.target}'


def _read_module(root: pathlib.Path, file: pathlib.Path) -> Module:
  source = file.read_text(encoding='utf-8')
  path = pathlib.PurePosixPath(file.relative_to(root).as_posix())
  parts = (
    path.parts[:-1]
    if path.name == '__init__.py'
    else (*path.parts[:-1], path.stem)
  )
  directives = {}
  for match in _DIRECTIVE.finditer(source):
    key = match['key']
    if key not in ('tags', 'data', 'deps', 'found_by'):
      raise BuildFileError(f'{path}: no attribute "{key}" in "# bazel:".')
    directives[key] = ast.literal_eval(match['value'])
  return Module(
    name='.'.join(parts),
    path=path,
    tree=ast.parse(source, str(path)),
    directives=directives,
  )


def read_modules(root: pathlib.Path = ROOT) -> dict[str, Module]:
  """All modules of the repository by their dotted names."""
  files = [file for tree in TREES for file in (root / tree).rglob('*.py')]
  modules = [_read_module(root, file) for file in sorted(files)]
  return {module.name: module for module in modules}


def _docstrings(tree: ast.Module) -> set[int]:
  """Ids of the nodes that are docstrings (or other bare strings)."""
  return {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}


def imported_names(module: Module) -> Iterator[tuple[str, str | None]]:
  """All imports as (module, name imported from it or None)."""
  for node in ast.walk(module.tree):
    if isinstance(node, ast.Import):
      yield from ((alias.name, None) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
      if node.level:
        raise BuildFileError(f'{module.path}: relative import.')
      yield from ((node.module, alias.name) for alias in node.names)


def imported_modules(module: Module, modules: Mapping[str, Module]) -> set[str]:
  """Dotted names of the modules of this repository that `module` imports."""
  found = set()
  for source, name in imported_names(module):
    if source.split('.')[0] not in TREES:
      continue
    candidates = [source] if name is None else [f'{source}.{name}', source]
    target = next((c for c in candidates if c in modules), None)
    if target is None:
      raise BuildFileError(f'{module.path} imports {candidates[0]}: not found.')
    found.add(target)
  return found - {module.name}


def _named_modules(module: Module, modules: Mapping[str, Module]) -> set[str]:
  """Modules that string literals name, dotted or as a path."""
  by_path = {str(other.path): name for name, other in modules.items()}
  skipped = _docstrings(module.tree)
  found = set()
  for node in ast.walk(module.tree):
    if (
      isinstance(node, ast.Constant)
      and isinstance(node.value, str)
      and id(node) not in skipped
    ):
      if '.' in node.value and node.value in modules:
        found.add(node.value)
      found.update(by_path.get(p) for p in _PATH.findall(node.value))
  return found - {None, module.name}


def dependencies(module: Module, modules: Mapping[str, Module]) -> set[str]:
  """Dotted names of the modules whose targets `module` depends on.

  Packages above an imported module are left out: their __init__.py import the
  module, which would be a cycle. Only fedfish_tff's own, which quiets
  TensorFlow and imports nothing, goes with everything.
  """
  found = imported_modules(module, modules) | _named_modules(module, modules)
  if 'found_by' in module.directives:
    found |= {
      name
      for name, other in modules.items()
      if other.path.is_relative_to(module.path.parent)
      and other is not module
      and other.defines(module.directives['found_by'])
    }
  if 'fedfish_tff' in modules and not imported_modules(
    modules['fedfish_tff'], modules
  ):
    found.add('fedfish_tff')
  return found - {module.name}


def _check_no_cycle(graph: Mapping[str, set[str]]) -> None:
  """Raises BuildFileError if modules depend on each other in a circle."""
  done = set()

  def visit(name: str, trail: tuple[str, ...]) -> None:
    if name in trail:
      cycle = trail[trail.index(name) :] + (name,)
      raise BuildFileError('Import cycle: ' + ' -> '.join(cycle) + '.')
    if name not in done:
      for other in sorted(graph[name]):
        visit(other, (*trail, name))
      done.add(name)

  for name in sorted(graph):
    visit(name, ())


def _shorten(label: str, folder: str) -> str:
  package, target = label.removeprefix('//').split(':')
  if package == folder:
    return f':{target}'
  return (
    f'//{package}'
    if package.endswith(f'/{target}') or (package == target)
    else label
  )


def _render(value: Any) -> str:
  if isinstance(value, bool):
    return str(value)
  if isinstance(value, str):
    return f'"{value}"'
  if len(value) == 1:
    return f'["{value[0]}"]'
  lines = ''.join(f'        "{item}",\n' for item in value)
  return f'[\n{lines}    ]'


def _rule(kind: str, **attributes: Any) -> str:
  lines = ''.join(
    f'    {key} = {_render(value)},\n'
    for key, value in attributes.items()
    if value
  )
  return f'{kind}(\n{lines})\n'


def _targets(
  module: Module, graph: Mapping[str, set[str]], modules: Mapping[str, Module]
) -> list[str]:
  """The rules of one module."""
  labels = {modules[name].label for name in graph[module.name]}
  labels.update(module.directives.get('deps', []))
  deps = sorted(
    (_shorten(label, module.folder) for label in labels),
    key=lambda label: (not label.startswith(':'), label.replace(':', '!')),
  )
  common = {
    'srcs': [module.path.name],
    'data': sorted(module.directives.get('data', [])),
  }
  if module.is_test:
    return [
      _rule(
        'py_test',
        name=module.target,
        size=module.size,
        **common,
        python_version='PY3',
        srcs_version='PY3',
        tags=module.tags,
        deps=deps,
      )
    ]
  rules = [
    _rule(
      'py_library',
      name=module.target,
      testonly=module.path.parts[0] == 'tests',
      **common,
      srcs_version='PY3',
      deps=deps,
    )
  ]
  if module.is_binary:
    rules.append(
      _rule(
        'py_binary',
        name=module.path.stem,
        srcs=common['srcs'],
        python_version='PY3',
        srcs_version='PY3',
        tags=module.tags,
        deps=[f':{module.target}'],
      )
    )
  return rules


def build_files(root: pathlib.Path = ROOT) -> dict[str, str]:
  """The text of every BUILD file below TREES, by its path below the root.

  Raises:
    BuildFileError: If an import is not found, imports form a cycle, or a
      comment asks for something that BUILD files do not have.
  """
  modules = read_modules(root)
  graph = {n: dependencies(m, modules) for n, m in modules.items()}
  _check_no_cycle(graph)
  rules: dict[str, list[str]] = {}
  for module in modules.values():
    rules.setdefault(module.folder, []).extend(_targets(module, graph, modules))
  return {
    f'{folder}/BUILD': '\n'.join([_HEADER, *sorted(texts, key=_sort_key)])
    for folder, texts in rules.items()
  }


def _sort_key(rule: str) -> tuple[int, str]:
  """Libraries first, then binaries, then tests, each by name."""
  kinds = ('py_library', 'py_binary', 'py_test')
  return kinds.index(rule.split('(')[0]), rule


def present_build_files(root: pathlib.Path = ROOT) -> dict[str, str]:
  """The text of every BUILD file on disk below TREES."""
  return {
    file.relative_to(root).as_posix(): file.read_text(encoding='utf-8')
    for tree in TREES
    for file in (root / tree).rglob('BUILD')
  }


def main() -> int:
  """Returns the exit code."""
  try:
    wanted, present = build_files(), present_build_files()
  except (BuildFileError, SyntaxError) as error:
    print(f'update_build_files: {error}', file=sys.stderr)
    return 2
  for path, text in wanted.items():
    if present.get(path) != text:
      (ROOT / path).write_text(text, encoding='utf-8')
      print(f'wrote {path}')
  for path in present.keys() - wanted.keys():
    (ROOT / path).unlink()
    print(f'removed {path}')
  return 0


if __name__ == '__main__':
  sys.exit(main())
