# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs in a notebook: what launch.train and launch.evaluate do, as frames.

  from launch import experiments

  run = experiments.train(
    'digits:fed_avg', workdir='runs/fed_avg', rounds=10,
    client_learning_rate=0.1)
  run.rounds  # A pandas frame.
  run.plot()

Beside a wheel, `import fedfish_tff.programs` comes first.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import io
import os
import pathlib
import re
import sys
import types
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import execution
from fedfish_tff import trust as trust_lib
from launch import json_config
from launch.configs import sweeps
from launch.methods import config_checks
from launch.methods import method as method_lib
from launch.plots import catalogue
from launch.results import frames as frames_lib
from launch.results import reading
from launch.results import text_table
from launch.runs import evaluation_run
from launch.runs import experiment as experiment_lib
from launch.runs import trained_run
from launch.runs import training_run
from launch.sweeps import tuned_sweep
from tasks import task as task_lib

from matplotlib import figure as mpl_figure
import pandas as pd
import tensorflow_federated as tff

read = reading.read

# The tasks that calls of `train` were given, by names that configs can hold.
given_tasks = types.SimpleNamespace()


@dataclasses.dataclass(frozen=True)
class Picture:
  """A figure that a notebook shows.

  Attributes:
    figure: The figure, which may still be changed and saved.
  """

  figure: mpl_figure.Figure

  def _repr_png_(self) -> bytes:
    content = io.BytesIO()
    self.figure.savefig(content, format='png', bbox_inches='tight')
    return content.getvalue()


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
  """A finished run in its workdir.

  Attributes:
    workdir: The run's folder.
  """

  workdir: pathlib.Path

  def __repr__(self) -> str:
    (row,) = self._frames.runs.to_dict('records')
    told = text_table.count(row['length'], 'round')
    if row['diverged_round'] is not None:
      told += f', diverged in round {row["diverged_round"]:g}'
    return f'<Run of {row["label"]}: {told}, {self.workdir}>'

  @property
  def summary(self) -> pd.DataFrame:
    """The frame of one row with the label and the numbers of summary.json."""
    return self._frames.runs

  @property
  def rounds(self) -> pd.DataFrame:
    """The rows of metrics.csv by round."""
    return self._frames.rounds.droplevel('run')

  @property
  def clients(self) -> pd.DataFrame:
    """The rows of held-out clients by their ids, empty before `evaluate`."""
    return self._frames.clients.droplevel('run')

  @functools.cached_property
  def weights(self) -> tff.learning.models.ModelWeights:
    """The weights of the run's model."""
    experiment, folder = trained_run.read_run(
      self.workdir, trust=trust_lib.PYTHON
    )
    result = trained_run.load_result(experiment, folder)
    return experiment.process.get_model_weights(result.state)

  def evaluate(self, split: str = 'test') -> pd.DataFrame:
    """Scores each held-out client, as launch.evaluate does.

    Args:
      split: `'test'` or `'validation'`; files of the latter begin with it.

    Returns:
      `clients`, which are those of test.
    """
    evaluation_run.evaluate(self.workdir, split=split, trust=trust_lib.PYTHON)
    self.__dict__.pop('_frames', None)
    return self.clients

  def plot(self, metric: str | None = None) -> Picture:
    """Draws a column against rounds.

    Args:
      metric: The column of metrics.csv; None for the score that judges.
    """
    return plot(self._frames, metric)

  @functools.cached_property
  def _frames(self) -> frames_lib.Frames:
    return read(self.workdir)


def plot(frames: frames_lib.Frames, metric: str | None = None) -> Picture:
  """Draws a column of runs against rounds.

  Args:
    frames: The runs, of `read`.
    metric: The column of metrics.csv; None for the score that judges.
  """
  column = catalogue.choose_metric(frames, metric)
  figures = catalogue.draw(frames, column, catalogue.OF_METHODS[:1])
  return Picture(next(iter(figures.values())))


