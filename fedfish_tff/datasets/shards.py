# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partitions of one data set into clients with a few classes each."""

import heapq

from fedfish_tff import errors
from fedfish_tff.datasets import partition_checks
from fedfish_tff.datasets import random_streams

import numpy as np

# Exchanges per shard, enough for the deal to forget its start.
_EXCHANGES_PER_SHARD = 10


def partition_by_shards(
  labels: np.ndarray,
  *,
  num_clients: int,
  shards_per_client: int | None = None,
  classes_per_client: int | None = None,
  seed: int,
) -> list[np.ndarray]:
  """Divides examples, sorted by label, into shards and deals these out.

  `shards_per_client` is the partition of McMahan et al. 2017 (arXiv:1602.05629,
  section 3): num_clients * shards_per_client shards of equal size (up to one),
  dealt at random. A shard may span two labels, so a client may have more labels
  than shards; it may also have fewer.

  With `classes_per_client` each shard has one label, and each client gets
  shards of exactly that many different labels. The number of a label's shards
  is proportional to its examples, but at least one and at most one per client.
  So shards, and clients, differ in size where labels do not divide evenly.

  In both cases every example is used once, examples of a label are in random
  order, and all deals are about equally likely.

  Args:
    labels: [n], one label per example, any integers or strings.
    num_clients: The number of clients, positive.
    shards_per_client: The number of shards per client, 2 in the paper.
    classes_per_client: The number of labels per client. Exactly one of these
      two must be given.
    seed: The seed. The partition is a function of the seed and the labels.

  Returns:
    One array of sorted indices (int64) per client; together every index once.
  """
  labels = partition_checks.check_labels(labels)
  errors.check_positive_integer('num_clients', num_clients)
  if (shards_per_client is None) == (classes_per_client is None):
    raise errors.InputError(
      'Exactly one of shards_per_client and classes_per_client must be set, '
      f'got {shards_per_client} and {classes_per_client}.'
    )
  stream = random_streams.random_generator('shard partition', seed)
  _, label_numbers = np.unique(labels, return_inverse=True)
  shuffled = stream.permutation(len(labels))
  by_label = shuffled[np.argsort(label_numbers[shuffled], kind='stable')]
  if classes_per_client is None:
    partition_checks.check_enough_examples(
      len(labels), num_clients=num_clients, shards_per_client=shards_per_client
    )
    shards = np.array_split(by_label, num_clients * shards_per_client)
    owners = np.repeat(np.arange(num_clients), shards_per_client)
    return _collect(shards, stream.permutation(owners), num_clients)

  errors.check_positive_integer('classes_per_client', classes_per_client)
  counts = np.bincount(label_numbers)
  shards_per_label = _apportion(counts, num_clients, classes_per_client)
  shards = [
    shard
    for examples, number in zip(
      np.split(by_label, np.cumsum(counts)[:-1]), shards_per_label, strict=True
    )
    for shard in np.array_split(examples, number)
  ]
  owners = _deal(stream, shards_per_label, num_clients, classes_per_client)
  return _collect(shards, owners, num_clients)


def _collect(
  shards: list[np.ndarray], owners: np.ndarray, num_clients: int
) -> list[np.ndarray]:
  """Returns each client's examples, given the owner of each shard."""
  clients: list[list[np.ndarray]] = [[] for _ in range(num_clients)]
  for shard, owner in zip(shards, owners, strict=True):
    clients[owner].append(shard)
  return [np.sort(np.concatenate(client)) for client in clients]


def _apportion(
  counts: np.ndarray, num_clients: int, classes_per_client: int
) -> np.ndarray:
  """Returns the number of shards of each label, [K].

  Among all numbers between 1 and num_clients with the required sum, these make
  the largest shard as small as possible.
  """
  num_labels = len(counts)
  num_shards = num_clients * classes_per_client
  if classes_per_client > num_labels:
    raise errors.InputError(
      'classes_per_client must be at most the number of classes of the '
      f'examples, {num_labels}, got {classes_per_client}.'
    )
  if num_shards < num_labels:
    raise errors.InputError(
      f'{num_clients} clients of {classes_per_client} classes cannot hold all '
      f'{num_labels} classes; take more clients, or more classes for each.'
    )
  most = np.minimum(counts, num_clients)
  if num_shards > most.sum():
    raise errors.InputError(
      f'{len(counts)} classes with {errors.span(counts, ",")} examples '
      f'cannot give {num_clients} clients {classes_per_client} classes each; '
      'take fewer clients or classes.'
    )
  shards_per_label = np.ones(num_labels, np.int64)
  heap = [(-count, label) for label, count in enumerate(counts)]
  heapq.heapify(heap)
  for _ in range(num_shards - num_labels):
    while shards_per_label[heap[0][1]] == most[heap[0][1]]:
      heapq.heappop(heap)
    label = heap[0][1]
    shards_per_label[label] += 1
    heapq.heapreplace(heap, (-counts[label] / shards_per_label[label], label))
  return shards_per_label


def _deal(
  stream: np.random.Generator,
  shards_per_label: np.ndarray,
  num_clients: int,
  classes_per_client: int,
) -> np.ndarray:
  """Returns an owner for each shard, so that no client gets a label twice.

  Args:
    stream: The source of randomness.
    shards_per_label: The number of shards of each label, int [K], at most
      `num_clients` each.
    num_clients: The number of clients.
    classes_per_client: The number of shards per client.

  Returns:
    int [number of shards], in the order of the labels.
  """
  # Each label goes to the clients with most room left. By Gale and Ryser this
  # never ends with room only for a second shard of one label.
  room = np.full(num_clients, classes_per_client)
  by_label = [np.empty(0, np.int64)] * len(shards_per_label)
  for label in stream.permutation(len(shards_per_label)):
    order = np.lexsort((stream.random(num_clients), -room))
    by_label[label] = stream.permutation(order[: shards_per_label[label]])
    room[by_label[label]] -= 1
  owners = np.concatenate(by_label)

  # The result spreads labels more evenly than chance would. Exchanges of shards
  # that give no client a label twice lead to every possible deal.
  labels = np.repeat(np.arange(len(shards_per_label)), shards_per_label)
  has_label = np.zeros((num_clients, len(shards_per_label)), bool)
  has_label[owners, labels] = True
  pairs = stream.integers(
    len(owners), size=(_EXCHANGES_PER_SHARD * len(owners), 2)
  )
  for one, other in pairs:
    a, b = owners[one], owners[other]
    label_a, label_b = labels[one], labels[other]
    # Also false for shards of the same owner or label.
    if not has_label[a, label_b] and not has_label[b, label_a]:
      has_label[a, [label_a, label_b]] = False, True
      has_label[b, [label_b, label_a]] = False, True
      owners[one], owners[other] = b, a
  return owners
