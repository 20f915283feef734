# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The error that bad input raises, and what checks inside of graphs say."""

from collections.abc import Sequence
import numbers
import re

# How TensorFlow tells that a `tf.debugging.Assert` of a graph has failed: which
# node it was, then the texts and values that it was given, in brackets. The
# cohort context says before all that whose it was.
_FAILED_CHECK = re.compile(
  r'(?:Client (?P<position>\d+) of \d+: .*?)?'
  r'assertion failed: (?P<parts>(?:\[[^\]]*\] ?)+)',
  re.DOTALL,
)


class InputError(ValueError):
  """Input that a run cannot use: one sentence says what and why.

  The message names the client, file, field or tensor, what was found and what
  was expected. Binaries print it as one line on stderr and exit with code 2.
  """


def check_positive_integer(name: str, value: int) -> None:
  """Raises an InputError unless an argument is an integer of at least 1."""
  is_integer = isinstance(value, numbers.Integral)
  if not is_integer or isinstance(value, bool) or value < 1:
    raise InputError(f'{name} is {value!r}; a positive integer was expected.')


def describe_failed_check(
  error: BaseException, client_ids: Sequence[str] = ()
) -> str | None:
  """Returns what a check inside of a computation says that has failed.

  Computations cannot raise `InputError`: TensorFlow raises an error of its own,
  with the check's sentence among the names of nodes.

  Args:
    error: What calling the computation raised.
    client_ids: The cohort, to name the client whose check it was, where the
      context tells.

  Returns:
    The sentence; None if the error is another.
  """
  match = _FAILED_CHECK.search(str(error))
  if match is None:
    return None
  text = ' '.join(
    part.strip() for part in re.findall(r'\[([^\]]*)\]', match['parts'])
  )
  position = int(match['position'] or 0)
  if 0 < position <= len(client_ids):
    text = f'Client {client_ids[position - 1]}: {text}'
  return text
