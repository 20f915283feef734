# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares two methods by paired differences: intervals and sign flips.

Two runs with one seed see the same initial weights, clients and batches, so
their difference is much less noisy than either of them. So the comparison takes
the difference of the two methods within each seed, or within each client of
each seed, never two separate averages.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.evaluation import ranking

import numpy as np
from scipy import stats

# The bound on the memory of the nested bootstrap: about 64 MB of counts.
_MAX_COUNTS = 8_000_000
# All flips of the signs of more pairs would take too long.
_MOST_FLIPPED = 13
_NUM_RESAMPLES = 9_999
_CONFIDENCE = 0.95
# The level of tests: a method stands out if its p-values, corrected for their
# number, are lower.
ALPHA = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairedComparison:
  """The mean paired difference (method A minus method B) and its interval.

  Attributes:
    mean: The mean of the differences, in the unit of the metric; NaN if no pair
      has two finite values.
    low: The lower end of the confidence interval; NaN if there is none.
    high: The upper end of the confidence interval; NaN if there is none.
    n: The number of compared pairs.
    wins: The number of pairs in which A is better.
    ties: The number of pairs in which A and B differ by rounding at most, as in
      `ranking.gains`; such a difference counts as 0.
    note: A remark on the interval, often empty.
    p: The p-value of `flip_signs` for the given comparison alone, which
      `adjust_holm` corrects; NaN for fewer than six pairs and for clients
      nested in seeds.
  """

  mean: float
  low: float
  high: float
  n: int
  wins: int
  ties: int
  note: str = ''
  p: float = math.nan

  def __str__(self) -> str:
    if not self.n:
      return self.note
    text = f'{self.mean:+.4g}'
    if not np.isnan(self.low):
      text += f' [{self.low:+.4g}, {self.high:+.4g}]'
    text += f', better in {self.wins} of {self.n}'
    if self.ties:
      text += f' ({self.ties} {"tie" if self.ties == 1 else "ties"})'
    return f'{text}; {self.note}' if self.note else text


def flip_signs(differences: Sequence[float]) -> float:
  """Returns the two-sided p-value of a mean over flips of signs.

  If two methods do not differ, each paired difference may as well have the
  other sign.

  Args:
    differences: The finite paired differences, such as those of seeds, at least
      one. Up to 13 have all flips, more of them 9,999 random ones of fixed
      random numbers.
  """
  values = np.array([float(difference) for difference in differences])
  if not values.size or not np.isfinite(values).all():
    raise errors.InputError(
      'differences must be one finite number or more, got '
      f'{values.tolist() or "none"}.'
    )
  if len(values) == 1 or _is_zero(values.mean(), values):
    # All flips are as large. SciPy refuses one, and counts those as smaller that
    # differ from a mean of 0 by rounding.
    return 1.0
  many = len(values) > _MOST_FLIPPED
  return float(
    stats.permutation_test(
      (values,),
      np.mean,
      permutation_type='samples',
      n_resamples=_NUM_RESAMPLES if many else np.inf,
      random_state=np.random.default_rng(0),
    ).pvalue
  )


def _is_zero(statistic: float, values: np.ndarray) -> bool:
  """Returns whether a mean or range of values is 0 but for rounding."""
  return abs(statistic) <= 1e-12 * np.abs(values).max()


def fewest_pairs(num_comparisons: int) -> int:
  """Returns the fewest pairs with which all of some tests can be significant.

  Of n pairs, the smallest two-sided p-value of `flip_signs` is 2 / 2^n, and
  `adjust_holm` multiplies the smallest p-value by the number of tests.

  Args:
    num_comparisons: The number of tests, such as that of the other methods.
  """
  return math.ceil(math.log2(2 * max(1, num_comparisons) / ALPHA))


def adjust_holm(p: Sequence[float]) -> np.ndarray:
  """Returns p-values adjusted for their number (Holm, 1979).

  Args:
    p: The p-values, NaN for comparisons without one, which do not count.
  """
  p = np.asarray(p, float)
  order = np.argsort(p)[: np.isfinite(p).sum()]
  adjusted = np.full(len(p), math.nan)
  scaled = np.arange(len(order), 0, -1) * p[order]
  adjusted[order] = np.maximum.accumulate(scaled).clip(max=1)
  return adjusted


