# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the site of `make docs`, as Markdown, to build/pages.

Pages of the repository keep their paths in the repository, so that links between them, and to the
files that they link to, hold. A page is written for each package of the library:
what its `__init__.py` exports, module by module; one of the tasks' networks, too.
"""

import ast
import functools
import pathlib
import posixpath
import re
import shutil
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What stands beside the packages is imported by its module's name.
_MODULES = ('errors', 'plug_ins', 'trust')

# What most readers look for.
_BUILDERS = ('build_', 'create_', 'load_')

_CODE = re.compile(r'(?<![\[`])`([\w.]+)`(?!`)')
_FENCED = re.compile(r'(^ *```.*?^ *```$)', re.DOTALL | re.MULTILINE)
# Lines by themselves, blocks of code as a whole.
_INDENTED = re.compile(
  r'^( *)(?:```.*?^ *```|\S[^\n]*)$', re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r'\]\((?!\w+:)([^)#\s]+)')
_SYMBOL = """\
::: {name}
    options:
      heading_level: {level}
      members: {members}
      show_symbol_type_toc: {is_inside}"""


@functools.cache
def exports() -> dict[str, dict[str, str]]:
  """Returns for each package its public symbols, with their modules."""
  found = {}
  packages = sorted(ROOT.glob('fedfish_tff/**/__init__.py'))
  for path in [*packages, ROOT / 'tasks' / 'networks' / '__init__.py']:
    package = '.'.join(path.parent.relative_to(ROOT).parts)
    symbols = {}
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
      match node:
        case ast.ImportFrom(module, [ast.alias('*')]):
          source = ROOT.joinpath(*module.split('.')).with_suffix('.py')
          tree = ast.parse(source.read_text(encoding='utf-8'))
          symbols |= dict.fromkeys(public_symbols(tree), module)
        case ast.ImportFrom(module, names):
          symbols |= {name.name: module for name in names if name.asname}
    if symbols:
      found[package] = symbols
  return found


def public_symbols(tree: ast.Module) -> set[str]:
  """Returns the names that a module defines at its top level for others."""
  names = set()
  for node in tree.body:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
      names.add(node.name)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
      if isinstance(node.value, ast.Attribute):
        continue  # Another module's symbol under a shorter name.
      targets = node.targets if isinstance(node, ast.Assign) else [node.target]
      names.update(
        leaf.id
        for target in targets
        for leaf in ast.walk(target)
        if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
      )
  return {name for name in names if not name.startswith('_')}


def api_pages() -> dict[str, str]:
  """Returns the Markdown of the pages of the library, by name."""
  library = [_symbol('fedfish_tff', 1)]
  library += [_symbol(f'fedfish_tff.{m}', 2, members=True) for m in _MODULES]
  pages = {'fedfish_tff': library}
  for package, symbols in exports().items():
    parts = [_symbol(package, 1)]
    last = package
    for name, module in _order(symbols):
      if module != last and module.startswith(f'{package}.'):
        parts.append(_symbol(module, 2))
      last = module
      parts.append(_symbol(f'{package}.{name}', 3, members=True))
    pages[package] = parts
  return {name: '\n\n'.join(parts) for name, parts in pages.items()}


def _order(symbols: dict[str, str]) -> list[tuple[str, str]]:
  """Returns symbols and modules: first modules of builders, in each builders."""
  builders = {}
  for name, module in symbols.items():
    builders.setdefault(module, []).append(name.startswith(_BUILDERS))

  def rank(item: tuple[str, str]) -> tuple[bool, str, bool, str]:
    name, module = item
    mostly = 2 * sum(builders[module]) >= len(builders[module])
    return not mostly, module, not name.startswith(_BUILDERS), name

  return sorted(symbols.items(), key=rank)


def _symbol(name: str, level: int, *, members: bool = False) -> str:
  """Returns what mkdocstrings replaces by a symbol's description."""
  # A page's title is without the type.
  return _SYMBOL.format(
    name=name, level=level, members=members, is_inside=level > 1
  )


def link_symbols(text: str, package: str = '') -> str:
  """Makes links of the public symbols in backticks.

  Args:
    text: Markdown.
    package: Whose symbols are named without it.
  """

  def link(match: re.Match[str]) -> str:
    written = match[1]
    rooms = ('', 'fedfish_tff.', 'tasks.', f'{package}.')
    for name in (f'{room}{written}' for room in rooms):
      of, _, symbol = name.rpartition('.')
      if symbol in exports().get(of, ()):
        return f'[{match[0]}][{name}]'
    return match[0]

  parts = _FENCED.split(text)
  parts[::2] = [_CODE.sub(link, part) for part in parts[::2]]
  return ''.join(parts)


def _indent_more(text: str) -> str:
  """Doubles indentation: what is inside of a list has 4 spaces on the site."""

  def double(match: re.Match[str]) -> str:
    return textwrap.indent(match[0], match[1])

  return _INDENTED.sub(double, text)


def write_pages(folder: pathlib.Path) -> None:
  """Writes the pages, and the files of the repository that they link to."""
  shutil.rmtree(folder, ignore_errors=True)
  sources = [*ROOT.glob('*.md'), *ROOT.glob('docs/*.md')]
  pages = {f'api/{name}.md': text for name, text in api_pages().items()}
  files = set()
  for source in sources:
    page = source.relative_to(ROOT).as_posix()
    text = source.read_text(encoding='utf-8')
    pages[page] = link_symbols(_indent_more(text))
    for link in _LINK.findall(text):
      files.add(
        posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
      )
  for file in sorted(files - set(pages)):
    # The site's builder warns of links to what is not there.
    if not file.startswith('..') and (ROOT / file).is_file():
      (folder / file).parent.mkdir(parents=True, exist_ok=True)
      shutil.copyfile(ROOT / file, folder / file)
  pages['iframe-worker.js'] = (
    ROOT / '.ci' / 'site' / 'iframe-worker.js'
  ).read_text(encoding='utf-8')
  for page, text in pages.items():
    (folder / page).parent.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(text, encoding='utf-8')


if __name__ == '__main__':
  write_pages(ROOT / 'build' / 'pages')
