# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partitions of one data set into clients along a hierarchy of labels."""

from fedfish_tff import errors
from fedfish_tff.datasets import dirichlet_draws
from fedfish_tff.datasets import partition_checks
from fedfish_tff.datasets import random_streams

import numpy as np


def partition_by_pachinko(
  labels: np.ndarray,
  coarse_labels: np.ndarray,
  *,
  num_clients: int,
  examples_per_client: int | None = None,
  alpha: float = 0.1,
  beta: float = 10.0,
  seed: int,
) -> list[np.ndarray]:
  """Divides examples by two-level latent Dirichlet (Pachinko) allocation.

  This is the partition of federated CIFAR-100 (Reddi et al. 2020,
  arXiv:2003.00295, appendix F). Each client in turn draws proportions of the
  coarse labels from a symmetric Dir(alpha), and for each coarse label
  proportions of its labels from a symmetric Dir(beta). For each of its examples
  it then draws a coarse label, a label under it, and one of the label's
  examples without replacement. A label without examples is removed from the
  proportions, as is a coarse label without labels, and the rest is
  renormalised.

  Clients are served one after the other, so the last ones choose among fewer
  examples: where few remain, their labels follow the draws less closely.

  Args:
    labels: [n], one label per example, any integers or strings.
    coarse_labels: [n], the coarse label of each example; the same for all
      examples of a label.
    num_clients: The number of clients, positive.
    examples_per_client: The number of examples per client. The n - num_clients
      * examples_per_client remaining examples are left out;
      `unassigned_examples` returns them. By default every example is used and
      sizes differ by at most one.
    alpha: The concentration of the coarse labels, 0.1 in federated CIFAR-100.
      Towards 0 a client has one coarse label only.
    beta: The concentration of the labels under a coarse label, 10 in federated
      CIFAR-100.
    seed: The seed. The partition is a function of the seed and the labels.

  Returns:
    One array of sorted indices (int64) per client; no index twice.
  """
  labels = partition_checks.check_labels(labels)
  coarse_labels = partition_checks.check_labels(coarse_labels, 'coarse labels')
  alpha = partition_checks.check_concentration('alpha', alpha)
  beta = partition_checks.check_concentration('beta', beta)
  sizes = _client_sizes(len(labels), num_clients, examples_per_client)
  _, first, label_numbers, counts = np.unique(
    labels, return_index=True, return_inverse=True, return_counts=True
  )
  parents = _find_parents(labels, coarse_labels, first, label_numbers)

  stream = random_streams.random_generator('pachinko partition', seed)
  # Examples by label, in random order within a label; taken from the front.
  shuffled = stream.permutation(len(labels))
  decks = shuffled[np.argsort(label_numbers[shuffled], kind='stable')]
  next_card = np.concatenate([[0], np.cumsum(counts)[:-1]])
  clients = []
  for size in sizes:
    drawn = _draw_label_counts(stream, counts, parents, size, alpha, beta)
    indices = [
      decks[next_card[label] : next_card[label] + drawn[label]]
      for label in np.flatnonzero(drawn)
    ]
    next_card += drawn
    counts = counts - drawn
    clients.append(np.sort(np.concatenate(indices)))
  return clients


def _client_sizes(
  num_examples: int, num_clients: int, examples_per_client: int | None
) -> np.ndarray:
  """Returns the number of examples of each client, [num_clients]."""
  partition_checks.check_enough_examples(
    num_examples,
    num_clients=num_clients,
    examples_per_client=1
    if examples_per_client is None
    else examples_per_client,
  )
  if examples_per_client is not None:
    return np.full(num_clients, examples_per_client)
  smaller, num_larger = divmod(num_examples, num_clients)
  return smaller + (np.arange(num_clients) < num_larger)


def _find_parents(
  labels: np.ndarray,
  coarse_labels: np.ndarray,
  first: np.ndarray,
  label_numbers: np.ndarray,
) -> np.ndarray:
  """Returns the number of each label's coarse label, [number of labels]."""
  if len(labels) != len(coarse_labels):
    raise errors.InputError(
      'There must be a label and a coarse label per example, got '
      f'{len(labels)} labels and {len(coarse_labels)} coarse labels.'
    )
  _, coarse_numbers = np.unique(coarse_labels, return_inverse=True)
  parents = coarse_numbers[first]
  differing = np.flatnonzero(parents[label_numbers] != coarse_numbers)
  if differing.size:
    example = differing[0]
    usual = coarse_labels[first[label_numbers[example]]]
    raise errors.InputError(
      f'Each label must have one coarse label, got {usual} and '
      f'{coarse_labels[example]} for label {labels[example]}.'
    )
  return parents


def _draw_label_counts(
  stream: np.random.Generator,
  available: np.ndarray,
  parents: np.ndarray,
  size: int,
  alpha: float,
  beta: float,
) -> np.ndarray:
  """Draws one client's number of examples of each label.

  Args:
    stream: The source of randomness.
    available: The number of remaining examples of each label, int [K].
    parents: The coarse label of each label, int [K].
    size: The number of examples to draw.
    alpha: The concentration of the coarse labels.
    beta: The concentration of the labels under a coarse label.

  Returns:
    int [K], at most `available`, with the sum `size`.
  """
  num_coarse = parents.max() + 1
  log_coarse = dirichlet_draws.draw_log_gamma(
    stream, np.full(num_coarse, alpha), 1
  )[0]
  log_fine = dirichlet_draws.draw_log_gamma(
    stream, np.full(len(parents), beta), 1
  )[0]
  drawn = np.zeros_like(available)
  while size:
    left = available - drawn
    proportions = _renormalize(log_coarse, log_fine, parents, left > 0)
    labels = stream.choice(len(left), size, p=proportions)
    # Proportions hold until a label runs out; later draws are repeated. This
    # equals drawing one by one, in one step per label that runs out.
    labels = labels[: _first_exhaustion(labels, left)]
    drawn += np.bincount(labels, minlength=len(left))
    size -= len(labels)
  return drawn


def _renormalize(
  log_coarse: np.ndarray,
  log_fine: np.ndarray,
  parents: np.ndarray,
  is_left: np.ndarray,
) -> np.ndarray:
  """Returns the probability of each label among those with examples left."""
  # Divided by the largest remaining one first: the others may underflow.
  largest = np.full(len(log_coarse), -np.inf)
  np.maximum.at(largest, parents[is_left], log_fine[is_left])
  fine = np.zeros(len(parents))
  fine[is_left] = np.exp(log_fine[is_left] - largest[parents[is_left]])
  has_labels = np.isfinite(largest)
  coarse = np.where(has_labels, log_coarse, -np.inf)
  coarse = np.exp(coarse - coarse.max())
  totals = np.bincount(parents, fine, minlength=len(log_coarse))
  coarse[has_labels] /= totals[has_labels]
  joint = coarse[parents] * fine
  return joint / joint.sum()


def _first_exhaustion(labels: np.ndarray, left: np.ndarray) -> int:
  """Returns the number of drawn labels up to the first that uses a label up."""
  counts = np.bincount(labels, minlength=len(left))
  ends = [
    int(np.flatnonzero(labels == label)[left[label] - 1]) + 1
    for label in np.flatnonzero(counts >= np.maximum(left, 1))
  ]
  return min(ends, default=len(labels))
