# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of many methods over many blocks, by ranks (Demsar, JMLR 7, 2006).

A block is a data set in the paper, and a seed of a task here. Within a block,
methods are ranked, the best first, and ties get the mean of their ranks.
"""

import dataclasses
import math

from fedfish_tff import errors
from fedfish_tff import evaluation

import numpy as np
import pandas as pd
from scipy import stats


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankTest:
  """Mean ranks of methods, and what tells them apart.

  Attributes:
    ranks: The mean rank of each method, the best first.
    num_blocks: The number of blocks.
    chi_squared: Friedman's statistic, without a correction for ties.
    f: The statistic of Iman and Davenport, which is less conservative.
    p: The p-value of `f`, for the hypothesis that methods do not differ.
    critical_difference: Nemenyi's difference of mean ranks at the level of
      `evaluation.ALPHA`, which holds for all pairs at once.
  """

  ranks: pd.Series
  num_blocks: int
  chi_squared: float
  f: float
  p: float
  critical_difference: float


def rank(scores: pd.DataFrame, *, higher_is_better: bool = True) -> RankTest:
  """Ranks methods within blocks and tests the mean ranks.

  Args:
    scores: The scores, a row for each block and a column for each method, two
      or more of both. NaN is a diverged run, which is worse than any other.
    higher_is_better: Whether a higher score is better.
  """
  num_blocks, k = scores.shape
  if num_blocks < 2 or k < 2:
    raise errors.InputError(
      'Ranks must be of two blocks and two methods or more, got '
      f'{num_blocks} and {k}.'
    )
  of_blocks = scores.rank(
    axis=1, ascending=not higher_is_better, na_option='bottom'
  )
  means = of_blocks.mean().sort_values(kind='stable')
  scale = k * (k + 1) / (6 * num_blocks)
  squares = float((means**2).sum())
  chi_squared = 2 / scale * (squares - k * (k + 1) ** 2 / 4)
  # The limit of equal orders in all blocks is infinite.
  rest = num_blocks * (k - 1) - chi_squared
  f = (num_blocks - 1) * chi_squared / rest if rest > 1e-9 else math.inf
  freedom = k - 1, (k - 1) * (num_blocks - 1)
  # The studentised range of equally many methods with infinite freedom.
  q = stats.studentized_range.ppf(1 - evaluation.ALPHA, k, np.inf) / 2**0.5
  return RankTest(
    ranks=means,
    num_blocks=num_blocks,
    chi_squared=chi_squared,
    f=f,
    p=float(stats.f.sf(f, *freedom)),
    critical_difference=float(q * scale**0.5),
  )


def compare_with(test: RankTest, control: str) -> pd.DataFrame:
  """Compares the mean rank of each method with that of a control.

  Args:
    test: The result of `rank`.
    control: The name of one of the methods, such as FedAvg.

  Returns:
    For each other method, in the order of `test.ranks`: `z`, positive for a
    better rank than the control's, `p`, two-sided and normal, and `p_holm`,
    corrected by Holm's method for the number of methods.
  """
  errors.check_member('control', control, test.ranks.index)
  k = len(test.ranks)
  error = math.sqrt(k * (k + 1) / (6 * test.num_blocks))
  others = test.ranks.drop(control)
  z = (test.ranks[control] - others) / error
  p = 2 * stats.norm.sf(z.abs())
  return pd.DataFrame(
    {'z': z, 'p': p, 'p_holm': evaluation.adjust_holm(p)}, others.index
  )


def tell_friedman(test: RankTest) -> str:
  """Returns the words for Friedman's test: 'Friedman: F = 3.7, p = 0.02'."""
  if math.isinf(test.f):
    return 'Friedman: all blocks have the same order'
  return f'Friedman: F = {test.f:.3g}, p = {evaluation.format_p(test.p)}'


def find_cliques(test: RankTest) -> list[tuple[str, str]]:
  """Returns the first and last method of each group that cannot be told apart.

  The mean ranks of a group lie within the critical difference. Groups within
  another group, and those of one method, are left out.

  Args:
    test: The result of `rank`.
  """
  names, means = list(test.ranks.index), test.ranks.to_numpy()
  found, reached = [], 0
  for first, mean in enumerate(means):
    last = int((means <= mean + test.critical_difference).sum()) - 1
    if last > max(first, reached):
      found.append((names[first], names[last]))
      reached = last
  return found
