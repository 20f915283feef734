# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packages that import a module at the first use of one of its symbols.

TensorFlow Federated takes seconds to import, and much of the library, such as
reading metrics.csv or comparing two methods, works without it.
"""

from collections.abc import Callable
from collections.abc import Mapping
import importlib
import sys
from typing import Any


def attach(
  package: str, exports: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
  """Returns the `__getattr__` and the `__dir__` of a package.

  Editors and type checkers run neither; they read the imports under `if
  TYPE_CHECKING:` in the package's `__init__.py`.

  Args:
    package: The package's `__name__`.
    exports: The exported symbols, separated by spaces, by the name of their
      module without the package's name.
  """
  modules = {
    name: f'{package}.{module}'
    for module, names in exports.items()
    for name in names.split()
  }

  def get_attribute(name: str) -> Any:
    if name not in modules:
      raise AttributeError(f'module {package!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(modules[name]), name)
    setattr(sys.modules[package], name, value)  # The next access finds it.
    return value

  def list_attributes() -> list[str]:
    return sorted({*vars(sys.modules[package]), *modules})

  return get_attribute, list_attributes
