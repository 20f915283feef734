# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Samples of labelled examples with given proportions of the classes."""

from fedfish_tff import datasets

import numpy as np

# Of sums of shares, which are up to millions.
_ROUNDING = 1e-6


def sample_evenly(
  labels: np.ndarray, count: int, keys: tuple[int | str, ...]
) -> np.ndarray:
  """Samples as large a share of every class, without replacement.

  Args:
    labels: int [n]; n may be 0.
    count: The size of the sample, at most n.
    keys: Of the random stream.

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
  """Samples examples with the class proportions given.

  Without replacement, a class that has fewer than are asked for is taken whole
  and the rest comes from the other classes in proportion, as in Hsu, Qi and
  Brown (2019, arXiv:1909.06335); so it does for classes that do not occur.

  Args:
    labels: int [n], n > 0, of 0 to the number of proportions - 1.
    count: The size of the sample; at most n without replacement.
    proportions: float [classes], at least 0.
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

  What a class cannot give comes from the others in proportion, or in proportion
  to what they have left where their proportions are all zero.

  Args:
    total: The number of examples, at most the sum of the limits.
    proportions: float [classes], at least 0.
    limits: int [classes], the most that each class can give.

  Returns:
    int64 [classes], whose sum is `total`; within 1 of the exact shares.
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
