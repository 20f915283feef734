# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Divides one data set among clients whose label proportions differ."""

from fedfish_tff.datasets import dirichlet_draws
from fedfish_tff.datasets import partition_checks
from fedfish_tff.datasets import random_streams

import numpy as np


def partition_by_dirichlet(
  labels: np.ndarray,
  *,
  num_clients: int,
  alpha: float,
  seed: int,
  min_examples: int = 1,
) -> list[np.ndarray]:
  """Divides examples so that clients' label proportions are Dirichlet draws.

  Each client draws proportions q ~ Dir(alpha K p), p being the proportions of
  the K labels in all the data (Hsu, Qi and Brown 2019, arXiv:1909.06335,
  section 3.1; their concentration is K times this alpha, so that alpha is per
  label here, as in most code: Dir(alpha, ..., alpha) for balanced labels).

  Hsu et al. then sample each client's examples from the label proportions;
  here each label's examples are divided among the clients in proportion to
  their q of that label instead, which uses every example exactly once. Clients
  so differ in size as well, and their proportions are those drawn up to the
  factor that the other clients' demand for a label brings. Clients left below
  `min_examples` are filled up from the largest.

  Args:
    labels: int [n], one label per example, any values.
    num_clients: Number of clients.
    alpha: Concentration per label: towards 0 a client has one label only,
      towards infinity all clients look alike.
    seed: The partition is a function of the seed and the labels.
    min_examples: The fewest examples a client may have.

  Returns:
    One array of sorted indices (int64) per client; together every index once.

  Raises:
    errors.InputError: If a number is not positive, `labels` is not a vector,
      or there are too few examples.
  """
  labels = partition_checks.check_labels(labels)
  partition_checks.check_positive_integer('num_clients', num_clients)
  partition_checks.check_positive_integer('min_examples', min_examples)
  partition_checks.check_concentration('alpha', alpha)
  partition_checks.check_enough_examples(
    len(labels), num_clients=num_clients, examples_per_client=min_examples
  )
  stream = random_streams.random_generator('dirichlet partition', seed)
  _, label_numbers, counts = np.unique(
    labels, return_inverse=True, return_counts=True
  )
  concentration = alpha * len(counts) * counts / len(labels)
  proportions = dirichlet_draws.draw_dirichlet(
    stream, concentration, num_clients
  )

  parts: list[list[np.ndarray]] = [[] for _ in range(num_clients)]
  for label, demand in enumerate(proportions.T):
    if not demand.sum():
      # Tiny alphas round to zero; a label that nobody drew goes to anybody.
      demand = stream.random(num_clients)
    indices = stream.permutation(np.flatnonzero(label_numbers == label))
    ends = np.round(np.cumsum(demand) / demand.sum() * len(indices))
    for part, piece in zip(
      parts, np.split(indices, ends[:-1].astype(np.int64)), strict=True
    ):
      part.append(piece)
  clients = [stream.permutation(np.concatenate(part)) for part in parts]
  _fill_up(clients, min_examples)
  return [np.sort(indices) for indices in clients]


def _fill_up(clients: list[np.ndarray], min_examples: int) -> None:
  """Moves examples from the largest clients to those below the minimum."""
  sizes = np.array([len(indices) for indices in clients])
  for receiver in np.flatnonzero(sizes < min_examples):
    while sizes[receiver] < min_examples:
      donor = int(np.argmax(sizes))
      # Down to where another client may be the largest, but at least one.
      second = int(np.partition(sizes, -2)[-2])
      moved = min(min_examples - sizes[receiver], max(1, sizes[donor] - second))
      clients[donor], given = np.split(clients[donor], [-moved])
      clients[receiver] = np.concatenate([clients[receiver], given])
      sizes[donor] -= moved
      sizes[receiver] += moved
