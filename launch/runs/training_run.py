# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One run of an experiment in its workdir, new or resumed, to the end."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
import shlex
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib
from launch.plots import catalogue
from launch.runs import closing_line
from launch.runs import divergence as divergence_lib
from launch.runs import experiment as experiment_lib
from launch.runs import export
from launch.runs import longer_run
from launch.runs import metrics_managers as managers_lib
from launch.runs import own_clients
from launch.runs import regularization_choice
from launch.runs import run_start
from launch.runs import run_summary
from launch.runs import tensorboard_rows
from launch.runs import trained_run
from launch.runs import tuned_evaluation
from tasks.task import Task

from absl import logging

BuildFn = Callable[..., experiment_lib.Experiment]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
  """The options of a run that are not part of its config, as flags set them.

  Attributes:
    workdir: The folder for all output.
    data_dir: The folder of the data, for tasks that read files.
    overwrite: Whether to remove an earlier run in the workdir first.
    progress_bar: Whether to show a bar; None to show it only on a terminal.
    metrics_managers: The names of managers that also receive each row, as for
      `metrics_managers.load`. The start of a fine-tuning has none.
  """

  workdir: str | os.PathLike[str]
  data_dir: str | None = None
  overwrite: bool = False
  progress_bar: bool | None = None
  metrics_managers: Sequence[str] = ()


def train(config: config_lib.Config, options: RunOptions) -> Mapping[str, Any]:
  """Trains, evaluates and plots; resumes an interrupted run of the same config.

  Computations run in the current execution context.

  Returns:
    The content of summary.json.

  Raises:
    KeyboardInterrupt: On Ctrl-C; the message says how to resume.
  """
  # Wrong names are refused before the data are read.
  managers_lib.load(options.metrics_managers)
  task = experiment_lib.create_task(config, data_dir=options.data_dir)
  return train_task(config, task, options)


def train_task(
  config: config_lib.Config,
  task: Task,
  options: RunOptions,
  *,
  starts: Mapping[str, str | os.PathLike[str]] | None = None,
  plots: bool = True,
  build: BuildFn = experiment_lib.build_experiment_of,
) -> Mapping[str, Any]:
  """Trains as `train` does, on an existing task.

  A notebook can train on its own task in this way, as in docs/tutorial.md.

  Args:
    config: The config; its block `task` is only noted.
    task: The task to train on.
    options: The options, such as the workdir.
    starts: The workdirs of runs by `Config.key`, from which a fine-tuning
      starts if they are finished. Without one, it trains its start in a folder
      of its own.
    plots: Whether to plot the run and print the paths of its files.
    build: A function with the contract of `experiment.build_experiment_of`.

  Returns:
    The content of summary.json.

  Raises:
    KeyboardInterrupt: On Ctrl-C; the message says how to resume.
  """
  managers = managers_lib.load(options.metrics_managers)
  # Bad input is refused before anything is written: by building the experiment,
  # unless that needs a start to be trained first or from the workdir.
  start, experiment = None, None
  kept_start = simulation.Workdir(pathlib.Path(options.workdir)).start_path
  origin = config.origin
  if origin is None:
    experiment = build(config, task)
  elif origin.config is not None:
    check_task(config, task)
  elif options.overwrite or not kept_start.exists():
    start = run_start.read_start(
      task, origin.path, trusted=config.trust.saved_models
    )
    experiment = build(config, task, start=start)
  with experiment_lib.open_workdir(
    config,
    task,
    options.workdir,
    data_dir=options.data_dir,
    overwrite=options.overwrite,
  ) as folder:
    if experiment is None:
      start = run_start.load_start(folder.path) or _train_start(
        config, task, folder, options, starts or {}, plots
      )
      experiment = build(config, task, start=start)
    elif start is not None:
      run_start.save_start(folder.path, start)
    longer_run.prepare(experiment, folder)
    client_states = experiment.open_client_states(folder.client_states_path)
    result = _run(
      experiment, folder, start, client_states, options.progress_bar, managers
    )
    summary = _score(experiment, folder, result, client_states)
    if plots:
      catalogue.plot_workdir(folder.path)
      # Quoted, a folder with spaces can be copied into a command.
      paths = [
        shlex.quote(str(path))
        for path in (
          folder.summary_path,
          folder.metrics_path,
          folder.plots_path,
          folder.tensorboard_path,
        )
      ]
      print(
        f'{closing_line.format_line(experiment, summary)} See {paths[0]}, '
        f'{paths[1]} and {paths[2]}, or run tensorboard --logdir={paths[3]}.'
      )
  return summary


def _score(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  result: simulation.TrainingResult,
  client_states: simulation.ClientStateStore | None,
) -> Mapping[str, Any]:
  """Scores the model of a run that has ended; writes and returns the summary."""
  rows = simulation.read_rows(folder.metrics_path)
  stopping = experiment.build_stopping(rows)
  model = result
  if experiment.config.restores_best and stopping.best_round is not None:
    model = trained_run.load_best(experiment, folder, stopping)
  simulation.report_step('Scoring the test clients')
  summary = run_summary.summarize(
    experiment,
    block.Outcome(
      experiment=experiment, result=result, model=model, stopping=stopping
    ),
    rows,
    client_states=client_states,
    divergence=divergence_lib.build_hook(experiment, rows),
  )
  row = next(row for row in rows if row['round'] == model.round_number)
  rate = tuned_evaluation.rate_of(row)
  own_clients.write(experiment, folder, model, client_states, rate)
  merged, weights = experiment.merge(
    experiment.process.get_model_weights(model.state)
  )
  digest = export.write_named_weights(
    weights,
    folder.model_path,
    tensor_names=experiment.task.find_tensor_names(merged),
  )
  summary = {**summary, run_start.MODEL_DIGEST: digest}
  folder.write_summary(summary)
  return summary


