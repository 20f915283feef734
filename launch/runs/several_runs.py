# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the runs of one config one after the other and compares them."""

from collections.abc import Mapping
import dataclasses
import json
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config as config_lib
from launch.methods import fine_tuning
from launch.plots import catalogue
from launch.plots import curves
from launch.results import frames as frames_lib
from launch.results import run_reader
from launch.results import straggler_lines
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from launch.runs import metrics_managers as managers_lib
from launch.runs import ridge_check
from launch.runs import run_options
from launch.runs import training_run

_BYTES = 10**6


def train(
  runs: Mapping[str, config_lib.Config],
  options: run_options.RunOptions,
  *,
  check_ridge: str = '',
) -> None:
  """Trains each run in its own folder, prints a table and draws plots.

  Runs of one task and seed share the task's clients. A fine-tuning starts from
  an earlier run if that is equal to its own start.

  Args:
    runs: The configs by name.
    options: The options; the workdir holds the runs' folders and plots/.
    check_ridge: The name of the run to compare with scikit-learn; '' for none.

  Raises:
    errors.InputError: If something cannot be used, read or written.
    ridge_check.RidgeMismatchError: If Fed3R's classifier differs from
      scikit-learn's.
    KeyboardInterrupt: On Ctrl-C; the same command resumes from there.
  """
  managers_lib.load(options.metrics_managers)
  options.set_context()
  workdir = simulation.make_folder(pathlib.Path(options.workdir))
  simulation.check_entries(workdir)
  if simulation.Workdir(workdir).config_path.exists():
    raise errors.InputError(
      f'{workdir} is the workdir of a single run; choose another --workdir.'
    )
  runs = _in_order(runs)
  tasks = {}
  # Bad input is refused before anything is trained.
  for run in runs.values():
    key = _task_key(run)
    if key not in tasks:
      tasks[key] = experiment_lib.create_task(run, data_dir=options.data_dir)
    training_run.check_task(run, tasks[key])
  if check_ridge:
    checked = runs[check_ridge]
    ridge_check.check_config(checked, tasks[_task_key(checked)])
  starts, summaries = {}, {}
  for name, run in runs.items():
    print(f'{name}:')
    summaries[name] = training_run.train_task(
      run,
      tasks[_task_key(run)],
      dataclasses.replace(options, workdir=workdir / name),
      starts=starts,
      plots=False,
    )
    starts[training_run.config_key(run)] = workdir / name
  frames = frames_lib.join(
    run_reader.read_run(workdir / name) for name in summaries
  )
  # The runs' names are their labels.
  frames = frames.of(frames.runs.assign(label=frames.runs['run']))
  metric = catalogue.choose_metric(frames, None)
  figures = curves.draw(frames, metric)
  for path in catalogue.write_figures(figures, workdir / 'plots'):
    print(path)
  print(format_summaries(summaries))
  if straggler_lines.SECONDS in frames.rounds:
    print(straggler_lines.format_runs(frames.groups(), metric))
  if check_ridge:
    difference = ridge_check.check_run(
      checked, tasks[_task_key(checked)], workdir / check_ridge
    )
    print(
      f"{check_ridge} is scikit-learn's Ridge on all training examples in one "
      f'place: the largest difference is {difference:.1e} of the largest '
      f'weight ({ridge_check.TOLERANCE:.0e} is allowed).'
    )


def _in_order(
  runs: Mapping[str, config_lib.Config],
) -> dict[str, config_lib.Config]:
  """Returns the runs with fine-tunings last, after their possible starts."""
  return dict(
    sorted(runs.items(), key=lambda item: fine_tuning.has_start(item[1]))
  )


def _task_key(run: config_lib.Config) -> str:
  """Returns a key that is equal for runs of one task and seed."""
  return json.dumps([run.values['task'], run.seed], sort_keys=True)


def format_summaries(summaries: Mapping[str, Mapping[str, Any]]) -> str:
  """Returns a table of the costs and scores of runs.

  Args:
    summaries: The content of each run's summary.json, by the run's name.
  """
  rows = [('run', 'rounds', 'MB sent', 'validation', 'test')]
  for name, summary in summaries.items():
    best = summary['best_validation']
    metric = best['metric'].removeprefix('eval/') if best else None
    rows.append(
      (
        name,
        str(summary['rounds']),
        f'{summary["totals"]["wire_bytes"] / _BYTES:.2f}',
        _format(summary['final'].get(f'eval/{metric}')),
        _format(summary['test'].get(metric)),
      )
    )
  return text_table.align(rows)


def _format(value: float | None) -> str:
  return 'not finite' if value is None else f'{value:.4f}'
