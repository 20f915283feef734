# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fields of configs, checked one by one and as a block.

This is plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Mapping
import dataclasses
import enum
import functools
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors

# The largest int32: sizes and seeds enter graphs in that type.
_LARGEST_INTEGER = 2**31 - 1
# The range of float32, for rates and the like: larger numbers become infinite,
# and smaller ones become 0 or subnormal, which kernels take for 0.
_LARGEST_NUMBER = 3.4e38
_SMALLEST_NUMBER = 1.2e-38
# The smallest float64 that float32 rounds to 1.
_ONE_IN_FLOAT32 = 1 - 2**-25

# The values of a positive integer.
POSITIVE = range(1, _LARGEST_INTEGER + 1)

# A function of a field's dotted name and value that raises InputError for a
# refused value.
Check = Callable[[str, Any], None]


class Field(NamedTuple):
  """A field of a config.

  Attributes:
    default: The value in a config that sets none.
    check: A function that refuses values that cannot be used.
    help: A description in one line.
    goes_with: The values of other fields of the block, by name, for which this
      field has an effect; otherwise it must have its default.
    label: A function from a value to its words in labels. The default is then
      the published form, and labels tell every other value. None for a field
      that makes no other method, such as a rate that its paper tunes.
  """

  default: Any
  check: Check
  help: str
  goes_with: Mapping[str, Container[Any]] = {}
  label: Callable[[Any], str] | None = None


def exact(value: float) -> str:
  """Returns a number for labels, with all digits: no two share a label."""
  return repr(float(value)).removesuffix('.0')


def integer(minimum: int) -> Check:
  """Returns a check for int32 integers that are `minimum` or more."""

  def check(name: str, value: Any) -> None:
    errors.check_integer(name, value, least=minimum)
    if value > _LARGEST_INTEGER:
      raise errors.unexpected(
        name, value, f'an integer of at most {_LARGEST_INTEGER}'
      )

  return check


def number(*, positive: bool) -> Check:
  """Returns a check for finite numbers above 0, or else 0 or more."""

  def check(name: str, value: Any) -> None:
    if positive:
      errors.check_range(name, value, above=0)
    else:
      errors.check_range(name, value, least=0)
    if value > _LARGEST_NUMBER:
      raise errors.unexpected(
        name, value, f'a number of at most {_LARGEST_NUMBER:.2g}'
      )
    if 0 < value < _SMALLEST_NUMBER:
      what = f'a number of at least {_SMALLEST_NUMBER:.2g}'
      raise errors.unexpected(
        name, value, what if positive else f'0, or {what},'
      )

  return check


def share(name: str, value: Any) -> None:
  """Checks a share: a number above 0 and at most 1."""
  errors.check_range(name, value, above=0, most=1)
  number(positive=True)(name, value)


def from_0_to_1(name: str, value: Any) -> None:
  """Checks a number from 0 to 1, both included."""
  errors.check_range(name, value, least=0, most=1)
  number(positive=False)(name, value)


def between_0_and_1(name: str, value: Any) -> None:
  """Checks a number above 0 and below 1."""
  number(positive=True)(name, value)
  if value >= _ONE_IN_FLOAT32:
    raise errors.unexpected(name, value, 'a number above 0 and below 1')


def below_1(name: str, value: Any) -> None:
  """Checks a number that is 0 or more and below 1."""
  number(positive=False)(name, value)
  if value >= _ONE_IN_FLOAT32:
    raise errors.unexpected(name, value, 'a number below 1')


def one_of(*names: str) -> Check:
  """Returns a check for one of several strings."""
  return functools.partial(errors.check_member, known=names)


def member_of(choices: type[enum.Enum]) -> Check:
  """Returns a check for the value of a member of an enum."""
  return one_of(*(choice.value for choice in choices))


def numbers(name: str, value: Any) -> None:
  """Checks a sequence, maybe empty, of finite numbers that are 0 or more."""
  if not isinstance(value, (list, tuple)):
    raise errors.unexpected(name, value, 'a sequence of numbers')
  check = number(positive=False)
  for one in value:
    check(f'A number of {name}', one)


def sizes(name: str, value: Any) -> None:
  """Checks a sequence, maybe empty, of positive integers."""
  if not isinstance(value, (list, tuple)):
    raise errors.unexpected(name, value, 'a sequence of positive integers')
  for one in value:
    integer(1)(f'A number of {name}', one)


def boolean(name: str, value: Any) -> None:
  """Checks a boolean."""
  if not isinstance(value, bool):
    raise errors.unexpected(name, value, 'True or False')


def text(name: str, value: Any) -> None:
  """Checks a string."""
  if not isinstance(value, str):
    raise errors.unexpected(name, value, 'a string')


def block(name: str, value: Any) -> None:
  """Checks a block of fields."""
  if not isinstance(value, Mapping):
    raise errors.unexpected(name, value, 'a block of fields')


def anything(name: str, value: Any) -> None:
  """Accepts every value, of a field that is checked elsewhere."""
  del name, value


@dataclasses.dataclass(frozen=True)
class Optional:
  """A check of a value that may be None, for none.

  Attributes:
    type: The type of other values, by which flags read them.
    check: The check of other values.
  """

  type: type
  check: Check

  def __call__(self, name: str, value: Any) -> None:
    if value is not None:
      self.check(name, value)


def of_checks(some: Mapping[str, Check]) -> dict[str, Field]:
  """Returns fields without defaults and help, given the check of each."""
  return {name: Field(None, check, '') for name, check in some.items()}


def defaults(some: Mapping[str, Field]) -> dict[str, Any]:
  """Returns the default of each field by its name."""
  return {name: field.default for name, field in some.items()}


def describe(some: Mapping[str, Field]) -> list[str]:
  """Returns a line for each field: its name, default, if any, and help."""
  return [
    f'  {name}{"" if f.default is None else f"={f.default!r}"}: {f.help}'
    for name, f in some.items()
  ]


def check_block(
  prefix: str,
  block: Mapping[str, Any],
  some: Mapping[str, Field],
  *,
  owner: str = '',
) -> None:
  """Checks each field of a block, and that each changed field has an effect.

  Args:
    prefix: The prefix of the fields' names, for errors.
    block: The values of a config, by the fields' names.
    some: The fields of the block, by name.
    owner: The owner of the fields, such as a method, for errors; '' for none.
  """
  for name in some:
    if name not in block:
      needed = owner and (
        f', which {owner} needs; a variant that names {owner} has it, as in '
        '--config=FILE:METHOD,AXIS=VALUE'
      )
      raise errors.InputError(
        f'The config has no field {prefix}{name}{needed}.'
      )
  for name, value in block.items():
    if name not in some:
      raise errors.InputError(
        f'The config field {prefix}{name} does not exist'
        + (f' for {owner}' if owner else '')
        + f'; there are: {", ".join(sorted(some))}.'
        + errors.suggest(str(name), some)
      )
    some[name].check(prefix + name, value)
  for name, field in some.items():
    for other, values in field.goes_with.items():
      if block[other] not in values and block[name] != field.default:
        raise errors.InputError(
          f'{prefix}{name} must be {field.default!r}, since it changes nothing '
          f'with {prefix}{other} {block[other]!r}, got {block[name]!r}.'
        )