def format_p(p: float) -> str:
  """Returns a p-value with two digits, or with more if it is near the level.

  They tell on which side of `ALPHA` it lies: 0.0497 is not '0.05'.

  Args:
    p: The p-value; NaN is 'nan'.
  """
  texts = (f'{p:.{digits}g}' for digits in range(2, 18))
  return next(text for text in texts if (float(text) < ALPHA) == (p < ALPHA))


def _pair(
  a: Mapping[Hashable, float],
  b: Mapping[Hashable, float],
  what: str,
  **options: Any,
) -> tuple[np.ndarray, int]:
  """Returns the finite gains of A, and the number of pairs without one.

  A diverged method has no finite value. One such pair would make the mean
  infinite and hide all others.
  """
  unpaired = sorted(map(str, set(a) ^ set(b)))
  if unpaired:
    shown = ', '.join(unpaired[:5]) + (', ...' if len(unpaired) > 5 else '')
    raise errors.InputError(
      f'The two methods must be measured on the same {what}; found in one '
      f'of them only: {shown}.'
    )
  gains = ranking.gains(list(a.values()), [b[key] for key in a], **options)
  present = np.isfinite(gains)
  return gains[present], int(len(gains) - present.sum())


def _compare(
  groups: list[np.ndarray],
  num_missing: int,
  higher_is_better: bool,
  bootstrap: Callable[[list[np.ndarray]], tuple[float, float]],
  unit: str,
) -> PairedComparison:
  """Returns the comparison of gains in groups, each of which counts alike.

  Args:
    groups: The finite gains of A; no group is empty.
    num_missing: The number of pairs without a finite gain.
    higher_is_better: Whether a gain is a positive difference.
    bootstrap: The function from the groups' differences to the ends of the
      interval.
    unit: The units that are drawn, `'pair'`, or `'seed'` for those of nested
      groups.
  """
  groups = [gains for gains in groups if len(gains)]
  gains = np.concatenate([[], *groups])
  if not len(gains) and not num_missing:
    raise errors.InputError('There is no pair of values to compare.')
  mean = low = high = math.nan
  note = ''
  if groups:
    # A negated 0 would be printed with its sign.
    groups = [gains if higher_is_better else 0.0 - gains for gains in groups]
    differences = np.concatenate(groups)
    mean = float(np.mean([group.mean() for group in groups]))
    mean = 0.0 if _is_zero(mean, differences) else mean
    count = len(gains) if unit == 'pair' else len(groups)
    if count < fewest_pairs(1):
      note = f'{count} {unit}{"s" * (count > 1)}: no interval'
    elif _is_zero(np.ptp(differences), differences):
      low = high = mean
      note = 'all differences are equal'
    else:
      low, high = bootstrap(groups)
  missing = f'left out for want of a finite value: {num_missing}'
  return PairedComparison(
    mean=mean,
    low=low,
    high=high,
    n=len(gains),
    wins=int((gains > 0).sum()),
    ties=int((gains == 0).sum()),
    note='; '.join(filter(None, [missing if num_missing else '', note])),
  )


