# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What every partition asks of its arguments, in the same words."""

from fedfish_tff import errors

import numpy as np


def check_labels(labels: np.ndarray, kind: str = 'labels') -> np.ndarray:
  """Returns one label per example, as an array.

  Args:
    labels: What should be a vector with at least one entry.
    kind: What they are called in the message.

  Raises:
    errors.InputError: If they are not.
  """
  labels = np.asarray(labels)
  if labels.ndim != 1 or not labels.size:
    raise errors.InputError(
      f'The {kind} to partition by have the shape {list(labels.shape)}; one '
      'label per example was expected.'
    )
  return labels


def check_positive_integer(name: str, value: int) -> None:
  """Raises an InputError unless the argument is an integer of at least 1."""
  if not isinstance(value, (int, np.integer)) or value < 1:
    raise errors.InputError(
      f'{name} is {value!r}; a positive integer was expected.'
    )


def check_concentration(name: str, value: float) -> None:
  """Raises an InputError unless the argument is positive and finite."""
  if not (value > 0 and np.isfinite(value)):
    raise errors.InputError(
      f'{name} is {value!r}; a positive number was expected.'
    )


def check_enough_examples(
  num_examples: int, *, num_clients: int, examples_per_client: int
) -> None:
  """Raises an InputError if the examples do not go round."""
  if num_clients * examples_per_client > num_examples:
    raise errors.InputError(
      f'{num_examples} examples cannot give {num_clients} clients at least '
      f'{examples_per_client} each; fewer clients were expected.'
    )
