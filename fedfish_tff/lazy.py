# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packages that import a module when the first of its symbols is asked for.

TensorFlow Federated takes seconds to import, and much of the library, such as
reading metrics.csv or comparing two methods, does without it.
"""

import ast
from collections.abc import Callable
import importlib
import sys
from typing import Any


def attach(
  package: str,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
  """Returns the `__getattr__` and the `__dir__` of a package.

  What it exports are the imports in its `__init__.py` under `if TYPE_CHECKING:`.
  Type checkers and editors see them there, and Python passes them by; so they
  are read from the source here.

  Args:
    package: The package's `__name__`.
  """
  module = sys.modules[package]
  exports = {
    alias.name: node.module
    for block in ast.parse(module.__loader__.get_source(package)).body
    if isinstance(block, ast.If)
    for node in block.body
    for alias in node.names
  }

  def get_attribute(name: str) -> Any:
    if name not in exports:
      raise AttributeError(f'module {package!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(exports[name]), name)
    setattr(module, name, value)  # The next time it is found at once.
    return value

  def list_attributes() -> list[str]:
    return sorted({*vars(module), *exports})

  return get_attribute, list_attributes
