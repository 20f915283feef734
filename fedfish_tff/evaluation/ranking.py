# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Comparison of a metric's values, in which rounding decides nothing.

All code that calls one value better than another uses it. Plain Python and
NumPy, without TensorFlow.
"""

from collections.abc import Hashable
from collections.abc import Mapping
import math
from typing import Any
from typing import NamedTuple
from typing import TypeVar

import numpy as np
from numpy import typing as npt

_Key = TypeVar('_Key', bound=Hashable)

# The share of a metric's scale below which a difference is rounding.
_ROUNDING = 1e-6
# The quantile of the sizes that is a metric's scale; outliers do not count.
_SCALE_QUANTILE = 0.9


class Selection(NamedTuple):
  """A choice among candidates.

  Attributes:
    best: The key of the best candidate; the first of those that tie.
    values: The metric of all candidates, by key.
  """

  best: Any
  values: Mapping[Any, float]


def gains(
  values: npt.ArrayLike,
  others: npt.ArrayLike,
  *,
  higher_is_better: bool,
  scale: float = 0.0,
) -> np.ndarray:
  """Returns the gains of values over others; exactly 0 for a tie.

  Two values tie if they differ by less than 1e-6 of the metric's scale. The
  scale is the size that nine of ten pairs do not exceed, or the pair's own size
  if that is larger.

  Args:
    values: The values of a metric, of any shape.
    others: The values that they are compared with, one by one.
    higher_is_better: Whether a higher value is better.
    scale: The least scale. Give the metric's scale if `values` and `others` are
      differences of it, such as barriers, which may all be close to 0.

  Returns:
    The gains; infinite or NaN for a non-finite value.
  """
  values, others = np.asarray(values, float), np.asarray(others, float)
  with np.errstate(invalid='ignore'):  # inf - inf
    found = values - others if higher_is_better else others - values
  sizes = np.maximum(np.abs(values), np.abs(others))
  present = np.isfinite(found)
  if present.any():
    scale = max(scale, np.quantile(sizes[present], _SCALE_QUANTILE))
  ties = np.abs(found) < _ROUNDING * np.maximum(sizes, scale)
  return np.where(present & ties, 0.0, found)


def select_best(
  values: Mapping[_Key, float], *, higher_is_better: bool
) -> Selection | None:
  """Chooses the best candidate by a metric.

  Args:
    values: The metric of each candidate, by key; NaN is never chosen.
    higher_is_better: Whether a higher value is better.

  Returns:
    The best candidate and all values; None if all are NaN.
  """
  usable = [key for key, value in values.items() if not math.isnan(value)]
  if not usable:
    return None
  best = usable[0]
  for key in usable[1:]:
    if is_better(values[key], values[best], higher_is_better=higher_is_better):
      best = key
  return Selection(best, values)


def is_better(value: float, other: float, *, higher_is_better: bool) -> bool:
  """Returns whether a value is better than another by more than rounding."""
  return bool(gains(value, other, higher_is_better=higher_is_better) > 0)
