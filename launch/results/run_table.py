# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep's runs, with a row per run.

This is plain Python, without TensorFlow.
"""

from collections.abc import Mapping
import math

from launch.results import text_table

import numpy as np
import pandas as pd


def to_csv(
  runs: pd.DataFrame,
  *,
  failures: Mapping[str, str],
  usage: Mapping[str, Mapping[str, float]],
) -> bytes:
  """Returns a CSV with a row per run: its fields, status and numbers.

  Args:
    runs: The runs of a sweep.
    failures: The reasons why runs have failed, by name.
    usage: The `seconds` and `peak_bytes` of runs, by name.
  """
  told = describe(runs, failures)
  costs = pd.DataFrame(
    [usage.get(name, {}) for name in runs['run']],
    columns=['seconds', 'peak_bytes'],
  )
  numbers = runs[[name for name in runs if '/' in name]]
  # A number that is not there is empty, one that has diverged is NaN.
  diverged = numbers == np.inf
  numbers = _with_empty_cells(numbers).mask(diverged, math.nan)
  parts = (told, _with_empty_cells(costs), numbers)
  table = pd.concat([of.reset_index(drop=True) for of in parts], axis=1)
  return text_table.frame_to_csv(table, keep_nan=True)


def describe(runs: pd.DataFrame, failures: Mapping[str, str]) -> pd.DataFrame:
  """Returns the names, varied fields and status of a sweep's runs.

  `failures` has the reasons why runs have failed, by name.
  """
  status = np.where(runs['is_finished'].astype(bool), 'done', 'unfinished')
  diverged = 'diverged in round ' + runs['diverged_round'].astype(str)
  status = np.where(runs['diverged_round'].notna(), diverged, status)
  varied = pd.DataFrame(list(runs['varied']), runs.index, dtype=object)
  return pd.concat(
    [runs[['run', 'variant']], _with_empty_cells(varied)], axis=1
  ).assign(
    status=np.where(runs['run'].isin(failures), 'failed', status),
    reason=runs['run'].map(lambda run: failures.get(run, '')),
  )


def _with_empty_cells(frame: pd.DataFrame) -> pd.DataFrame:
  """Returns a frame with an empty text in place of what is missing."""
  return frame.astype(object).where(frame.notna(), '')
