# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partitions of one data set into clients with different label proportions.

There are also counts of the clients' classes, and the examples left out.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.datasets import dirichlet_draws
from fedfish_tff.datasets import partition_checks
from fedfish_tff.datasets import random_streams

import numpy as np

# The maximal number of draws of a partition with a minimal client size.
_MAX_DRAWS = 1000


def partition_by_dirichlet(
  labels: np.ndarray,
  *,
  num_clients: int,
  alpha: float,
  seed: int,
  min_examples: int = 1,
) -> list[np.ndarray]:
  """Divides examples so that clients' label proportions are Dirichlet draws.

  Each client draws proportions q ~ Dir(alpha K p), with p the proportions of
  the K labels in all the data (Hsu, Qi and Brown 2019, arXiv:1909.06335,
  section 3.1). Their concentration is K times this alpha, so here alpha is per
  label, as in most code: Dir(alpha, ..., alpha) for balanced labels.

  Hsu et al. then sample each client's examples from the label proportions. Here
  each label's examples are divided among the clients in proportion to their q
  of that label instead, which uses every example exactly once. So clients
  differ in size as well, and their proportions are the drawn ones up to a
  factor for the other clients' demand for each label. Clients below
  `min_examples` are filled up from the largest ones.

  Args:
    labels: The labels, int [n], one per example, any values.
    num_clients: The number of clients, positive.
    alpha: The concentration per label. Towards 0 a client has one label only,
      towards infinity all clients have the same proportions.
    seed: The seed. The partition is a function of the seed and the labels.
    min_examples: The minimal number of examples per client.

  Returns:
    One array of sorted indices (int64) per client; together every index once.
  """
  labels = partition_checks.check_labels(labels)
  alpha = partition_checks.check_concentration('alpha', alpha)
  partition_checks.check_enough_examples(
    len(labels), num_clients=num_clients, min_examples=min_examples
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
      # Tiny alphas round to zero, and a label may have no demand.
      demand = stream.random(num_clients)
    _divide(stream, np.flatnonzero(label_numbers == label), demand, parts)
  clients = [stream.permutation(np.concatenate(part)) for part in parts]
  _fill_up(clients, min_examples)
  return [np.sort(indices) for indices in clients]


def partition_labels_by_dirichlet(
  labels: np.ndarray,
  *,
  num_clients: int,
  alpha: float,
  seed: int,
  min_examples: int = 10,
) -> list[np.ndarray]:
  """Divides each label's examples by a Dirichlet draw over the clients.

  This is the partition of the experiments on matched averaging (Yurochkin et
  al., 2019, arXiv:1905.12022, section 4; Wang et al., 2020, and their code).
  Label by label, clients get shares p ~ Dir(alpha, ..., alpha) of it, except
  clients that already have at least the mean number of examples. All labels are
  drawn again until each client has `min_examples`.

  Args:
    labels: The labels, int [n], one per example, any values.
    num_clients: The number of clients, positive.
    alpha: The concentration per client. Towards 0 each label belongs to one
      client, towards infinity all clients have the same proportions.
    seed: The seed. The partition is a function of the seed and the labels.
    min_examples: The minimal number of examples per client.

  Returns:
    One array of sorted indices (int64) per client; together every index once.
  """
  labels = partition_checks.check_labels(labels)
  alpha = partition_checks.check_concentration('alpha', alpha)
  partition_checks.check_enough_examples(
    len(labels), num_clients=num_clients, min_examples=min_examples
  )
  stream = random_streams.random_generator('dirichlet of labels', seed)
  values, label_numbers = np.unique(labels, return_inverse=True)
  for _ in range(_MAX_DRAWS):
    parts: list[list[np.ndarray]] = [[] for _ in range(num_clients)]
    sizes = np.zeros(num_clients, np.int64)
    for label in range(len(values)):
      (shares,) = dirichlet_draws.draw_dirichlet(
        stream, np.full(num_clients, alpha), 1
      )
      wanting = sizes < len(labels) / num_clients
      shares *= wanting
      if not shares.sum():
        # Tiny alphas round to zero.
        shares = stream.random(num_clients) * wanting
      _divide(stream, np.flatnonzero(label_numbers == label), shares, parts)
      sizes += [len(part[-1]) for part in parts]
    if sizes.min() >= min_examples:
      return [np.sort(np.concatenate(part)) for part in parts]
  raise errors.InputError(
    f'{_MAX_DRAWS} draws with alpha {alpha} have not given each of '
    f'{num_clients} clients {min_examples} of {len(labels)} examples; take '
    'fewer clients or a larger alpha.'
  )


def partition_alike(
  labels: np.ndarray,
  other_labels: np.ndarray,
  other_partition: Sequence[np.ndarray],
  *,
  seed: int,
) -> list[np.ndarray]:
  """Divides examples in the label proportions of another partition.

  The result is test data matched to clients' training data (Tziotis et al.
  2022, arXiv:2206.02078, section 5): a client's share of a label's examples is
  its share of the other examples of that label, up to one example. Every
  example is used once, except those of labels that no client has.

  Args:
    labels: The labels of the examples to divide, [n], integers or strings.
    other_labels: The labels of the examples that are already divided, [m].
    other_partition: For each client its indices into `other_labels`.
    seed: The seed. The partition is a function of the seed and the other
      arguments.

  Returns:
    One array of sorted indices (int64) per client; it may be empty.
  """
  labels = partition_checks.check_labels(labels)
  other_labels = partition_checks.check_labels(other_labels)
  if not len(other_partition):
    raise errors.InputError(
      'The number of clients to divide examples among must be 1 or more, got '
      'none.'
    )
  stream = random_streams.random_generator('matched partition', seed)
  clients: list[list[np.ndarray]] = [[] for _ in other_partition]
  for label in np.unique(labels):
    counts = np.array(
      [np.sum(other_labels[indices] == label) for indices in other_partition]
    )
    if not counts.any():
      continue
    (examples,) = np.nonzero(labels == label)
    # One random number rounds all bounds: sizes add up, and each is off by less
    # than one.
    bounds = np.cumsum(counts) / counts.sum() * len(examples)
    offset = stream.random()
    starts = np.floor(bounds[:-1] + offset).astype(np.int64)
    parts = np.split(stream.permutation(examples), starts)
    for client, part in zip(clients, parts, strict=True):
      client.append(part)
  nothing = np.empty(0, np.int64)
  return [np.sort(np.concatenate([nothing, *client])) for client in clients]


def count_labels(
  labels: np.ndarray, partition: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
  """Counts each client's examples of each class.

  Args:
    labels: [n], one label per example.
    partition: The indices of each client's examples, as partitions return them.

  Returns:
    The classes [K], which are the labels' values in ascending order, and the
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
    partition: The indices of each client's examples, as partitions return them.
    num_examples: The number of examples of the partitioned data.
  """
  is_assigned = np.zeros(num_examples, bool)
  for indices in partition:
    is_assigned[indices] = True
  return np.flatnonzero(~is_assigned)


def _divide(
  stream: np.random.Generator,
  indices: np.ndarray,
  shares: np.ndarray,
  parts: list[list[np.ndarray]],
) -> None:
  """Adds a random piece of the indices to each client's part."""
  indices = stream.permutation(indices)
  ends = np.round(np.cumsum(shares) / shares.sum() * len(indices))
  for part, piece in zip(
    parts, np.split(indices, ends[:-1].astype(np.int64)), strict=True
  ):
    part.append(piece)


def _fill_up(clients: list[np.ndarray], min_examples: int) -> None:
  """Moves examples from the largest clients to those below the minimum."""
  sizes = np.array([len(indices) for indices in clients])
  for receiver in np.flatnonzero(sizes < min_examples):
    while sizes[receiver] < min_examples:
      donor = int(np.argmax(sizes))
      # Down to the second largest client's size, but at least one example.
      second = int(np.partition(sizes, -2)[-2])
      moved = min(min_examples - sizes[receiver], max(1, sizes[donor] - second))
      clients[donor], given = np.split(clients[donor], [-moved])
      clients[receiver] = np.concatenate([clients[receiver], given])
      sizes[donor] -= moved
      sizes[receiver] += moved
