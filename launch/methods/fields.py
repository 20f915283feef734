# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fields of configs: their checks, one by one and as a block.

Plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Mapping
import enum
import math
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors

# TensorFlow's int32, in which sizes and seeds enter graphs.
_LARGEST_INTEGER = 2**31 - 1
# And its float32, for rates and the like: with more digits it is infinite, and
# with less 0, or one of the numbers that kernels take for 0.
_LARGEST_NUMBER = 3.4e38
_SMALLEST_NUMBER = 1.2e-38
# The next number below is the largest that float32 does not round to 1.
_ONE_IN_FLOAT32 = 1 - 2**-25

# Raises InputError, or returns, for (field's dotted name, value).
Check = Callable[[str, Any], None]


class Field(NamedTuple):
  """A field of a config.

  Attributes:
    default: Its value where a config names none.
    check: Refuses values that cannot be used.
    help: What it is, in a line.
    goes_with: By other fields of the block, their values with which it changes
      anything; with others it has its default.
  """

  default: Any
  check: Check
  help: str
  goes_with: Mapping[str, Container[Any]] = {}


def error(name: str, value: Any, expected: str) -> errors.InputError:
  """Returns what to raise: which field is what, and what was expected."""
  return errors.InputError(f'{name} is {value!r}; {expected} was expected.')


def integer(minimum: int) -> Check:
  """Returns a check for integers from `minimum` on that int32 holds."""
  expected = {
    0: 'an integer that is 0 or more',
    1: 'a positive integer',
  }[minimum]

  def check(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
      raise error(name, value, expected)
    if value < minimum:
      raise error(name, value, expected)
    if value > _LARGEST_INTEGER:
      raise error(name, value, f'an integer of at most {_LARGEST_INTEGER}')

  return check


def number(*, positive: bool) -> Check:
  """Returns a check for finite numbers above 0, or 0 too."""
  expected = 'a positive number' if positive else 'a number that is 0 or more'

  def check(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
      raise error(name, value, expected)
    if not 0 <= value < math.inf or (positive and value == 0):
      raise error(name, value, expected)
    if value > _LARGEST_NUMBER:
      raise error(name, value, f'a number of at most {_LARGEST_NUMBER:.2g}')
    if 0 < value < _SMALLEST_NUMBER:
      what = f'a number of at least {_SMALLEST_NUMBER:.2g}'
      raise error(name, value, what if positive else f'0, or {what},')

  return check


def share(name: str, value: Any) -> None:
  """Checks a part of a whole: above 0, at most 1."""
  expected = 'a number above 0 and at most 1'
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    raise error(name, value, expected)
  if not 0 < value <= 1:
    raise error(name, value, expected)
  number(positive=True)(name, value)


def between_0_and_1(name: str, value: Any) -> None:
  """Checks a number above 0 and below 1."""
  number(positive=True)(name, value)
  if value >= _ONE_IN_FLOAT32:
    raise error(name, value, 'a number between 0 and 1')


def below_1(name: str, value: Any) -> None:
  """Checks a probability that is not 1."""
  number(positive=False)(name, value)
  if value >= _ONE_IN_FLOAT32:
    raise error(name, value, 'a number below 1')


def one_of(*names: str) -> Check:
  """Returns a check for one of some texts."""

  def check(name: str, value: Any) -> None:
    if value not in names:
      raise error(name, value, f'one of {", ".join(names)}')

  return check


def member_of(choices: type[enum.Enum]) -> Check:
  """Returns a check for the value of a member of an enum."""
  return one_of(*(choice.value for choice in choices))


def numbers(name: str, value: Any) -> None:
  """Checks a sequence of finite numbers that are 0 or more; may be empty."""
  if not isinstance(value, (list, tuple)):
    raise error(name, value, 'a sequence of numbers')
  check = number(positive=False)
  for one in value:
    check(f'A number of {name}', one)


def boolean(name: str, value: Any) -> None:
  """Checks a boolean."""
  if not isinstance(value, bool):
    raise error(name, value, 'True or False')


def text(name: str, value: Any) -> None:
  """Checks a text."""
  if not isinstance(value, str):
    raise error(name, value, 'a string')


def block(name: str, value: Any) -> None:
  """Checks a block of fields."""
  if not isinstance(value, Mapping):
    raise error(name, value, 'a block of fields')


def checks(some: Mapping[str, Field]) -> dict[str, Check]:
  """Returns the check of each field by its name."""
  return {name: field.check for name, field in some.items()}


def defaults(some: Mapping[str, Field]) -> dict[str, Any]:
  """Returns the default of each field by its name."""
  return {name: field.default for name, field in some.items()}


def describe(some: Mapping[str, Field]) -> list[str]:
  """Returns a line a field: its name, default and help."""
  return [f'  {name}={f.default!r}: {f.help}' for name, f in some.items()]


def check_fields(
  prefix: str,
  block: Mapping[str, Any],
  checks: Mapping[str, Check],
  *,
  owner: str = '',
) -> None:
  """Checks each field of a block.

  Args:
    prefix: Goes before the names of the fields.
    block: The block.
    checks: The check of each field by its name.
    owner: Whose fields they are, if not anyone's.

  Raises:
    errors.InputError: If a field is missing, unknown or refused.
  """
  for name in checks:
    if name not in block:
      raise errors.InputError(f'The config has no field {prefix}{name}.')
  for name, value in block.items():
    if name not in checks:
      raise errors.InputError(
        f'The config field {prefix}{name} does not exist'
        + (f' for {owner}' if owner else '')
        + f'; there are: {", ".join(sorted(checks))}.'
      )
    checks[name](prefix + name, value)


def check_block(
  prefix: str,
  block: Mapping[str, Any],
  some: Mapping[str, Field],
  *,
  owner: str = '',
) -> None:
  """Checks each field of a block, and that those that are set change anything.

  Args:
    prefix: Goes before the names of the fields.
    block: The block.
    some: The fields by name.
    owner: Whose fields they are, if not anyone's.

  Raises:
    errors.InputError: If a field is missing, unknown or refused, or has another
      value than its default where that changes nothing.
  """
  check_fields(prefix, block, checks(some), owner=owner)
  for name, field in some.items():
    for other, values in field.goes_with.items():
      if block[other] not in values and block[name] != field.default:
        raise errors.InputError(
          f'{prefix}{name} is {block[name]!r}, but {prefix}{other} is '
          f'{block[other]!r}, with which it changes nothing; {field.default!r} '
          'was expected.'
        )
