# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The error for bad input, and the messages of checks inside graphs."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import difflib
import enum
import math
import numbers
import re
from typing import Any

# The cohort context puts the client before TensorFlow's message.
_CLIENT = r'(?:Client (?P<position>\d+) of \d+: .*?)?'
# The message of a failed `tf.debugging.Assert` in a graph: the node, then the
# assertion's texts and values in brackets.
_FAILED_CHECK = re.compile(
  _CLIENT + r'assertion failed: (?P<parts>(?:\[[^\]]*\] ?)+)', re.DOTALL
)
# The message of the cross-entropy on CPUs.
_WRONG_LABEL = re.compile(
  _CLIENT + r'Received a label value of (?P<label>-?\d+) which is outside the '
  r'valid range of \[0, (?P<classes>\d+)\)',
  re.DOTALL,
)

_MOST_SUGGESTIONS = 3


class InputError(ValueError):
  """Input that a run cannot use.

  The message is a sentence that names the client, file, field or tensor, what
  must hold and what was found. Binaries print it as one line on stderr and exit
  with code 2.
  """


def unexpected(name: str, value: Any, expected: str) -> InputError:
  """Returns an error that names an argument, what must hold, and its value."""
  return InputError(f'{name} must be {expected}, got {value!r}.')


def check_positive_integer(name: str, value: int) -> None:
  """Raises an InputError unless an argument is an integer of at least 1."""
  check_integer(name, value, least=1)


def check_integer(
  name: str, value: int, *, least: int, most: int | None = None
) -> None:
  """Raises an InputError unless an argument is an integer in a range.

  Args:
    name: The argument's name, for the message.
    value: The argument, of Python's or NumPy's types.
    least: The smallest integer that it may be.
    most: The largest integer that it may be; None for any.
  """
  is_integer = isinstance(value, numbers.Integral) and type(value) is not bool
  if not is_integer or value < least or (most is not None and value > most):
    expected = {0: 'an integer that is 0 or more', 1: 'a positive integer'}.get(
      least, f'an integer of at least {least}'
    )
    if most is not None:
      expected = f'an integer from {least} to {most}'
    raise unexpected(name, value, expected)


def check_range(
  name: str,
  value: float,
  *,
  least: float | None = None,
  above: float | None = None,
  most: float | None = None,
  below: float | None = None,
) -> None:
  """Raises an InputError unless an argument is a finite number in a range.

  Args:
    name: The argument's name, for the message.
    value: The argument, of Python's or NumPy's types.
    least: The smallest number that it may be; None if it has `above`.
    above: The number that it must be larger than; None if it has `least`.
    most: The largest number that it may be; None for any, or with `below`.
    below: The number that it must be smaller than; None for any.
  """
  is_number = isinstance(value, numbers.Real) and type(value) is not bool
  if (
    not is_number
    or not -math.inf < value < math.inf
    or not (value > above if least is None else value >= least)
    or not (most is None or value <= most)
    or not (below is None or value < below)
  ):
    if most is None and below is None:
      low = f'that is {least} or more' if above is None else f'above {above}'
      expected = 'a positive number' if above == 0 else f'a number {low}'
    elif above is None:
      end = f'below {below}' if most is None else most
      expected = f'a number from {least} to {end}'
    elif most is None:
      expected = f'a number above {above} and below {below}'
    else:
      expected = f'a number above {above} and at most {most}'
    raise unexpected(name, value, expected)


def check_member(name: str, value: Any, known: Collection[str]) -> None:
  """Raises an InputError unless an argument is one of the known names."""
  if value not in known:
    error = unexpected(name, value, f'one of {", ".join(known)}')
    raise InputError(f'{error}{suggest(str(value), known)}')


def check_choice(name: str, value: Any, kind: type[enum.Enum]) -> None:
  """Raises an InputError unless an argument is a member of `choices`.

  A member's bare value would be taken for another member.
  """
  if not isinstance(value, kind):
    raise unexpected(name, value, f'a member of choices.{kind.__name__}')


