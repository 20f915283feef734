# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loading of third-party methods, blocks and tasks, by module or entry point.

Plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Iterable
import importlib
import importlib.metadata
import re
from typing import Any

from fedfish_tff import errors
from fedfish_tff import trust as trust_lib

_WORD = r'[^\W\d]\w*'
_NAMED = re.compile(rf'{_WORD}(\.{_WORD})*:{_WORD}(\.{_WORD})*')


def load(
  name: Any,
  *,
  field: str,
  trust: trust_lib.Trust,
  group: str | None = None,
  known: Callable[[], Iterable[str]] = tuple,
  is_one: Callable[[Any], bool],
  expected: str,
) -> Any:
  """Loads the object of a name that is not one of this package's.

  Args:
    name: The name: package.module:NAME, or that of an entry point.
    field: The field that holds the name, for errors.
    trust: The trust in the config with the field, which a module needs.
    group: The group of entry points that installed packages announce; None if
      the name must be package.module:NAME.
    known: The function that returns this package's own names, for errors.
    is_one: The function that tells whether an object is of the right kind.
    expected: The right kind, such as 'a launch.methods.method.Method'.
  """
  if isinstance(name, str) and (':' in name or group is None):
    trust.check_module(field, name)
    if not _NAMED.fullmatch(name):
      raise errors.InputError(
        f'{field} must be package.module:NAME, got {name!r}.'
      )
    where = importlib.metadata.EntryPoint(name, name, group)
  else:
    announced = {
      e.name: e for e in importlib.metadata.entry_points(group=group)
    }
    if not isinstance(name, str) or name not in announced:
      names = sorted({*known(), *announced})
      raise errors.InputError(
        f'{field} must be one of {", ".join(names)}, or package.module:NAME, got '
        f'{name!r}.{errors.suggest(str(name), names)}'
      )
    where = announced[name]
  try:
    found = where.load()
  # A module is a program and may raise any error.
  except Exception as error:
    raise errors.InputError(
      f'{field} is {name!r}, which cannot be imported: '
      f'{type(error).__name__}: {error}.'
    ) from error
  if not is_one(found):
    raise errors.InputError(
      f'{field} must be {expected}, got {name!r}, which is a '
      f'{type(found).__name__}.'
    )
  return found
