# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packages that import a module at the first use of one of its symbols.

TensorFlow Federated takes seconds to import, and much of the library, such as
reading metrics.csv or comparing two methods, works without it. So a package
imports its modules under `if TYPE_CHECKING:` alone, where editors and type
checkers look; from there, this module knows what the package exports.
"""

from collections.abc import Callable
import functools
import importlib
import pathlib
import re
import sys
from typing import Any

# Expressions, since parsing the modules of a package takes 20 times longer.
# An import of all public symbols of a module, or of one of them.
_IMPORT = re.compile(
  r'^  from (\S+) import (?:\*|\(?\s*(\w+) as \2\b)', re.MULTILINE
)
# A function, a class or an assignment at the top of a module, but for that of
# another module's symbol.
_SYMBOL = re.compile(
  r'^(?:(?:def|class) ([A-Za-z]\w*)'
  r'|([A-Za-z]\w*)(?:: [^=\n]+)? = (?![A-Za-z_]\w*\.[\w.]+$))',
  re.MULTILINE,
)


def attach(
  package: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
  """Returns the `__getattr__` and the `__dir__` of a package.

  Args:
    package: The package's `__name__`.
  """

  @functools.cache
  def modules() -> dict[str, str]:
    return find_symbols(package)

  def get_attribute(name: str) -> Any:
    # Python itself asks for such names, of which there are none.
    if name.startswith('_') or name not in modules():
      raise AttributeError(f'module {package!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(modules()[name]), name)
    setattr(sys.modules[package], name, value)  # The next access finds it.
    return value

  def list_attributes() -> list[str]:
    return sorted({*vars(sys.modules[package]), *modules()})

  return get_attribute, list_attributes


def find_symbols(package: str) -> dict[str, str]:
  """Returns the module of each symbol that a package imports when it is used.

  Args:
    package: The name of a package that has been imported. Its source and those
      of its modules are read.
  """
  file = pathlib.Path(sys.modules[package].__file__)
  root = file.parents[package.count('.') + 1]
  found: dict[str, str] = {}
  for module, name in _IMPORT.findall(file.read_text(encoding='utf-8')):
    names = [name]
    if not name:
      source = root.joinpath(*module.split('.')).with_suffix('.py')
      # What follows the module's docstring, with prose at the start of lines.
      text = source.read_text(encoding='utf-8').split('"""', 2)[2]
      names = [a or b for a, b in _SYMBOL.findall(text)]
    found |= dict.fromkeys(names, module)
  return found
