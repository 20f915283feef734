# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Opens the workdirs of trained runs, loads their models and writes tables."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff import trust as trust_lib
from launch.methods import config as config_lib
from launch.methods import config_checks
from launch.methods import registry
from launch.results import checked_tables
from launch.results import run_reader
from launch.runs import experiment as experiment_lib
from launch.runs import model_rounds
from tasks.task import Task

# A function of the config, the task and the folder of its data.
CheckTask = Callable[[config_lib.Config, Task, str | None], None]


def read_run(
  workdir: str | os.PathLike[str],
  *,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
) -> tuple[experiment_lib.Experiment, simulation.Workdir]:
  """Builds the experiment of a workdir, which is neither locked nor written.

  Args:
    workdir: A workdir of launch.train.
    data_dir: The folder of the data, for tasks that read files; None for the
      folder of training.
    trust: The trust in the programs that the workdir's config names.

  Returns:
    The experiment, built in the current context, and the folder.
  """
  experiment, folder, _ = _build(workdir, data_dir, trust)
  folder.check(
    experiment.config.values,
    experiment_lib.fingerprint_data(experiment.config, experiment.task),
  )
  _observe_rows(experiment, folder)
  return experiment, folder


@contextlib.contextmanager
def open_run(
  workdir: str | os.PathLike[str],
  *,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
  check_task: CheckTask | None = None,
) -> Iterator[tuple[experiment_lib.Experiment, simulation.Workdir]]:
  """Opens a workdir to write to it, and builds its experiment.

  Args:
    workdir: A workdir of launch.train.
    data_dir: The folder of the data, which is noted in the workdir; None for
      the folder of training.
    trust: The trust in the programs that the workdir's config names.
    check_task: A function that may refuse the task before anything is traced.

  Yields:
    The experiment and the folder, which no other process writes meanwhile.
  """
  experiment, _, data_dir = _build(workdir, data_dir, trust, check_task)
  with experiment_lib.open_workdir(
    experiment.config, experiment.task, workdir, data_dir=data_dir
  ) as folder:
    _observe_rows(experiment, folder)
    yield experiment, folder


def _build(
  workdir: str | os.PathLike[str],
  data_dir: str | None,
  trust: trust_lib.Trust,
  check_task: CheckTask | None = None,
) -> tuple[experiment_lib.Experiment, simulation.Workdir, str | None]:
  """Returns a workdir's experiment, its folder, and the folder of its data."""
  folder = simulation.Workdir(pathlib.Path(workdir))
  values = run_reader.read_config(workdir)
  try:
    config = config_checks.read(values, trust=trust)
  except errors.InputError as error:
    raise errors.InputError(f'{folder.config_path}: {error}') from error
  # Only now, since the path may be that of any large folder.
  folder.check_entries()
  folder.check_files()
  folder.read_summary()
  if data_dir is None:
    data_dir = _find_data(folder)
  experiment = experiment_lib.build_experiment(
    config,
    data_dir=data_dir,
    workdir=workdir,
    check_task=check_task and (lambda task: check_task(config, task, data_dir)),
  )
  return experiment, folder, data_dir


def _observe_rows(
  experiment: experiment_lib.Experiment, folder: simulation.Workdir
) -> None:
  """Shows the rows of a run to the hooks that decide on cohorts."""
  if experiment.cohorts.hooks:
    rows = simulation.read_rows(folder.metrics_path)
    for hook in experiment.cohorts.hooks:
      hook.observe_rows(rows)


def _find_data(folder: simulation.Workdir) -> str | None:
  """Returns the folder where a run last found its data."""
  path = folder.read_data().get('data_dir')
  if path is not None and not os.path.exists(path):
    raise errors.InputError(
      f'The data of {folder.path} was in {path}, where nothing is any more; '
      '--data_dir must name the folder where it is now.'
    )
  return path


def load_result(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  at: str | None = None,
) -> simulation.TrainingResult:
  """Loads the result in a checkpoint.

  A finished run must have its last checkpoint.

  Args:
    experiment: The trained experiment.
    folder: The workdir of the checkpoint.
    at: The model's name in `model_rounds.ROUNDS`; None for the run's model.
  """
  at = at or model_rounds.of_the_model(experiment.config)
  if at == model_rounds.BEST:
    rows = simulation.read_rows(folder.metrics_path)
    stopping = experiment.build_stopping(rows)
    return load_best(experiment, folder, stopping)
  if at == model_rounds.HALF:
    half = experiment.half_round
    if half is None:
      raise errors.InputError(
        'evaluation.half_way_checkpoint must be True for the model half-way, '
        f'got False in {folder.config_path}: train a run that keeps it, or score '
        'the last checkpoint only, by --at=last.'
      )
    result = _load_round(experiment, folder, half) if half else None
    if result is None:
      raise errors.InputError(
        f'The workdir has no checkpoint of round {half}, half-way to round '
        f'{experiment.config.rounds}: train it that far with launch.train, '
        'which keeps it, or score the last checkpoint only, by --at=last.'
      )
    return result
  result = _load_round(experiment, folder, None)
  if result is None:
    raise errors.InputError(
      f'{folder.path} has no checkpoint yet; train it first with launch.train.'
    )
  rounds = folder.read_summary().get('rounds')
  if rounds not in (None, result.round_number):
    raise errors.InputError(
      f'{folder.path} is finished, but its checkpoint of round {rounds} is '
      'damaged or missing; launch.train makes it again from that of round '
      f'{result.round_number}.'
    )
  return result


def load_best(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  stopping: simulation.EarlyStopping | None,
) -> simulation.TrainingResult:
  """Loads the result in the checkpoint of the best evaluation.

  `stopping` decides on the best round; None for a config without it.
  """
  best = stopping and stopping.best_round
  if best is None:
    raise errors.InputError(
      f'{folder.path} has no best model: '
      + (
        f'its config has no {_name_deciding()}, which keeps one.'
        if stopping is None
        else f'no value of {stopping.column} is finite.'
      )
    )
  result = _load_round(experiment, folder, best)
  if result is None:
    newest = max(folder.checkpoint_rounds(), default=-1)
    # A run goes on from its newest checkpoint.
    how = 'launch.train' if newest < best else 'only launch.train --overwrite'
    raise errors.InputError(
      f'{folder.path} has no checkpoint of round {best}, the best by '
      f'{stopping.column}; {how} makes it again.'
    )
  return result


def _name_deciding() -> str:
  """Returns the names of the blocks that decide on a best round."""
  blocks = registry.own_blocks().values()
  return ' or '.join(b.name for b in blocks if b.restores_best is not None)


def _load_round(
  experiment: experiment_lib.Experiment,
  folder: simulation.Workdir,
  round_number: int | None,
) -> simulation.TrainingResult | None:
  if not folder.checkpoints_path.is_dir():
    return None  # A manager would create it.
  return simulation.load_result(
    experiment.process,
    simulation.CheckpointManager(
      folder.checkpoints_path, run_digests=folder.digests
    ),
    round_number=round_number,
  )


def file_name(name: str, split: str) -> str:
  """Returns a file's name, with the split in front unless that is test."""
  return name if split == 'test' else f'{split}_{name}'


def write_tables(
  folder: pathlib.Path, split: str, tables: Mapping[str, bytes]
) -> list[pathlib.Path]:
  """Writes tables on a split's clients and returns their paths.

  `tables` has the contents by the path in the workdir that the split test has.
  """
  contents = {
    path.with_name(file_name(path.name, split)): content
    for name, content in tables.items()
    for path in [folder / name]
  }
  checked_tables.write_tables(contents)
  return list(contents)
