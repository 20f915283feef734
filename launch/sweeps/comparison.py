# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A comparison of methods that flags declare, as `sweeps.compare` does.

This is plain Python, without TensorFlow.
"""

import ast
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from fedfish_tff import errors
from launch import json_config
from launch.configs import sweeps

from ml_collections import ConfigDict

_BOOLEANS = {'true': True, 'false': False}


def split_methods(text: str) -> tuple[str, ...]:
  """Returns the variants of a list such as `fed_avg,server=adam,fed_fish`.

  A part with an equals sign is an axis of the variant before it.
  """
  methods: list[str] = []
  for part in filter(None, text.split(',')):
    if '=' in part and methods:
      methods[-1] += f',{part}'
    else:
      methods.append(part)
  return tuple(dict.fromkeys(methods))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
  """A comparison of the methods of one config file.

  Attributes:
    source: The config file, with a variant if no methods are given.
    methods: The variants, as a text for `split_methods`.
    seeds: The number of seeds; None for the config's seed.
    grid: The fields in which runs differ, as `<field>=<value>,<value>`.
    tune: The fields that are tuned, in the same form, or with a colon in place
      of the equals sign.
  """

  source: str
  methods: str | None = None
  seeds: int | None = None
  grid: Sequence[str] = ()
  tune: Sequence[str] = ()

  def load(self) -> tuple[Callable[[str], ConfigDict], sweeps.Experiment]:
    """Returns the file's `get_config`, and the runs."""
    get_config = self._load_get_config()
    methods = self.variants()
    configs = {
      method: json_config.call_get_config(get_config, method)
      for method in methods
    }
    known = [json_config.flatten(c.to_dict()) for c in configs.values()]
    try:
      runs = sweeps.compare(
        configs.__getitem__,
        methods,
        seeds=self.seeds,
        fields=_parse_fields('--grid', self.grid, known),
        tuned=_parse_fields('--tune', self.tune, known),
      )
    except ValueError as error:
      raise errors.InputError(str(error)) from error
    return get_config, runs

  def load_first(self) -> ConfigDict:
    """Returns the config of the first method."""
    return json_config.call_get_config(
      self._load_get_config(), self.variants()[0]
    )

  def variants(self) -> tuple[str, ...]:
    """Returns the variants that are compared."""
    variant = self.source.partition(':')[2]
    methods = split_methods(self.methods or '')
    if bool(variant) == bool(methods):
      raise errors.InputError(
        'The methods must be named by --methods, or a single one by '
        f'--config=<file>:<method>, got --config={self.source} '
        f'{"and" if methods else "without"} --methods.'
      )
    return methods or (variant,)

  def _load_get_config(self) -> Callable[[str], ConfigDict]:
    path = json_config.find(self.source).partition(':')[0]
    return json_config.load_module(path, 'get_config').get_config


def _parse_fields(
  flag: str, texts: Iterable[str], known: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[Any, ...]]:
  """Returns the values of fields by name.

  Args:
    flag: The flag, for errors.
    texts: The fields with their values.
    known: The values of all fields of each config, whose types values take.
  """
  found: dict[str, tuple[Any, ...]] = {}
  for text in texts:
    match = re.fullmatch(r'([\w.]+)[=:](.+)', text)
    if match is None or match[1] in found:
      raise errors.InputError(
        f'{flag} must be FIELD=VALUE,VALUE, each field once, got {text!r}.'
      )
    field = match[1]
    old = next((own[field] for own in known if field in own), None)
    parts = _split_values(match[2])
    if parts is None:
      raise errors.InputError(
        f'{flag} must have pairs of brackets, got {text!r}.'
      )
    values = [_parse_value(part, old) for part in parts]
    if len({repr(value) for value in values}) < len(values):
      raise errors.InputError(
        f'The values of {flag}={text} must differ from each other.'
      )
    found[field] = tuple(values)
  return found


def _split_values(text: str) -> list[str] | None:
  """Splits a text at its commas outside of brackets, which may be nested.

  Returns:
    The parts; None if brackets are no pairs.
  """
  parts, depth = [''], 0
  for letter in text:
    depth += (letter in '([{') - (letter in ')]}')
    if depth < 0:
      return None
    if letter == ',' and depth == 0:
      parts.append('')
    else:
      parts[-1] += letter
  return None if depth else parts


def _parse_value(text: str, old: Any) -> Any:
  """Returns a value of the type of an old one, as far as it can be read so."""
  if isinstance(old, str):
    return text
  if text.lower() in _BOOLEANS:
    return _BOOLEANS[text.lower()]
  try:
    value = ast.literal_eval(text)
  except (ValueError, SyntaxError):
    return text
  return (
    float(value) if isinstance(old, float) and type(value) is int else value
  )
