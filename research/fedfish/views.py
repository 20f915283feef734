# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings that differ in local epochs, at fixed rounds or at fixed compute."""

from launch.results import frames as frames_lib
from launch.results import settings as settings_lib


def fixed_rounds(settings: frames_lib.Frames) -> frames_lib.Frames:
  """Returns each task's settings with equal rounds and several local epochs.

  Returns:
    The settings with the number of rounds that most numbers of local epochs
    share, the larger number on a tie; none of a task where no two share one.
  """
  return _select(settings, 'rounds', tolerance=False)


def fixed_compute(settings: frames_lib.Frames) -> frames_lib.Frames:
  """Returns each task's settings with equal totals of local epochs.

  Totals count as equal if they differ by less than the epochs of one round,
  since rounds are whole. Of several totals, the choice is that of
  `fixed_rounds`.
  """
  return _select(settings, 'total_epochs', tolerance=True)


def _select(
  settings: frames_lib.Frames, column: str, *, tolerance: bool
) -> frames_lib.Frames:
  """Returns the largest set of each task's settings that agree in a column."""
  kept = []
  for _, of_task in settings_lib.describe(settings).groupby('task'):
    allowed = of_task['local_epochs'] if tolerance else 1
    sets = []
    for number in of_task[column].unique():
      found = of_task[(of_task[column] - number).abs() < allowed]
      sets.append((found['local_epochs'].nunique(), len(found), number, found))
    epochs, *_, best = max(sets, key=lambda of: of[:3])
    if epochs > 1:
      kept += list(best.index)
  return settings.of(settings.runs[settings.runs['label'].isin(kept)])