def first_line(error: BaseException) -> str:
  """Returns the first line of an error's message, without a full stop.

  Libraries append hints, nodes of graphs or stacks in further lines. Without a
  message, it is the name of the error's type.
  """
  lines = str(error).strip().splitlines() or [type(error).__name__]
  return lines[0].strip().rstrip('.')


def list_some(values: Sequence[object], most: int = 20) -> str:
  """Returns the first values, at most `most`, and the number of others."""
  shown = ', '.join(map(str, values[:most]))
  more = len(values) - most
  return f'{shown} and {more:,} more' if more > 0 else shown


def span(numbers: Iterable[float], form: str = '.9g') -> str:
  """Returns '2 to 5', the least and the largest number; '2' for equal ones.

  Args:
    numbers: The numbers, at least one.
    form: The format of each of them, as for `format`.
  """
  low, *_, high = sorted(numbers) * 2
  return f'{low:{form}}' if low == high else f'{low:{form}} to {high:{form}}'


def suggest(name: str, known: Iterable[str]) -> str:
  """Returns ' Did you mean X?' for the known name closest to a wrong one.

  Args:
    name: The name that is not known.
    known: The names that there are.

  Returns:
    The sentence, to stand at the end of a message; '' where none is close. If
    none is spelt like the name, those with that word, such as local_epochs for
    epochs, or with such initials, such as client_learning_rate for lr.
  """
  folded = name.lower()
  by_folded = {one.lower(): one for one in known}
  found = difflib.get_close_matches(folded, by_folded, n=1) or [
    one for one in by_folded if _abbreviates(folded, one)
  ]
  if not 1 <= len(found) <= _MOST_SUGGESTIONS:
    return ''
  return f' Did you mean {" or ".join(by_folded[one] for one in found)}?'


def _abbreviates(name: str, known: str) -> bool:
  """Returns whether a name is a word of a known one, or its last initials."""
  words = re.findall(r'[^\W_]+', known)
  initials = ''.join(word[0] for word in words)
  return name in words or (len(name) > 1 and initials.endswith(name))


def describe_failed_check(
  error: BaseException, client_ids: Sequence[str] = ()
) -> str | None:
  """Returns the message of a failed check inside a computation.

  Computations cannot raise `InputError`: TensorFlow raises its own error, with
  the check's message among the names of nodes.

  Args:
    error: The error that the computation's call raised.
    client_ids: The cohort, to name the client of the check if the context
      reports it.

  Returns:
    The message; None if the error is another one.
  """
  match = _FAILED_CHECK.search(str(error))
  if match is None:
    return None
  text = ' '.join(
    part.strip() for part in re.findall(r'\[([^\]]*)\]', match['parts'])
  )
  # TensorFlow escapes apostrophes.
  return _of_client(match, text.replace("\\'", "'"), client_ids)


def describe_wrong_label(
  error: BaseException, client_ids: Sequence[str] = ()
) -> str | None:
  """Returns the message for a label that is none of a classifier's classes.

  The arguments are those of `describe_failed_check`.

  Returns:
    The message; None if the error is another one.
  """
  match = _WRONG_LABEL.search(str(error))
  if match is None:
    return None
  last = int(match['classes']) - 1
  text = f'Labels must be from 0 to {last}, got {match["label"]}.'
  return _of_client(match, text, client_ids)


def describe_bad_input(
  error: BaseException, client_ids: Sequence[str] = ()
) -> str | None:
  """Returns the message of an error that stands for an `InputError`.

  It is that of a failed check or of a wrong label; the arguments are those of
  `describe_failed_check`.

  Returns:
    The message; None if the error is another one.
  """
  return describe_failed_check(error, client_ids) or describe_wrong_label(
    error, client_ids
  )


def _of_client(
  match: re.Match[str], text: str, client_ids: Sequence[str]
) -> str:
  """Returns a message with the client that the context reports, if any."""
  position = int(match['position'] or 0)
  if 0 < position <= len(client_ids):
    text = f'Client {client_ids[position - 1]}: {text}'
  return text
