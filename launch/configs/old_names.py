# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Variants and files by the names that they had; for one version only."""

from collections.abc import Callable
from collections.abc import Sequence
import functools
import re
import sys
import types
from typing import Any

_AVERAGES = 'fed_avg|fed_fish|per_example|sampled_label|damped'
_RULES: Sequence[tuple[str, str]] = (
  ('paper_literal', 'fed_fish,server=sgd'),
  (rf'({_AVERAGES})_(sgd|adam|yogi)', r'\1,server=\2'),
  (r'(fed_avg|fed_fish)_lp', r'\1,fine_tuning=ft_lp'),
  (
    r'(fed3r|fed3r_rf)_(ft|ft_lp|ft_feat)_fish',
    r'fed_fish,fine_tuning=\2,start=\1',
  ),
  (r'(fed3r|fed3r_rf)_(ft|ft_lp|ft_feat)', r'fed_avg,fine_tuning=\2,start=\1'),
  (
    r'(fed_avg|fed_fish)_(partial|partial_smallest|layers|threshold|coordinates)',
    r'\1,exchange=\2',
  ),
)
# What stood before or behind another name: the axis that it is now.
_AFFIXES: Sequence[tuple[str, str]] = (
  (r'(?P<value>linear|cnn|roberta|memo)_(?P<name>.+)', 'model'),
  (r'(?P<value>tiny)_(?P<name>.+)', 'size'),
  (r'(?P<name>.+)_(?P<value>client_keeps)', 'unsent'),
)


def translate(variant: str) -> str:
  """Returns a variant as it is called now, and says so where that is new.

  Args:
    variant: A variant, with or without axes.
  """
  head, comma, axes = variant.partition(',')
  now = _translate_name(head)
  if now == head:
    return variant
  _say(f'The variant {head} is called {now} now.')
  return now + comma + axes


def _translate_name(name: str) -> str:
  if name == 'tiny':
    return 'fed_fish,size=tiny'
  for pattern, axis in _AFFIXES:
    match = re.fullmatch(pattern, name)
    if match:
      return f'{_translate_name(match["name"])},{axis}={match["value"]}'
  for pattern, new in _RULES:
    match = re.fullmatch(pattern, name)
    if match:
      return match.expand(new)
  return name


def moved(
  module: types.ModuleType, axes: str, default: str = 'fed_fish'
) -> tuple[Callable[..., Any], Callable[[str], Any]]:
  """Returns the functions of a config file that another one has taken over.

  Args:
    module: The other file.
    axes: What its variants have to be what those of the old file were.
    default: The variant without a name.
  """
  path = module.__name__.replace('.', '/') + '.py'
  line = f'This config is {path}:<variant>{"," * bool(axes)}{axes} now.'

  def get_config(variant: str = default) -> Any:
    _say(line)
    return module.get_config(_join(translate(variant), axes))

  def sweep(name: str) -> Any:
    _say(line)
    return module.sweep(_join(name, axes))

  return get_config, sweep


def _join(name: str, axes: str) -> str:
  # The runs of a sweep have the axes already.
  return name if not axes or axes in name else f'{name},{axes}'


@functools.cache
def _say(line: str) -> None:
  # Once, and not by logging, which the flags set up only later.
  print(line, file=sys.stderr)
