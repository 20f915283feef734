# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The flag --config: a Python file, or the config.json of a run.

The flag library would execute both; here a file named *.json is read as data.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import importlib.util
import keyword
import pathlib
import re
import sys
import traceback
import types
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from launch import installed

from absl import flags
from ml_collections import config_flags
from ml_collections import ConfigDict
import numpy as np

# A field that arguments set; --noconfig.<field> sets it to False.
_OVERRIDE = re.compile(r'--?(?:no)?config\.([^=]*)')

# The flag belongs to the binary that defines it, so its help shows it.
flags.disclaim_key_flags()


def define_flag(
  help_text: str, *, load: Callable[[str], ConfigDict] | None = None
) -> flags.FlagHolder[ConfigDict]:
  """Defines --config and returns its holder.

  Args:
    help_text: The text for --help.
    load: A function that returns the config of the flag's value, whose fields
      arguments may set; None for `<file>.py[:<variant>]` or `<file>.json`.
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

  def parse(source: str) -> ConfigDict:
    try:
      config = (load or _load)(source)
      _check_overrides(
        config, flags.FLAGS.read_flags_from_files(sys.argv[1:], False)
      )
    except errors.InputError as error:
      # A ValueError would get the flag and its value in front.
      raise flags.Error(str(error)) from error
    return config.lock()

  parser.parse = parse
  return holder


def _load(source: str) -> ConfigDict:
  """Returns the config of `<file>.py[:<variant>]` or `<file>.json`."""
  found = find(source)
  if _is_json(found):
    return get_config(found)
  path, colon, variant = found.partition(':')
  module = load_module(path, 'get_config')
  try:
    return call_get_config(module.get_config, *[variant] * bool(colon))
  except errors.InputError as error:
    is_sweep = bool(variant) and _has_sweep(module, variant)
    raise errors.InputError(
      f'--config={source}: {error}'
      + (f' {variant} is a sweep, for launch.sweep.' if is_sweep else '')
    ) from error


def load_module(path: str, *functions: str) -> types.ModuleType:
  """Runs a config file, which must have the named functions."""
  if not pathlib.Path(path).is_file():
    found = 'a folder' if pathlib.Path(path).is_dir() else 'none'
    raise errors.InputError(
      f'--config must name a file, got {found} at {path}.'
    )
  spec = importlib.util.spec_from_file_location('config_file', path)
  if spec is None:
    raise errors.InputError(f'The config file {path} is no Python file.')
  module = importlib.util.module_from_spec(spec)
  # Some decorators look for the module of a class.
  sys.modules[spec.name] = module
  try:
    spec.loader.exec_module(module)
  except SyntaxError as error:
    raise errors.InputError(
      f'The config file {error.filename} is not valid Python: line '
      f'{error.lineno}: {error.msg}.'
    ) from error
  except Exception as error:
    raise errors.InputError(
      f'The config file {path} cannot be loaded: {_describe(error, path)}'
    ) from error
  for function in functions:
    if not callable(getattr(module, function, None)):
      raise errors.InputError(
        f'The config file {path} must have a function {function}, got none; see '
        'launch/configs/digits.py.'
      )
  return module


def call_get_config(
  get_config: Callable[..., ConfigDict], *variant: str
) -> ConfigDict:
  """Returns the config that a config file makes of a variant, or of none."""
  try:
    config = get_config(*variant)
  except ValueError as error:
    raise errors.InputError(sentence(error)) from error
  except Exception as error:
    path = get_config.__code__.co_filename
    raise errors.InputError(
      f'get_config fails: {_describe(error, path)}'
    ) from error
  if not isinstance(config, ConfigDict):
    raise errors.InputError(
      'get_config must return an ml_collections.ConfigDict, got '
      f'{config!r:.100}.'
    )
  return config


def sentence(error: Exception) -> str:
  """Returns the message of an error, with a full stop."""
  return str(error) if str(error).endswith(('.', '?')) else f'{error}.'


def _describe(error: Exception, path: str) -> str:
  """Returns an error of a config file and its line there."""
  lines = [
    frame.lineno
    for frame in traceback.extract_tb(error.__traceback__)
    if frame.filename == path
  ]
  where = f'line {lines[-1]}: ' if lines else ''
  return f'{where}{type(error).__name__}: {sentence(error)}'


def _has_sweep(module: types.ModuleType, name: str) -> bool:
  try:
    return callable(getattr(module, 'sweep', None)) and bool(module.sweep(name))
  except ValueError:
    return False


def _check_overrides(config: ConfigDict, argv: Sequence[str]) -> None:
  """Raises InputError if arguments set a field that the config lacks."""
  for match in filter(None, map(_OVERRIDE.match, argv)):
    missing = describe_missing_field(config, match[1].split('.'))
    if missing:
      raise errors.InputError(f'The config has {missing}')


def describe_missing_field(
  config: ConfigDict, path: Sequence[str]
) -> str | None:
  """Returns a description of a missing field of a config: 'no field ...'.

  Args:
    config: The config to look into.
    path: The names that lead to the field.

  Returns:
    The end of a sentence with the names of the existing fields; None if the
    field exists.
  """
  block = config
  for depth, name in enumerate(path):
    known = sorted(block) if isinstance(block, ConfigDict) else []
    # Other names cannot be set by arguments.
    if name in known and name.isidentifier() and not keyword.iskeyword(name):
      block = block[name]
      continue
    fields = flatten(config.to_dict(preserve_field_references=True))
    elsewhere = [f for f in fields if f.rpartition('.')[2] == name]
    return (
      f'no field {".".join(path[: depth + 1]) or repr("")}; '
      + (f'there are {", ".join(known)}.' if known else 'there are none.')
      + errors.suggest(name, elsewhere or known)
    )
  return None


def set_fields(config: ConfigDict, values: Mapping[str, Any]) -> None:
  """Sets existing fields of a config, by their dotted names.

  A value must be of the type of the one that it replaces.
  """
  for field, value in values.items():
    missing = describe_missing_field(config, field.split('.'))
    if missing:
      raise errors.InputError(f'The config has {missing}')
    try:
      config.update_from_flattened_dict({field: value})
    except (TypeError, ValueError) as error:
      old = flatten(config.to_dict()).get(field)
      raise errors.InputError(
        f'{field} must be of the type of {old!r}, got {value!r}.'
      ) from error


def find(source: str) -> str:
  """Returns a config with the path of its file, which is Python or JSON.

  Args:
    source: `<file>.py[:<variant>]` or `<file>.json`, as for
      `installed.find_config`.
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
  """Returns the config in a JSON file, with lists turned into tuples."""
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
  """Returns a value of a config in plain Python, with lists turned into tuples.

  Args:
    value: Mappings, also a ConfigDict, sequences, and NumPy's numbers and
      arrays, or a value of other types, which is returned as it is.
  """
  if isinstance(value, ConfigDict):
    value = value.to_dict()
  if isinstance(value, (np.generic, np.ndarray)):
    value = value.tolist()
  if isinstance(value, Mapping):
    return {name: with_tuples(part) for name, part in value.items()}
  if isinstance(value, (list, tuple)):
    return tuple(map(with_tuples, value))
  return value
