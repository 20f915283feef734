# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics over the clients of an evaluation, in plain NumPy.

A client without examples to score (`num_examples` 0) is missing, whatever its
metrics' values, and is left out. A client with a non-finite value has diverged.
Statistics are over all scored clients, so that one that has diverged makes them
NaN: the mean over the others would look like that of all.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import metric_names

import numpy as np

_WEIGHTINGS = ('uniform', 'examples')
_QUANTILES = {'low_tenth': 0.1, 'median': 0.5, 'high_tenth': 0.9}


def metric_values(
  per_client: Sequence[Mapping[str, Any]], metric: str
) -> tuple[np.ndarray, np.ndarray]:
  """Returns one metric of the scored clients, with the clients' sizes.

  Args:
    per_client: One mapping per client with `num_examples` and the metrics.
    metric: The name of a metric of all scored clients, such as `'accuracy'`.

  Returns:
    Two float64 arrays of shape `[num_scored_clients]`, in the clients' order:
    the metric, and the number of examples that it was computed on.
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
  """Returns the number of non-finite values."""
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
    values: A float array of shape `[num_clients]`.
    sizes: The number of examples of each client, a float array of shape
      `[num_clients]`.
    weighting: The weights, `'uniform'` or `'examples'`.

  Returns:
    The mean; NaN if there is no client or a value is not finite.
  """
  errors.check_member('weighting', weighting, _WEIGHTINGS)
  weights = sizes if weighting == 'examples' else None
  return _over_all(values, lambda x: np.average(x, weights=weights))


def _over_all(
  values: Sequence[float] | np.ndarray,
  statistic: Callable[[np.ndarray], float],
) -> float:
  """Returns a statistic of values; NaN without a value, or of non-finite ones."""
  values = np.asarray(values, np.float64)
  if not values.size or not np.isfinite(values).all():
    return float('nan')
  return float(statistic(values))


def mean_over_clients(
  per_client: Sequence[Mapping[str, Any]],
  metric: str,
  *,
  weighting: str = 'uniform',
) -> float:
  """Returns a metric's `weighted_mean` over the scored clients."""
  values, sizes = metric_values(per_client, metric)
  return weighted_mean(values, sizes, weighting=weighting)


def standard_deviation(values: Sequence[float] | np.ndarray) -> float:
  """Returns the standard deviation over clients (divided by their number).

  Args:
    values: One value per scored client.

  Returns:
    The standard deviation; NaN if there is no client or a value is not finite.
  """
  return _over_all(values, np.std)


def worst_tenth(
  values: Sequence[float] | np.ndarray, *, higher_is_better: bool = True
) -> float:
  """Returns the mean over the tenth of the clients with the worst values.

  Args:
    values: One value per scored client. The tenth is rounded up, so it holds at
      least one client.
    higher_is_better: Whether a higher value is better (accuracy) or a lower one
      (loss).

  Returns:
    The mean of the worst tenth; NaN if there is no client or a value is not
    finite.
  """
  sign = 1 if higher_is_better else -1

  def mean_of_worst(values: np.ndarray) -> float:
    return sign * np.sort(sign * values)[: -(-values.size // 10)].mean()

  return _over_all(values, mean_of_worst)


def jain_index(values: Sequence[float] | np.ndarray) -> float:
  """Returns Jain's fairness index, (sum x)^2 / (n sum x^2).

  It is 1 if all clients have the same value, and 1/n if one client has all
  (Jain, Chiu and Hawe, 1984, DEC-TR-301).

  Args:
    values: One value of 0 or more per scored client.

  Returns:
    The index; 1 if all values are 0, and NaN if there is no client or a value
    is not finite.
  """
  return _over_all(
    values,
    lambda x: x.sum() ** 2 / (len(x) * np.square(x).sum()) if x.any() else 1.0,
  )


def quantiles(column: str, values: np.ndarray) -> dict[str, float]:
  """Returns `<column>_low_tenth`, `_median` and `_high_tenth` of the values."""
  return {
    f'{column}_{suffix}': _over_all(
      values, functools.partial(np.quantile, q=share)
    )
    for suffix, share in _QUANTILES.items()
  }


def spread(
  column: str, values: np.ndarray, *, higher_is_better: bool
) -> dict[str, float]:
  """Returns statistics of the spread of values over clients.

  These are `<column>_client_std`, `<column>_worst_tenth` and
  `<column>_jain_index`.
  """
  return {
    f'{column}_client_std': standard_deviation(values),
    f'{column}_worst_tenth': worst_tenth(
      values, higher_is_better=higher_is_better
    ),
    f'{column}_jain_index': jain_index(values),
  }
