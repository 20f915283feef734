# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Successive runs in one operating-system process that share traced graphs.

Building and tracing a learning process takes seconds, which every run of a
sweep over learning rates and seeds would spend on the same graphs. Here runs
with one `Config.sharing_key` share a learning process, the computations of
the evaluations and the context that has compiled them. Rates and the number of
local epochs are parameters (`fedfish_tff.parameters`), and each run begins with
its own weights. A single run computes with the same graphs, so that results are
the same bit for bit.
"""

from collections.abc import Mapping
import dataclasses
import functools
import json
import os
from typing import Any

from fedfish_tff import parameters
from fedfish_tff.execution import contexts
from launch.methods import building
from launch.methods import config as config_lib
from launch.runs import experiment as experiment_lib
from launch.runs import model_graph
from launch.runs import run_start
from launch.runs import training_run
from tasks.task import Task

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class RunSequence:
  """Trains one run after another."""

  def __init__(self, *, data_dir: str | None = None) -> None:
    """Creates a sequence in which nothing is built yet.

    Args:
      data_dir: The folder of the data, for tasks that read files.
    """
    self._data_dir = data_dir
    self._context: tff.framework.SyncContext | None = None
    self._task: tuple[str, Task] | None = None
    self._built: _Built | None = None

  def train(
    self,
    config: config_lib.Config,
    workdir: str | os.PathLike[str],
    *,
    starts: Mapping[str, str | os.PathLike[str]] | None = None,
  ) -> None:
    """Trains a config as `training_run.train` does, without a progress bar.

    Args:
      config: The config of the run.
      workdir: The folder for all output.
      starts: The workdirs that a fine-tuning may start from, as for
        `training_run.train_task`.

    Raises:
      KeyboardInterrupt: On Ctrl-C.
    """
    self._set_context()
    task = self._create_task(config)
    with parameters.replaced(building.parameter_values(config)):
      training_run.train_task(
        config,
        task,
        training_run.RunOptions(
          workdir=workdir, data_dir=self._data_dir, progress_bar=False
        ),
        starts=starts,
        build=self._build,
      )

  def _set_context(self) -> None:
    stack = tff.framework.get_context_stack()
    if self._context is None:
      contexts.set_default_context()
      self._context = stack.current
    else:
      stack.set_default_context(self._context)

  def _create_task(self, config: config_lib.Config) -> Task:
    """Returns a config's task, which is the last one if that is equal."""
    key = json.dumps([config.task, config.seed], sort_keys=True)
    if self._task is None or self._task[0] != key:
      task = experiment_lib.create_task(config, data_dir=self._data_dir)
      self._task = key, task
    return self._task[1]

  def _build(
    self,
    config: config_lib.Config,
    task: Task,
    *,
    start: run_start.Start | None = None,
  ) -> experiment_lib.Experiment:
    """Builds like `experiment.build_experiment_of`, sharing what is built."""
    key = config.sharing_key
    if self._built is not None and self._built.key == key:
      experiment = self._built.share(config, task)
      if experiment is not None:
        return experiment
    experiment = experiment_lib.build_experiment_of(config, task, start=start)
    self._built = None if key is None else _Built(key, experiment)
    return experiment


@dataclasses.dataclass
class _Built:
  """The computations that the runs of one key share.

  Attributes:
    key: The `Config.sharing_key` of these runs.
    experiment: The experiment of the last run.
  """

  key: str
  experiment: experiment_lib.Experiment

  @functools.cached_property
  def _model_graph(self) -> str:
    return model_graph.describe(self.experiment.model)

  def share(
    self, config: config_lib.Config, task: Task
  ) -> experiment_lib.Experiment | None:
    """Returns the experiment of another config with the key.

    It is None if its model or the number of its training clients differs, or
    if other initial weights cannot be set, such as those of features that a
    closed form sums.
    """
    weights = self.experiment.initial_weights
    if config.seed != self.experiment.config.seed:
      model = config.method.create_model(building.prepare(config, task))
      counts = [len(of.train.client_ids) for of in (task, self.experiment.task)]
      if (
        counts[0] != counts[1]
        or not hasattr(self.experiment.process, 'set_model_weights')
        or model_graph.describe(model) != self._model_graph
      ):
        return None
      weights = tff.learning.models.ModelWeights(*model.initial_weights)
      if not getattr(self.experiment.process, 'uses_weights', True) and not (
        _are_equal(weights, self.experiment.model.initial_weights)
      ):
        return None
    self.experiment = dataclasses.replace(
      self.experiment, config=config, task=task, initial_weights=weights
    )
    return self.experiment


def _are_equal(weights: Any, others: Any) -> bool:
  """Returns whether two models' weights, of the same types, are the same."""
  return all(
    map(np.array_equal, tf.nest.flatten(weights), tf.nest.flatten(others))
  )
