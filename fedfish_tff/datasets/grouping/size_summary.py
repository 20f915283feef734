# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sums and quantiles of the sizes of clients."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import folder_writer

import numpy as np

_PERCENTILES = {
  'min': 0,
  'p10': 10,
  'p25': 25,
  'median': 50,
  'p75': 75,
  'p90': 90,
  'p99': 99,
  'max': 100,
}


def summarize(sizes: Sequence[folder_writer.ClientSizes]) -> dict[str, Any]:
  """Returns counts of clients, examples and words, and client sizes.

  Args:
    sizes: The sizes of the clients of some splits, taken together.

  Returns:
    'clients', 'examples', 'words', and for 'examples_per_client' and
    'words_per_client' the mean and percentiles, which are sizes of clients that
    there are; none where there are no clients.
  """
  totals = {'clients': sum(len(part.examples) for part in sizes)}
  spread = {}
  for name in ('examples', 'words'):
    values = np.concatenate([getattr(part, name) for part in sizes])
    totals[name] = int(values.sum())
    spread[f'{name}_per_client'] = _describe(values)
  return totals | spread


def _describe(values: np.ndarray) -> dict[str, float]:
  if not len(values):
    return {}
  quantiles = np.percentile(
    values, list(_PERCENTILES.values()), method='inverted_cdf'
  )
  return {
    'mean': float(values.mean()),
    **dict(zip(_PERCENTILES, map(int, quantiles), strict=True)),
  }
