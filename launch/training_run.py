# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run of an experiment in its workdir, from start or resumed to the end."""

from collections.abc import Mapping
from collections.abc import Sequence
import importlib.metadata
import math
import os
import platform
from typing import Any

import fedfish_tff
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from launch import experiment as experiment_lib
from launch.plotting import run_plots

import tensorflow_federated as tff

_PACKAGES = ('tensorflow-federated', 'tensorflow', 'numpy')


def train(
  config: Mapping[str, Any],
  *,
  workdir: str | os.PathLike[str],
  context: str = contexts.DEFAULT_CONTEXT_NAME,
  context_options: Mapping[str, Any] | None = None,
  data_dir: str | None = None,
  overwrite: bool = False,
  progress_bar: bool | None = None,
) -> Mapping[str, Any]:
  """Trains, evaluates, plots; resumes an interrupted run of the same config.

  Args:
    config: Nested mappings, see `launch/configs`.
    workdir: The folder for all output.
    context: Name of the execution context.
    context_options: Of the context, see `contexts.set_default_context`.
    data_dir: Where tasks that read files find them.
    overwrite: Whether to remove an earlier run in the workdir first.
    progress_bar: Whether to show a bar; None to do so on a terminal only.

  Returns:
    What is in summary.json.

  Raises:
    errors.InputError: If something cannot be used, read or written.
    KeyboardInterrupt: On Ctrl-C; its message says how to resume.
  """
  contexts.set_default_context(context, **(context_options or {}))
  experiment = experiment_lib.build_experiment(config, data_dir=data_dir)
  process = experiment.process
  held_out = experiment.build_held_out_evaluation(experiment.task.validation)

  def evaluate(state: Any, unused_round_number: int) -> Mapping[str, float]:
    columns = held_out(process.get_model_weights(state))
    return {f'eval/{name}': value for name, value in columns.items()}

  with simulation.open_workdir(
    workdir,
    config,
    data_fingerprint=experiment.fingerprint_data(),
    overwrite=overwrite,
  ) as folder:
    # The model half-way is evaluated, too: launch.evaluate --at=half.
    checkpoints = simulation.CheckpointManager(
      folder.checkpoints_path, keep_versions=[experiment.half_round]
    )
    checkpoints.remove_leftovers()
    progress = simulation.ProgressReporter(
      config['rounds'],
      report_every=config['evaluate_every'],
      show_bar=progress_bar,
    )
    try:
      result = simulation.run_training(
        process,
        train_data=experiment.task.train,
        participation=experiment.participation,
        batch_spec=experiment.batch_spec,
        seed=config['seed'],
        rounds=config['rounds'],
        evaluation_fn=evaluate,
        evaluate_every=config['evaluate_every'],
        barrier_fn=experiment.build_barrier(),
        checkpoint_every=config['checkpoint_every'],
        checkpoint_at=[experiment.half_round],
        program_state_manager=checkpoints,
        metrics_managers=[
          simulation.CsvMetricsManager(folder.metrics_path),
          tff.program.TensorBoardReleaseManager(folder.tensorboard_path),
        ],
        wire_bytes=simulation.measure_wire_bytes(process),
        on_round=progress,
      )
    finally:
      progress.close()
    summary = _summarize(
      experiment, result, simulation.read_rows(folder.metrics_path)
    )
    folder.write_summary(summary)
    run_plots.plot_workdir(folder.path)
  _print_closing_line(folder, experiment, summary)
  return summary


def _summarize(
  experiment: experiment_lib.Experiment,
  result: simulation.TrainingResult,
  rows: Sequence[Mapping[str, int | float]],
) -> Mapping[str, Any]:
  """Returns the content of summary.json; test clients are used here only."""
  task = experiment.task
  test = experiment.build_held_out_evaluation(task.test, spread=True)(
    experiment.process.get_model_weights(result.state)
  )
  return {
    'task': task.name,
    'algorithm': experiment.config['algorithm']['name'],
    'rounds': result.round_number,
    'final': {
      name: _to_json(value)
      for name, value in rows[-1].items()
      if name.startswith(('train/', 'eval/', 'csb/'))
    },
    'test': {name: _to_json(value) for name, value in test.items()},
    'best_validation': _find_best(
      rows, f'eval/global/{task.metric}', task.higher_is_better
    ),
    'totals': dict(result.totals),
    'versions': {
      'python': platform.python_version(),
      'fedfish_tff': fedfish_tff.__version__,
      **{name: importlib.metadata.version(name) for name in _PACKAGES},
    },
  }


def _find_best(
  rows: Sequence[Mapping[str, int | float]],
  column: str,
  higher_is_better: bool,
) -> Mapping[str, Any] | None:
  """Returns the first round with the best finite value; None without one."""
  sign = 1 if higher_is_better else -1
  values = [
    (sign * row[column], -row['round'])
    for row in rows
    if math.isfinite(row.get(column, math.nan))
  ]
  if not values:
    return None
  value, negative_round = max(values)
  return {
    'metric': column,
    'value': sign * value,
    'round': -negative_round,
    # For launch.sweep, which knows no tasks.
    'higher_is_better': higher_is_better,
  }


def _to_json(value: int | float) -> int | float | None:
  """JSON knows no NaN and no infinity."""
  return value if math.isfinite(value) else None


def _print_closing_line(
  folder: simulation.Workdir,
  experiment: experiment_lib.Experiment,
  summary: Mapping[str, Any],
) -> None:
  metric = experiment.task.metric
  value = summary['test'][f'global/{metric}']
  score = 'not finite' if value is None else f'{value:.4f}'
  print(
    f'Done: {summary["rounds"]} rounds, {metric} {score} on test clients. See '
    f'{folder.summary_path}, {folder.metrics_path} and {folder.plots_path}, or '
    f'run tensorboard --logdir={folder.tensorboard_path}.'
  )
