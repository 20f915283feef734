# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of the arguments that all partitions share."""

from fedfish_tff import errors

import numpy as np

# Above this value, sums of random numbers would leave the range of floats.
_LARGEST_CONCENTRATION = 1e100


def check_vector(values: np.ndarray, kind: str) -> np.ndarray:
  """Returns values, one per example, as an array.

  Args:
    values: The values to check, a vector with at least one entry.
    kind: The values' name in the message.
  """
  values = np.asarray(values)
  if values.ndim != 1 or not values.size:
    raise errors.InputError(
      f'The {kind} to partition by must be a vector with one entry per '
      f'example, got the shape {list(values.shape)}.'
    )
  return values


def check_labels(labels: np.ndarray, kind: str = 'labels') -> np.ndarray:
  """Returns labels, one per example, as an array of sortable values.

  Args:
    labels: The labels to check, a vector with at least one entry.
    kind: The labels' name in the message.
  """
  labels = check_vector(labels, kind)
  if labels.dtype.kind == 'O':
    try:
      np.sort(labels)
    except TypeError as error:
      raise errors.InputError(
        f'The {kind} to partition by must be of one type, and cannot be put in '
        f'order ({error}).'
      ) from error
  # Only a missing value, such as NaN, differs from itself.
  missing = np.flatnonzero(labels != labels)
  if missing.size:
    first = missing[0]
    raise errors.InputError(
      f'The {kind} to partition by must have a value for each example, got '
      f'{labels[first]} for {missing.size} of {len(labels)}, the first at '
      f'position {first}.'
    )
  return labels


def check_concentration(name: str, value: float) -> float:
  """Returns a positive number that is not too large, as a float.

  NumPy refuses integers of more than 64 bits.
  """
  errors.check_range(name, value, above=0, most=_LARGEST_CONCENTRATION)
  return float(value)


def check_enough_examples(
  num_examples: int, *, num_clients: int, **needed: int
) -> None:
  """Checks that there are clients and examples for all of them.

  Args:
    num_examples: The number of examples of all clients together.
    num_clients: The number of clients, positive.
    **needed: The minimal number of examples per client, by the argument's name.
  """
  errors.check_positive_integer('num_clients', num_clients)
  ((name, number),) = needed.items()
  errors.check_positive_integer(name, number)
  if num_clients * number > num_examples:
    raise errors.InputError(
      f'{num_examples} examples cannot give {num_clients} clients at least '
      f'{number} each; take fewer clients.'
    )
