# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recall of models that suggest words, with its error over users."""

from collections.abc import Mapping
from collections.abc import Sequence
import math
from typing import NamedTuple

from launch.results import text_table

import numpy as np


class Recall(NamedTuple):
  """A share of all users' words.

  Attributes:
    value: The share.
    error: Its standard error over users; NaN of a single one.
  """

  value: float
  error: float


def pool(recalled: np.ndarray, typed: np.ndarray) -> Recall:
  """Returns the recall of all words, users being what was drawn at random.

  The error is that of a ratio of two means (Cochran, Sampling Techniques, 1977,
  chapter 6), since users type more or less.

  Args:
    recalled: How many of a user's words were among those suggested, [users].
    typed: How many words a user has typed, [users].
  """
  value = recalled.sum() / typed.sum()
  users = len(typed)
  if users < 2:
    return Recall(value, math.nan)
  square = ((recalled - value * typed) ** 2).sum() * users / (users - 1)
  return Recall(value, math.sqrt(square) / typed.sum())


def format_table(
  recalled: Mapping[str, Mapping[int, np.ndarray]], typed: np.ndarray
) -> str:
  """Returns a table in %, as that of Hard et al. (2018), and what it is over.

  Args:
    recalled: By model and number of suggestions, each user's recalled words.
    typed: Each user's words; at least one in all.
  """
  counts = list(next(iter(recalled.values())))
  rows: list[Sequence[str]] = [
    ('Model', *(f'Top-{k} recall [%]' for k in counts))
  ]
  for model, by_count in recalled.items():
    cells = (pool(by_count[k], typed) for k in counts)
    rows.append((model, *map(_format, cells)))
  return (
    f'{text_table.align(rows)}\n'
    f'Of {typed.sum():,} words of {len(typed):,} held-out users; ± is the '
    'standard error over users.'
  )


def _format(recall: Recall) -> str:
  value, error = (100 * number for number in recall)
  return f'{value:.2f}' + ('' if math.isnan(error) else f' ± {error:.2f}')
