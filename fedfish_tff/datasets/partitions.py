# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Divides one data set among clients."""

from fedfish_tff import errors
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
  labels = np.asarray(labels)
  _check_arguments(labels, num_clients, alpha, min_examples)
  stream = random_streams.random_generator('dirichlet partition', seed)
  _, label_numbers, counts = np.unique(
    labels, return_inverse=True, return_counts=True
  )
  concentration = alpha * len(counts) * counts / len(labels)
  proportions = _draw_dirichlet(stream, concentration, num_clients)

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


def _draw_dirichlet(
  stream: np.random.Generator, concentration: np.ndarray, size: int
) -> np.ndarray:
  """Draws from a Dirichlet distribution of any concentration, [size, K].

  NumPy's own does not return for very small concentrations. Gamma(c) is
  distributed as Gamma(c + 1) U^(1/c), whose logarithm stays in range.
  """
  concentration = np.maximum(concentration, 1e-100)
  shape = (size, len(concentration))
  log_gamma = np.log(stream.standard_gamma(concentration + 1, shape))
  log_gamma -= stream.standard_exponential(shape) / concentration
  weights = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
  return weights / weights.sum(axis=1, keepdims=True)


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


def _check_arguments(
  labels: np.ndarray, num_clients: int, alpha: float, min_examples: int
) -> None:
  """Raises an InputError for arguments that allow no partition."""
  if labels.ndim != 1 or not labels.size:
    raise errors.InputError(
      f'The labels to partition by have the shape {list(labels.shape)}; one '
      'label per example was expected.'
    )
  for name, value in (
    ('num_clients', num_clients),
    ('min_examples', min_examples),
  ):
    if not isinstance(value, (int, np.integer)) or value < 1:
      raise errors.InputError(
        f'{name} is {value!r}; a positive integer was expected.'
      )
  if not (alpha > 0 and np.isfinite(alpha)):
    raise errors.InputError(
      f'alpha is {alpha!r}; a positive number was expected.'
    )
  if num_clients * min_examples > len(labels):
    raise errors.InputError(
      f'{len(labels)} examples cannot give {num_clients} clients at least '
      f'{min_examples} each; fewer clients were expected.'
    )