def compare_paired(
  a: Mapping[Hashable, float],
  b: Mapping[Hashable, float],
  *,
  higher_is_better: bool,
  scale: float = 0.0,
  with_p: bool = True,
) -> PairedComparison:
  """Compares two methods over exchangeable pairs, for example seeds.

  The 95 % interval is SciPy's percentile bootstrap, of fixed random numbers, so
  that equal values give equal intervals. From a handful of pairs, any
  bootstrap interval is too narrow: from three seeds, it would be the observed
  spread. With fewer than six pairs, even wins in all of them have a two-sided
  probability above 5 % if the methods do not differ.

  Args:
    a: The metric of method A for each key (a seed, or a client). A non-finite
      value is missing: its pair is left out and counted in the note.
    b: The metric of method B for the same keys, at least one.
    higher_is_better: Whether A wins a pair by the higher or the lower value.
    scale: The least scale of the metric, as in `ranking.gains`.
    with_p: Whether to compute the p-value, which takes seconds for hundreds of
      pairs, such as clients.

  Returns:
    The comparison. Fewer than six pairs give no interval and no p-value, and
    equal differences an interval of width zero; the note says so. Without a
    finite pair, mean and interval are NaN.
  """
  gains, num_missing = _pair(
    a, b, 'seeds or clients', higher_is_better=higher_is_better, scale=scale
  )
  result = _compare(
    [gains], num_missing, higher_is_better, _bootstrap_mean, 'pair'
  )
  if math.isnan(result.low) or not with_p:
    return result
  # Two-sided, so that the direction does not matter.
  return dataclasses.replace(result, p=flip_signs(gains))


def _bootstrap_mean(groups: list[np.ndarray]) -> tuple[float, float]:
  """Returns the percentile interval of the mean of one group."""
  (differences,) = groups
  interval = stats.bootstrap(
    (differences,),
    np.mean,
    vectorized=True,
    confidence_level=_CONFIDENCE,
    n_resamples=_NUM_RESAMPLES,
    batch=max(1, _MAX_COUNTS // len(differences)),
    # Not BCa: its correction is biased by resampled means that equal the mean,
    # which are common among few seeds or clients with equal accuracies. From
    # two values it gives an interval that ends at their mean.
    method='percentile',
    random_state=np.random.default_rng(0),
  ).confidence_interval
  return float(interval.low), float(interval.high)


def compare_nested(
  a: Mapping[Hashable, Mapping[Hashable, float]],
  b: Mapping[Hashable, Mapping[Hashable, float]],
  *,
  higher_is_better: bool,
  scale: float = 0.0,
) -> PairedComparison:
  """Compares two methods over clients nested in seeds.

  The mean is that of the seeds' means, so every seed counts alike. The
  percentile bootstrap draws seeds with replacement and then clients within each
  drawn seed. So the interval includes both sources of variation, and thousands
  of clients cannot replace a few seeds.

  Args:
    a: The metric of method A for each client, by seed. A non-finite value is
      missing: its pair is left out and counted in the note.
    b: The same of method B, for the same seeds and clients.
    higher_is_better: Whether A wins a pair by the higher or the lower value.
    scale: The least scale of the metric, as in `ranking.gains`.

  Returns:
    The comparison; `n`, `wins` and `ties` count clients over all seeds. Fewer
    than six seeds give no interval. Without a finite pair, mean and interval
    are NaN.
  """
  if set(a) != set(b):
    _pair(dict.fromkeys(a, 0.0), dict.fromkeys(b, 0.0), 'seeds')
  groups, num_missing = [], 0
  for key in a:
    gains, missing = _pair(
      a[key],
      b[key],
      f'clients of seed {key}',
      higher_is_better=higher_is_better,
      scale=scale,
    )
    num_missing += missing
    groups.append(gains)
  return _compare(
    groups, num_missing, higher_is_better, _bootstrap_nested, 'seed'
  )


def _bootstrap_nested(groups: list[np.ndarray]) -> tuple[float, float]:
  """Returns the percentile interval of nested groups."""
  rng = np.random.default_rng(0)
  drawn = rng.integers(len(groups), size=(_NUM_RESAMPLES, len(groups)))
  means = np.empty(drawn.shape)
  for index, group in enumerate(groups):
    slots = np.argwhere(drawn == index)
    step = max(1, _MAX_COUNTS // len(group))
    for start in range(0, len(slots), step):
      rows, columns = slots[start : start + step].T
      # Draws the number of times that each client of the group occurs.
      counts = rng.multinomial(
        len(group), np.full(len(group), 1 / len(group)), size=len(rows)
      )
      means[rows, columns] = counts @ group / len(group)
  tail = (1 - _CONFIDENCE) / 2
  low, high = np.quantile(means.mean(axis=1), [tail, 1 - tail])
  return float(low), float(high)