def check_task(config: config_lib.Config, task: Task) -> None:
  """Checks a config against its task before anything is trained."""
  config.create_cohorts(task)
  for declared in config.declared:
    declared.check_task(config, task)
  if config.first_run(len(task.train.client_ids)) is not None:
    # The model must suit the task before its start is trained.
    _ = building.prepare(config, task).model


def _train_start(
  config: config_lib.Config,
  task: Task,
  folder: simulation.Workdir,
  options: RunOptions,
  starts: Mapping[str, str | os.PathLike[str]],
  plots: bool,
) -> run_start.Start:
  """Trains the start of a fine-tuning, unless it exists, and keeps it."""
  start_config = config.first_run(len(task.train.client_ids))
  path = starts.get(start_config.key)
  # Another run's is only read: several fine-tunings may start from it.
  if not path or not simulation.Workdir(pathlib.Path(path)).read_summary():
    path = folder.path / run_start.FOLDER_NAME
    print(f'The start of the fine-tuning, in {path}:')
    own = dataclasses.replace(
      options, workdir=path, overwrite=False, metrics_managers=()
    )
    train_task(start_config, task, own, plots=plots)
  experiment = experiment_lib.build_experiment_of(start_config, task)
  result = trained_run.load_result(
    experiment, simulation.Workdir(pathlib.Path(path))
  )
  start = run_start.Start(
    experiment.process.get_model_weights(result.state),
    result.round_number,
    result.totals,
  )
  run_start.save_start(folder.path, start)
  return start


def _run(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  start: run_start.Start | None,
  client_states: simulation.ClientStateStore | None,
  progress_bar: bool | None,
  managers: Mapping[str, managers_lib.ManagerFn],
) -> simulation.TrainingResult:
  """Trains from the start or from the last checkpoint."""
  config, process = experiment.config, experiment.process
  if 'repeated_visits' not in config.method.supports:
    _warn_of_absent_clients(experiment)
  evaluation = tuned_evaluation.TunedEvaluation(experiment)
  load_client_state = client_states and client_states.load

  def evaluate(state: Any, round_number: int) -> Mapping[str, float]:
    if round_number == experiment.first_round:
      simulation.report_step('Evaluating the initial model')
    columns = evaluation(state, load_client_state)
    return {f'eval/{name}': value for name, value in columns.items()}

  others = [
    managers_lib.NamedManager(name, create, folder)
    for name, create in managers.items()
  ]
  metrics = simulation.CsvMetricsManager(folder.metrics_path)
  hooks = _build_hooks(experiment, folder)
  half = [] if experiment.half_round is None else [experiment.half_round]

  def kept_rounds() -> list[int]:
    # These are kept for launch.evaluate --at=half,best.
    deciding = (h for h in hooks if isinstance(h, simulation.EarlyStopping))
    best = [hook.best_round for hook in deciding]
    return half + [number for number in best if number is not None]

  checkpoints = simulation.CheckpointManager(
    folder.checkpoints_path,
    keep_versions=kept_rounds,
    run_digests=lambda version: folder.digests(version, metrics.digest),
  )
  progress = simulation.ProgressReporter(
    config.rounds,
    report_every=config.evaluate_every,
    show_bar=progress_bar,
    first_round=experiment.first_round,
    judged_column=experiment.judged_column,
  )
  runner = datasets.current_runner()
  if hasattr(runner, 'set_report_clients'):
    runner.set_report_clients(progress.report_clients)
  # Schedules that the context cannot apply are refused before any evaluation.
  experiment_lib.round_parameters(hooks, 1)
  try:
    return simulation.run_training(
      process,
      train_data=experiment.task.train,
      participation=experiment.participation,
      batch_spec=experiment.batch_spec,
      seed=config.seed,
      rounds=config.rounds,
      evaluation_fn=evaluate,
      evaluate_every=config.evaluate_every,
      checkpoint_every=config.checkpoint_every,
      checkpoint_at=half,
      program_state_manager=checkpoints,
      client_states=client_states,
      metrics_managers=[
        metrics,
        tensorboard_rows.TensorBoardRows(folder.tensorboard_path),
        *others,
      ],
      # The state has only those of the start's weights that are trained.
      start=simulation.TrainingResult(
        experiment.initial_state(),
        experiment.first_round,
        start.totals if start else {},
      ),
      hooks=[*hooks, progress],
    )
  finally:
    progress.close()


def _build_hooks(
  experiment: experiment_lib.Experiment, folder: simulation.Workdir
) -> list[simulation.Hook]:
  """Builds the hooks that the config asks for, in the order of calls."""
  hooks = [
    *experiment.build_hooks(),
    experiment.built.solve_path
    and regularization_choice.RegularizationChoice(experiment, folder.path),
    divergence_lib.build_hook(experiment),
  ]
  return [hook for hook in hooks if hook is not None]


def _warn_of_absent_clients(experiment: experiment_lib.Experiment) -> None:
  """Warns if the classifier will not depend on all training clients."""
  rounds = experiment.config.rounds
  num_clients = len(experiment.task.train.client_ids)
  num_coming = 0
  for number in range(1, rounds + 1):
    num_coming += len(experiment.participation(number))
    if num_coming >= num_clients:
      return
  logging.warning(
    'In %d rounds, %d of %d training clients come; the classifier is theirs.',
    rounds,
    num_coming,
    num_clients,
  )
