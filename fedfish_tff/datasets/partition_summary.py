# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a partition looks like: clients by classes, and what it left out."""

from collections.abc import Sequence

import numpy as np


def count_labels(
  labels: np.ndarray, partition: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
  """Counts each client's examples of each class.

  Args:
    labels: [n], one label per example.
    partition: Indices of each client's examples, as partitions return them.

  Returns:
    The classes [K], which are the labels' values in rising order, and the
    counts, int64 [number of clients, K].
  """
  classes, label_numbers = np.unique(labels, return_inverse=True)
  counts = np.zeros((len(partition), len(classes)), np.int64)
  for row, indices in zip(counts, partition, strict=True):
    row += np.bincount(label_numbers[indices], minlength=len(classes))
  return classes, counts


def unassigned_examples(
  partition: Sequence[np.ndarray], num_examples: int
) -> np.ndarray:
  """Returns the examples that no client has, as sorted indices (int64).

  Args:
    partition: Indices of each client's examples, as partitions return them.
    num_examples: The number of examples that were to be divided.
  """
  is_assigned = np.zeros(num_examples, bool)
  for indices in partition:
    is_assigned[indices] = True
  return np.flatnonzero(~is_assigned)
