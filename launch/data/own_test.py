# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds out a part of each client's examples as its own test data."""

from collections.abc import Sequence

from fedfish_tff import datasets
from fedfish_tff import errors

import numpy as np


def hold_out(
  names: Sequence[str],
  clients: Sequence[np.ndarray],
  num_examples: int,
  *,
  fraction: float,
  seed: int,
) -> np.ndarray:
  """Returns whether each example is a client's own test data, bool [n].

  A client's examples are a function of the seed and of its name. It has at
  least one for testing and one for training; a client of one example trains on
  it, but some client must have two.

  Args:
    names: The ids of the clients, for the draws.
    clients: The indices of the examples of each client.
    num_examples: The number of all examples, n.
    fraction: The share of each client's examples, between 0 and 1.
    seed: The seed of the draws.
  """
  errors.check_range('--test_fraction_per_client', fraction, above=0, below=1)
  is_test = np.zeros(num_examples, bool)
  for name, indices in zip(names, clients, strict=True):
    size = len(indices)
    held_out = min(max(1, round(fraction * size)), size - 1)
    stream = datasets.random_generator('own test data', seed, name)
    is_test[indices[stream.permutation(size)[:held_out]]] = True
  if not is_test.any():
    raise errors.InputError(
      '--test_fraction_per_client needs clients of at least 2 examples, got '
      f'{len(clients)} of 1.'
    )
  return is_test
