# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the runs of one config one after the other, and compares them."""

from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
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
from launch.runs import training_run

_BYTES = 10**6


def train(
  config: Mapping[str, Any],
  *,
  workdir: str | os.PathLike[str],
  context: str = contexts.DEFAULT_CONTEXT_NAME,
  context_options: Mapping[str, Any] | None = None,
  data_dir: str | None = None,
  overwrite: bool = False,
  progress_bar: bool | None = None,
  metrics_managers: Sequence[str] = (),
) -> None:
  """Trains each run in a folder of the workdir, prints a table, draws plots.

  Runs of one task and seed share its clients, and a fine-tuning starts from
  another run that did what its start would.

  Args:
    config: `runs`, configs by name, and `check_ridge`, the name of the run that
      is compared with scikit-learn, or ''; see `config_checks.check_runs`.
    workdir: The folder of the runs' folders and of plots/.
    context: Name of the execution context.
    context_options: Of the context, see `contexts.set_default_context`.
    data_dir: Where tasks that read files find them.
    overwrite: Whether to remove earlier runs first.
    progress_bar: Whether to show a bar; None to do so on a terminal only.
    metrics_managers: Names of managers that get each row, too, see
      `metrics_managers.load`.

  Raises:
    errors.InputError: If something cannot be used, read or written.
    ridge_check.RidgeMismatchError: If Fed3R's classifier is not the one that
      scikit-learn finds.
    KeyboardInterrupt: On Ctrl-C; the same command goes on from there.
  """
  managers = managers_lib.load(metrics_managers)
  contexts.set_default_context(context, **(context_options or {}))
  workdir = simulation.make_folder(pathlib.Path(workdir))
  simulation.check_entries(workdir)
  if simulation.Workdir(workdir).config_path.exists():
    raise errors.InputError(
      f'{workdir} is the workdir of a single run; choose another --workdir.'
    )
  runs = _in_order(config['runs'])
  tasks = {}
  # What cannot be used is told before anything is trained.
  for run in runs.values():
    key = _task_key(run)
    if key not in tasks:
      tasks[key] = experiment_lib.create_task(run, data_dir=data_dir)
    training_run.check_task(run, tasks[key])
  checked = config['check_ridge']
  if checked:
    ridge_check.check_config(runs[checked], tasks[_task_key(runs[checked])])
  starts, summaries = {}, {}
  for name, run in runs.items():
    print(f'{name}:')
    summaries[name] = training_run.train_task(
      run,
      tasks[_task_key(run)],
      workdir=workdir / name,
      data_dir=data_dir,
      overwrite=overwrite,
      progress_bar=progress_bar,
      starts=starts,
      plots=False,
      managers=managers,
    )
    starts[training_run.config_key(run)] = workdir / name
  frames = frames_lib.join(
    run_reader.read_run(workdir / name) for name in summaries
  )
  # Runs are told apart by their names.
  frames = frames.of(frames.runs.assign(label=frames.runs['run']))
  metric = catalogue.choose_metric(frames, None)
  figures = curves.draw(frames, metric)
  for path in catalogue.write_figures(figures, workdir / 'plots'):
    print(path)
  print(format_summaries(summaries))
  if straggler_lines.SECONDS in frames.rounds:
    print(straggler_lines.format_runs(frames.groups(), metric))
  if checked:
    difference = ridge_check.check_run(
      runs[checked], tasks[_task_key(runs[checked])], workdir / checked
    )
    print(
      f"{checked} is scikit-learn's Ridge on all training examples in one "
      f'place: the largest difference is {difference:.1e} of the largest '
      f'weight ({ridge_check.TOLERANCE:.0e} is allowed).'
    )


def _in_order(runs: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the runs, fine-tunings after what they may start from."""
  return dict(
    sorted(runs.items(), key=lambda item: fine_tuning.has_start(item[1]))
  )


def _task_key(run: Mapping[str, Any]) -> str:
  """Returns a text that is the same for runs of one task."""
  return training_run.config_key({k: run[k] for k in ('task', 'seed')})


def format_summaries(summaries: Mapping[str, Mapping[str, Any]]) -> str:
  """Returns what runs cost and reached, as a table.

  Args:
    summaries: What is in the summary.json of each run, by its name.
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
