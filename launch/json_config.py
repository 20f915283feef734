# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flag --config: a Python file, or the config.json of a run.

The flag library would execute both; here a file named *.json is read as data.
"""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch import installed

from absl import flags
from ml_collections import config_flags
from ml_collections import ConfigDict

# The flag belongs to the binary that defines it, so its help shows it.
flags.disclaim_key_flags()


def define_flag(help_text: str) -> flags.FlagHolder[ConfigDict]:
  """Defines --config and returns its holder.

  Args:
    help_text: The help of the flag.
  """
  try:
    holder = config_flags.DEFINE_config_file('config', None, help_text)
  except (flags.Error, UnicodeDecodeError):
    # It has looked into --flagfile, which the parser of flags will refuse.
    holder = config_flags.DEFINE_config_file(
      'config', None, help_text, sys_argv=[]
    )
  # Every value passes through this parser, also --config of a --flagfile.
  parser = flags.FLAGS['config'].parser
  run = parser.parse

  def parse(source: str) -> ConfigDict:
    found = find(source)
    return get_config(found).lock() if _is_json(found) else run(found)

  parser.parse = parse
  return holder


def find(source: str) -> str:
  """Returns a config with the path of its file, which is Python or JSON.

  Args:
    source: `<file>.py[:<variant>]` or `<file>.json`; see
      `installed.find_config`.

  Raises:
    errors.InputError: If it is neither.
  """
  found = installed.find_config(source)
  if not _is_json(found) and not found.partition(':')[0].endswith('.py'):
    known = installed.config_names()
    raise errors.InputError(
      'A config must be <file>.py, with :<variant> at its end or without, '
      f'<file>.json, or one of {", ".join(known)}, got {source}.'
      f'{errors.suggest(source.partition(":")[0], known)}'
    )
  return found


def is_data() -> bool:
  """Returns whether the config of --config is read from JSON."""
  return _is_json(find(flags.FLAGS['config'].config_filename))


def _is_json(found: str) -> bool:
  """Returns whether a config is JSON, not a Python file's variant `*.json`."""
  is_python = found.partition(':')[0].endswith('.py')
  return not is_python and found.lower().endswith('.json')


def get_config(path: str) -> ConfigDict:
  """Returns the config in a JSON file, with lists turned into tuples.

  Args:
    path: The path of the file.

  Raises:
    errors.InputError: If it cannot be read, or holds no object.
  """
  return ConfigDict(with_tuples(regular_files.read_json(path, dict)))


def flatten(config: Mapping[str, Any], prefix: str = '') -> dict[str, Any]:
  """Returns the values of all fields by dotted name.

  Args:
    config: Nested mappings; an empty one counts as a value.
    prefix: The prefix of the names.
  """
  flat = {}
  for name, value in config.items():
    if isinstance(value, Mapping) and value:
      flat |= flatten(value, f'{prefix}{name}.')
    else:
      flat[prefix + name] = value
  return flat


def with_tuples(value: Any) -> Any:
  """Returns a value of JSON with lists turned into tuples, as Python has them."""
  if isinstance(value, Mapping):
    return {name: with_tuples(part) for name, part in value.items()}
  if isinstance(value, list):
    return tuple(map(with_tuples, value))
  return value
