# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Samples of labelled examples with given class proportions."""

from fedfish_tff import datasets

import numpy as np

# The tolerance for rounding in sums of shares, which are up to millions.
_ROUNDING = 1e-6


def sample_evenly(
  labels: np.ndarray, count: int, keys: tuple[int | str, ...]
) -> np.ndarray:
  """Samples the same share of every class, without replacement.

  Args:
    labels: The labels, int [n]; n may be 0.
    count: The size of the sample, at most n.
    keys: The keys of the random stream.

  Returns:
    Sorted indices, int64 [count].
  """
  stream = datasets.random_generator(*keys)
  _, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
  counts = count_by_class(count, sizes / len(labels), sizes)
  parts = [
    stream.permutation(np.flatnonzero(numbers == number))[:size]
    for number, size in enumerate(counts)
  ]
  return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))


def sample_in_proportion(
  labels: np.ndarray,
  count: int,
  proportions: np.ndarray,
  *,
  with_replacement: bool,
  stream: np.random.Generator,
) -> np.ndarray:
  """Samples examples with given class proportions.

  Without replacement, a class with too few examples is taken whole, and the
  rest comes from the other classes in proportion, as in Hsu, Qi and Brown
  (2019, arXiv:1909.06335). The other classes also replace a class that does not
  occur.

  Args:
    labels: The labels, int [n], n > 0, of 0 to the number of proportions - 1.
    count: The size of the sample; at most n without replacement.
    proportions: The class proportions, float [classes], at least 0.
    with_replacement: Whether the examples of a class are independent draws.
    stream: The source of randomness.

  Returns:
    Indices in random order, int64 [count].
  """
  members = [
    np.flatnonzero(labels == label) for label in range(len(proportions))
  ]
  sizes = np.array([len(indices) for indices in members])
  limits = np.where(sizes > 0, count, 0) if with_replacement else sizes
  counts = count_by_class(count, proportions, limits)
  return stream.permutation(
    np.concatenate(
      [
        stream.choice(indices, size, replace=with_replacement)
        for indices, size in zip(members, counts)
        if size
      ]
    )
  )


def count_by_class(
  total: int, proportions: np.ndarray, limits: np.ndarray
) -> np.ndarray:
  """Divides a number of examples among classes in proportion, up to limits.

  The shortfall of a class comes from the other classes in proportion. If their
  proportions are all zero, it comes in proportion to their remaining examples.

  Args:
    total: The number of examples, at most the sum of the limits.
    proportions: The class proportions, float [classes], at least 0.
    limits: The largest number of examples of each class, int [classes].

  Returns:
    int64 [classes], with the sum `total`; within 1 of the exact shares.
  """
  shares = np.zeros(len(limits))
  is_open = limits > 0
  while (left := total - shares.sum()) > _ROUNDING and is_open.any():
    weights = np.where(is_open, proportions, 0)
    if not weights.sum():
      weights = np.where(is_open, limits - shares, 0)
    shares = shares + left * weights / weights.sum()
    is_open &= shares < limits
    shares = np.minimum(shares, limits)
  counts = np.floor(shares + _ROUNDING).astype(np.int64)
  # The largest remainders are rounded up, the others down.
  remainders = np.where(counts < limits, shares - counts, -1)
  rounded_up = np.argsort(-remainders, kind='stable')[: total - counts.sum()]
  counts[rounded_up] += 1
  return counts
