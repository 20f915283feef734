# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config from the config.json of a run: --config=runs/a/config.json.

The flag library executes config files; this one reads data instead.
"""

from collections.abc import Sequence
import json
import re
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch import installed

from ml_collections import ConfigDict


def redirect(argv: Sequence[str]) -> list[str]:
  """Returns arguments whose --config is a Python file that is there.

  Of a JSON file it is this module; one of ours need not be in the working
  directory.

  Args:
    argv: All arguments.
  """
  redirected = []
  for before, argument in zip(['', *argv], argv):
    flag, source = re.fullmatch(r'(--?config=)?(.*)', argument, re.S).groups()
    if flag or before in ('--config', '-config'):
      is_json = source.endswith('.json')
      found = (
        f'{__file__}:{source}' if is_json else installed.find_config(source)
      )
      argument = (flag or '') + found
    redirected.append(argument)
  return redirected


def is_data(argv: Sequence[str]) -> bool:
  """Whether the config that arguments name is read from JSON.

  Args:
    argv: All arguments, as the user gave them.
  """
  return any(f'{__file__}:' in argument for argument in redirect(argv))


def get_config(path: str) -> ConfigDict:
  """Returns the config in a JSON file, where tuples are lists.

  Args:
    path: The file.

  Raises:
    errors.InputError: If it cannot be read, or holds something else.
  """
  try:
    content = json.loads(regular_files.read_bytes(path))
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
  except ValueError as error:
    raise errors.InputError(f'{path} is not valid JSON: {error}.') from error
  if not isinstance(content, dict):
    raise errors.InputError(
      f'{path} holds no config; an object of fields was expected.'
    )
  return ConfigDict(_with_tuples(content))


def _with_tuples(value: Any) -> Any:
  if isinstance(value, dict):
    return {name: _with_tuples(part) for name, part in value.items()}
  if isinstance(value, list):
    return tuple(map(_with_tuples, value))
  return value
