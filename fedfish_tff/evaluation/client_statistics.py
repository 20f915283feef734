# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over the clients of an evaluation, in plain NumPy.

A client without examples to score (`num_examples` 0) is missing, whatever its
metrics' values, and a client with a non-finite value has diverged. All
statistics here leave out both. Code that prints one should also print the
number of diverged clients.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names

import numpy as np

_WEIGHTINGS = ('uniform', 'examples')


def metric_values(
  per_client: Sequence[Mapping[str, Any]], metric: str
) -> tuple[np.ndarray, np.ndarray]:
  """Returns one metric of the scored clients, with the clients' sizes.

  Args:
    per_client: One mapping per client with `num_examples` and the metrics.
    metric: The name of the metric, for example `'accuracy'`.

  Returns:
    Two float64 arrays of shape `[num_scored_clients]`, in the clients' order:
    the metric, and the number of examples that it was computed on.

  Raises:
    errors.InputError: If a scored client has no such metric.
  """
  values, sizes = [], []
  for index, client in enumerate(per_client):
    if client['num_examples'] == 0:
      continue
    if metric not in client:
      known = ', '.join(name for name in client if name != 'num_examples')
      raise errors.InputError(
        f'Metric {metric!r} is not among the metrics of client number '
        f'{index}: {known}.'
      )
    values.append(client[metric])
    sizes.append(client['num_examples'])
  return np.array(values, np.float64), np.array(sizes, np.float64)


def count_diverged(values: Sequence[float] | np.ndarray) -> int:
  """Returns the number of non-finite values, which statistics leave out."""
  return int(np.sum(~np.isfinite(np.asarray(values, np.float64))))


def score_names(per_client: Sequence[Mapping[str, Any]]) -> list[str]:
  """Returns the names of the metrics other than counts."""
  return [name for name in per_client[0] if not metric_names.is_count(name)]


def count_diverged_clients(per_client: Sequence[Mapping[str, Any]]) -> int:
  """Returns the number of scored clients with a metric that is not finite."""
  if not per_client:
    return 0
  values = [metric_values(per_client, n)[0] for n in score_names(per_client)]
  # The greatest magnitude is finite only if all of a client's values are
  # finite.
  return count_diverged(np.max(np.abs(values), axis=0))


def weighted_mean(
  values: np.ndarray, sizes: np.ndarray, *, weighting: str = 'uniform'
) -> float:
  """Returns the mean over clients, each weighted once or by its examples.

  Args:
    values: A float array of shape `[num_clients]`; non-finite values are left
      out.
    sizes: The number of examples of each client, a float array of shape
      `[num_clients]`.
    weighting: The weights, `'uniform'` or `'examples'`.

  Returns:
    The mean; NaN if no client has a finite value.

  Raises:
    errors.InputError: If `weighting` is unknown.
  """
  if weighting not in _WEIGHTINGS:
    raise errors.InputError(
      f'weighting must be one of {", ".join(_WEIGHTINGS)}, got {weighting!r}.'
    )
  kept = np.isfinite(values)
  if not kept.any():
    return float('nan')
  weights = sizes[kept] if weighting == 'examples' else None
  return float(np.average(values[kept], weights=weights))


def mean_over_clients(
  per_client: Sequence[Mapping[str, Any]],
  metric: str,
  *,
  weighting: str = 'uniform',
) -> float:
  """Returns a metric's mean over the scored clients (see `weighted_mean`)."""
  values, sizes = metric_values(per_client, metric)
  return weighted_mean(values, sizes, weighting=weighting)


def standard_deviation(values: Sequence[float] | np.ndarray) -> float:
  """Returns the standard deviation over clients (divided by their number).

  Args:
    values: One value per scored client; non-finite values are left out.

  Returns:
    The standard deviation; NaN if no client has a finite value.
  """
  values = np.asarray(values, np.float64)
  values = values[np.isfinite(values)]
  return float(np.std(values)) if values.size else float('nan')


def worst_tenth(
  values: Sequence[float] | np.ndarray, *, higher_is_better: bool = True
) -> float:
  """Returns the mean over the tenth of the clients with the worst values.

  Args:
    values: One value per scored client; non-finite values are left out. The
      tenth of the others is rounded up, so it holds at least one client.
    higher_is_better: Whether a higher value is better (accuracy) or a lower one
      (loss).

  Returns:
    The mean of the worst tenth; NaN if no client has a finite value.
  """
  values = np.asarray(values, np.float64)
  values = values[np.isfinite(values)]
  if not values.size:
    return float('nan')
  ordered = np.sort(values if higher_is_better else -values)
  worst = ordered[: -(-values.size // 10)].mean()
  return float(worst if higher_is_better else -worst)


def spread(
  column: str, values: np.ndarray, *, higher_is_better: bool
) -> dict[str, float]:
  """Returns `<column>_client_std` and `<column>_worst_tenth` of the values."""
  return {
    f'{column}_client_std': standard_deviation(values),
    f'{column}_worst_tenth': worst_tenth(
      values, higher_is_better=higher_is_better
    ),
  }