def train(
  config: str,
  *,
  workdir: str | os.PathLike[str],
  task: task_lib.Task | Callable[..., task_lib.Task] | None = None,
  method: method_lib.Method | None = None,
  data_dir: str | None = None,
  overwrite: bool = False,
  fields: Mapping[str, Any] | None = None,
  **values: Any,
) -> Run:
  """Trains as launch.train does, or resumes, in the current context.

  Args:
    config: The config: `<file or name>:<method>`, such as 'digits:fed_avg'.
      With `method`, only axes may follow the colon.
    workdir: The folder for all output.
    task: A task in place of the config's, or a function that creates one.
    method: A method in place of the config's. It has a name in its module,
      which may be the notebook.
    data_dir: The folder of the data, for tasks that read files.
    overwrite: Whether to remove an earlier run in the workdir first.
    fields: The values of fields of the config by their dotted names.
    **values: The values of fields whose names have no dot.
  """
  path, colon, variant = json_config.find(config).partition(':')
  if method is not None:
    variant = ','.join(filter(None, [_name_method(method), variant]))
  module = json_config.load_module(path, 'get_config')
  made = json_config.call_get_config(
    module.get_config, *[variant] * bool(colon or method)
  )
  if task is not None:
    made.task = {'name': _name_task(task)}
  json_config.set_fields(made, {**values, **(fields or {})})
  checked = config_checks.read(made.to_dict(), trust=trust_lib.PYTHON)
  _set_context()
  training_run.train_task(
    checked,
    experiment_lib.create_task(checked, data_dir=data_dir),
    training_run.RunOptions(
      workdir=workdir, data_dir=data_dir, overwrite=overwrite
    ),
    plots=False,
  )
  return Run(pathlib.Path(workdir))


def sweep(
  config: str,
  *,
  sweep_dir: str | os.PathLike[str],
  methods: Sequence[str],
  seeds: int | None = None,
  grid: Mapping[str, Sequence[Any]] | None = None,
  tune: Mapping[str, Sequence[Any]] | None = None,
  data_dir: str | None = None,
  fields: Mapping[str, Any] | None = None,
  **values: Any,
) -> frames_lib.Frames:
  """Tunes and compares methods as launch.sweep does, in processes of its own.

  Args:
    config: The config file or its name.
    sweep_dir: The folder for all output, whose table is printed.
    methods: The variants. Methods and tasks of one's own stand in modules, not
      in the notebook.
    seeds: The number of seeds; None for the config's seed.
    grid: The values of fields in which runs differ, by dotted name.
    tune: The values of fields among which validation clients choose.
    data_dir: The folder of the data, for tasks that read files.
    fields: The values of fields in all runs by their dotted names.
    **values: The values of fields whose names have no dot.

  Returns:
    The frames of the runs that judge; those that tuned are in
    `read(sweep_dir/tuning)`.
  """
  path = json_config.find(config).partition(':')[0]
  get_config = json_config.load_module(path, 'get_config').get_config
  failures = tuned_sweep.TunedSweep(
    source=config,
    get_config=get_config,
    experiment=sweeps.compare(
      get_config, methods, seeds=seeds, fields=grid, tuned=tune
    ),
    path=sweep_dir,
    given={**values, **(fields or {})},
    options={'data_dir': data_dir},
  ).execute()
  if failures:
    name, reason = next(iter(failures.items()))
    raise errors.InputError(
      f'{text_table.count(len(failures), "part")} of {sweep_dir} failed, such as '
      f'{name}: {reason}'
    )
  return read(sweep_dir)


def _set_context() -> None:
  """Makes the fast context the default, unless one was set before."""
  if datasets.current_runner() is None:
    execution.set_default_context()


def _name_method(method: method_lib.Method) -> str:
  """Returns package.module:NAME of a method."""
  for module in tuple(sys.modules.values()):
    for name, value in tuple(getattr(module, '__dict__', {}).items()):
      if value is method:
        return f'{module.__name__}:{name}'
  raise errors.InputError(
    f'The method {method.name} must have a name in its module, or in the '
    'notebook, by which its runs can be evaluated.'
  )


def _name_task(task: task_lib.Task | Callable[..., task_lib.Task]) -> str:
  """Returns package.module:NAME of a function that creates a task."""
  if not isinstance(task, task_lib.Task):
    return f'{task.__module__}:{task.__qualname__}'
  name = re.sub(r'\W', '_', f'_{task.name}')
  setattr(given_tasks, name, lambda *, seed, data_dir=None: task)
  return f'{__name__}:given_tasks.{name}'
