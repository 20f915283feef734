# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workdirs as finished runs of a sweep leave them."""

import csv
import itertools
import json
import pathlib

from fedfish_tff import simulation
from launch.configs import digits
from launch.configs import sweeps
from launch.results import sweep_results
from launch.sweeps import folder as folder_lib
from launch.sweeps import plan as plan_lib
from tests.launch.results import fake_runs

SOURCE = 'digits.py:test'
UNFINISHED = 'unfinished'


def plan(runs, given=None, *, get_config=digits.get_config):
  """Returns the planned runs of a sweep of the digits, or of other configs."""
  return plan_lib.plan_runs(SOURCE, get_config, runs, given=given)


def grid(variants, **fields):
  """Returns the planned runs of a grid of the digits."""
  return plan(sweeps.grid(variants, fields))


def write_sweep(path, runs):
  """Writes sweep.json and returns the folder."""
  with folder_lib.open_folder(path, SOURCE, runs) as folder:
    return folder


def write_results(case, runs, values, each=(), **options):
  """Returns the folder of a sweep and its runs as they are read.

  Args:
    case: The test case, which makes the folder.
    runs: The planned runs.
    values: The values on validation clients, None if a run has diverged; runs
      without one are not finished.
    each: Further options of `write_result` for each run.
    **options: The options for all runs.
  """
  path = pathlib.Path(case.create_tempdir().full_path) / 'sweep'
  folder = write_sweep(path, runs)
  for run, value, own in itertools.zip_longest(
    runs, values, each, fillvalue=UNFINISHED
  ):
    if value != UNFINISHED:
      own = {} if own == UNFINISHED else own
      write_result(folder, run, value, **options, **own)
  return folder, sweep_results.read_results(folder)


def write_result(
  folder,
  run,
  validation,
  *,
  test=0.5,
  metric='accuracy',
  higher_is_better=True,
  loss=1.0,
  evaluated=False,
  more_test=None,
  more_final=None,
  totals=None,
  judged_by='global',
  stopped_at=None,
  diverged=None,
):
  """Writes what is in the workdir of a finished run; None has diverged.

  A run that has diverged in a round ended with the round after it.
  """
  workdir = folder.workdir(run.name)
  workdir.mkdir(parents=True, exist_ok=True)
  (workdir / 'config.json').write_text(json.dumps(run.config.values))
  best = {
    'metric': f'eval/{judged_by}/{metric}',
    'value': validation,
    'round': 1,
  }
  rounds = stopped_at or run.config.values['rounds']
  status = {'status': 'stopped early' if stopped_at else 'finished'}
  if diverged:
    rounds = diverged + 1
    status = {
      'status': 'diverged',
      'diverged': {'round': diverged, 'reason': 'nothing was finite'},
    }
  summary = {
    'rounds': rounds,
    'model_round': rounds,
    **status,
    'label': fake_runs.make_label(
      run.config.values,
      metric=metric,
      judged_by=judged_by,
      higher=higher_is_better,
    ),
    'final': {
      f'eval/global/{metric}': 0.5,
      f'eval/{judged_by}/{metric}': validation,
      'eval/global/loss': loss,
      'eval/global/num_examples': 10,
      **(more_final or {}),
      f'csb/{metric}': 0.25,
    },
    'test': {
      f'global/{metric}': test,
      'global/num_examples': 12,
      **(more_test or {}),
    },
    'best_validation': best,
    'totals': {'local_steps': 7, **(totals or {})},
  }
  simulation.Workdir(workdir).write_summary(summary)
  if evaluated:
    write_evaluation(folder, run)


def write_evaluation(folder, run):
  """Writes what launch.evaluate leaves in a workdir."""
  path = folder.workdir(run.name) / 'evaluation' / 'summary.csv'
  path.parent.mkdir()
  with open(path, 'w') as file:
    csv.writer(file).writerows(
      [['evaluation', 'round'], ['global', run.config.values['rounds']]]
    )
