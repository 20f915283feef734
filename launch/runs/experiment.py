# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Experiments: everything that a run needs, made from its config."""

from collections.abc import Callable
from collections.abc import Iterable
import contextlib
import dataclasses
import functools
import os
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import parameters
from fedfish_tff import simulation
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.runs import run_start
from tasks import registry as task_registry
from tasks.task import SPLITS
from tasks.task import Task

from absl import logging
import tensorflow_federated as tff


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
  """The task, model and process of a config, with all that a run needs.

  The participation must suit the task. With rates for personalisation, the
  method's clients must tune with a rate that can be replaced.

  Attributes:
    config: The config of the run.
    task: The clients, model and metric.
    built: The model to train and its process.
    evaluations: The computations of the evaluations.
    initial_weights: The initial weights of the trained model; None for those of
      the process.
    first_round: The last round of a fine-tuning's start; 0 without a start.
  """

  config: config_lib.Config
  task: Task
  built: building.BuiltMethod
  evaluations: evaluation.SharedComputations
  initial_weights: tff.learning.models.ModelWeights | None = None
  first_round: int = 0

  def __post_init__(self) -> None:
    # Made at once, so that bad input is refused before anything is written.
    _ = self.cohorts
    for block in self.config.declared:
      block.check_task(self.config, self.task)
    rates = self.tuning_rates
    if rates and config_fields.CLIENT_RATE not in parameters.names_in(
      self.process.local_training
    ):
      raise errors.InputError(
        f'{config_fields.FINE_TUNING_RATES} must be empty, since clients of '
        f'{self.config.method.name} make models their own by steps with a rate '
        f'that is part of the method, got {rates}.'
      )

  @property
  def model(self) -> tff.learning.models.FunctionalModel:
    """The model to train."""
    return self.built.model

  @property
  def process(
    self,
  ) -> algorithms.FederatedProcess | algorithms.ClientStateProcess:
    """The learning process."""
    return self.built.process

  @functools.cached_property
  def cohorts(self) -> config_lib.Cohorts:
    """The clients of each round."""
    return self.config.create_cohorts(self.task)

  @property
  def participation(self) -> simulation.Participation:
    """The function that returns the cohort of a round."""
    return self.cohorts.participation

  @property
  def batch_spec(self) -> datasets.BatchSpec:
    """The batches of a client per round."""
    return datasets.BatchSpec(
      batch_size=self.config.batch_size,
      epochs=self.config.local_epochs,
      max_examples=self.config.max_examples_per_client or None,
    )

  @property
  def judged_by(self) -> str:
    """The prefix of the columns of held-out clients that judge the run."""
    return self.config.judged_by(self.task)

  @property
  def judged_column(self) -> str:
    """The column of metrics.csv that judges the run, in the task's metric."""
    return f'eval/{self.judged_by}/{self.task.metric}'

  @property
  def half_round(self) -> int | None:
    """The half-way round, if its checkpoint is kept beside the last ones."""
    if not self.config.evaluation.half_way_checkpoint:
      return None
    return (self.first_round + self.config.rounds) // 2

  @property
  def fine_tune_spec(self) -> datasets.BatchSpec | None:
    """The batches of personalisation; None for a config without it."""
    epochs = self.config.evaluation.personalization_epochs
    if not epochs:
      return None
    return datasets.BatchSpec(batch_size=self.config.batch_size, epochs=epochs)

  @property
  def tuning_rates(self) -> tuple[float, ...]:
    """The sorted learning rates of personalisation; empty for the client's."""
    rates = self.config.evaluation.personalization_learning_rates
    return tuple(sorted(rates))

  def open_client_states(
    self, path: str | os.PathLike[str]
  ) -> simulation.ClientStateStore | None:
    """Opens the store of the clients' states; None if they have none.

    The file is made where clients keep their states.
    """
    if not simulation.has_client_states(self.process):
      return None
    if isinstance(self.participation, simulation.Asynchronous):
      return simulation.StalenessStore(self.participation)
    return simulation.ClientStateStore(path)

  def initial_state(self) -> Any:
    """Returns the process's state before the first round."""
    state = self.process.initialize()
    if self.initial_weights is None:
      return state
    return self.process.set_model_weights(state, self.initial_weights)

  def load_cohort(self, round_number: int) -> list[datasets.ClientBatches]:
    """Returns the batches of the clients in a round's cohort."""
    return [
      datasets.plan_batches(
        self.task.train.load_client(client_id),
        self.batch_spec,
        client_id=client_id,
        seed=self.config.seed,
        round_number=round_number,
      )
      for client_id in self.participation(round_number)
    ]

  def build_held_out_evaluation(
    self, clients: datasets.ClientData, *, spread: bool = False
  ) -> evaluation.HeldOutEvaluation:
    """Builds the config's evaluation on held-out clients.

    Args:
      clients: The held-out clients. For personalisation, one of them must have
        two examples.
      spread: Whether to also measure how the task's metric spreads over them.
    """
    return evaluation.HeldOutEvaluation(
      self.evaluations,
      clients,
      eval_batch_size=self.task.eval_batch_size,
      fine_tune_spec=self.fine_tune_spec,
      seed=self.config.seed,
      spread_of=(
        {self.task.metric: self.task.higher_is_better} if spread else None
      ),
    )

  def build_own_data_evaluation(
    self, clients: datasets.ClientData, *, new_clients: bool = False
  ) -> evaluation.OwnDataEvaluation | None:
    """Builds the evaluation of models on clients' own test data.

    Args:
      clients: The clients to score, which tune as in personalisation.
      new_clients: Whether they are held out.

    Returns:
      The evaluation in the task's metric; None for a task without such data.
    """
    if self.task.own_test is None:
      return None
    return evaluation.OwnDataEvaluation(
      self.process,
      self.evaluations,
      train=clients,
      test=self.task.own_test,
      tuning_spec=self.fine_tune_spec,
      eval_batch_size=self.task.eval_batch_size,
      higher_is_better={self.task.metric: self.task.higher_is_better},
      seed=self.config.seed,
      own_models=simulation.has_client_states(self.process)
      and self.config.keeps_models,
      new_clients=new_clients,
    )

  def build_hooks(self) -> list[simulation.Hook]:
    """Builds the hooks of the config's blocks, in their order."""
    return [h for block in self.config.declared for h in block.hooks(self)]

  def build_stopping(
    self, rows: Iterable[simulation.Metrics]
  ) -> simulation.EarlyStopping | None:
    """Builds the hook that decides on the last and the best round, if any.

    It decides first on the given rows of metrics.csv.
    """
    if self.config.deciding is None:
      return None
    (stopping,) = self.config.deciding.hooks(self)
    stopping.observe_rows(rows)
    return stopping

  def merge(
    self, weights: tff.learning.models.ModelWeights
  ) -> tuple[
    tff.learning.models.FunctionalModel, tff.learning.models.ModelWeights
  ]:
    """Returns an equivalent model, and weights, without the mergeable blocks.

    The given weights are those of the trained model.
    """
    model = self.model
    for block in self.config.declared:
      model, weights = block.merge(self.config, self.task, model, weights)
    return model, weights

  def build_barrier(self) -> evaluation.CohortBarrier | None:
    """Builds the barrier in the loss and the task's metric, if configured."""
    if not self.config.evaluation.barrier:
      return None
    return evaluation.CohortBarrier(
      self.evaluations,
      eval_batch_size=self.task.eval_batch_size,
      higher_is_better={
        'loss': False,
        self.task.metric: self.task.higher_is_better,
      },
    )


def round_parameters(
  hooks: Iterable[simulation.Hook], round_number: int
) -> dict[str, float]:
  """Returns one round's parameters by name; empty without schedules.

  With schedules, the execution context must be able to replace parameters.
  """
  found = {}
  for hook in hooks:
    found |= hook.before_round(round_number)
  if found:
    parameters.check_replaced_here('a schedule of learning rates')
  return found


def create_task(
  config: config_lib.Config, *, data_dir: str | None = None
) -> Task:
  """Creates the task of a config.

  `data_dir` is the folder of the data, for tasks that read files.
  """
  options = dict(config.task)
  name = options.pop('name')
  # The function of a task of one's own is no name of it.
  whose = name if ':' in name else f'task {name}'
  simulation.report_step(f'Reading the data of {whose}')
  options |= dict(seed=config.seed, data_dir=data_dir, trust=config.trust)
  task = task_registry.create_task(name, **options)
  if datasets.takes_references():
    if data_dir is not None and '://' not in data_dir:
      options['data_dir'] = os.path.abspath(data_dir)
    task_registry.set_sources(task, name=name, **options)
  for split in ('validation', 'test'):
    if not getattr(task, split).client_ids:
      raise errors.InputError(
        f'Task {task.name!r} must have at least one held-out client among its '
        f'{split} clients (task.{split}_fraction), got none.'
      )
  if task.description:
    simulation.report_line(f'Data: {task.description}.')
  for warning in task.warnings:
    logging.warning('%s', warning)
  if task.synthetic:
    logging.warning(
      'The data of task %s are synthetic (%s): they show how it runs, and nothing '
      'about real data.',
      task.name,
      task.synthetic,
    )
  return task


def fingerprint_data(config: config_lib.Config, task: Task) -> dict[str, str]:
  """Returns the fingerprints of each split's clients and of blocks' files."""
  fingerprints = {
    split: datasets.fingerprint(getattr(task, split))
    for split in SPLITS
    if getattr(task, split) is not None
  }
  for block in config.declared:
    fingerprints |= block.fingerprint(config)
  return fingerprints


def describe_run(config: config_lib.Config, task: Task) -> dict[str, Any]:
  """Returns the notes of `method_notes.describe`, and how the run is judged.

  They are JSON values, including `task`, the task's title; `clients`, the
  number of clients by split; `metric`, `higher_is_better` and `judged_by`, the
  prefix of the columns that judge the run.
  """
  return {
    **config.notes,
    'task': task.title,
    'clients': {
      split: len(getattr(task, split).client_ids)
      for split in ('train', 'validation', 'test')
    },
    'metric': task.metric,
    'higher_is_better': task.higher_is_better,
    'judged_by': config.judged_by(task),
  }


def open_workdir(
  config: config_lib.Config,
  task: Task,
  workdir: str | os.PathLike[str],
  *,
  data_dir: str | None,
  overwrite: bool = False,
) -> contextlib.AbstractContextManager[simulation.Workdir]:
  """Opens the workdir of a run by `simulation.open_workdir`.

  The workdir gets notes that are not part of its config, such as `data_dir`,
  the folder of the task's files. `overwrite` removes an earlier run in it
  first.
  """
  if data_dir is not None:
    data_dir = os.path.abspath(os.path.expanduser(data_dir))
  return simulation.open_workdir(
    workdir,
    config.values,
    data_fingerprint=fingerprint_data(config, task),
    data={
      'data_dir': data_dir,
      'synthetic': task.synthetic,
      'label': describe_run(config, task),
    },
    overwrite=overwrite,
    length_field=config.length_field,
  )


def build_experiment(
  config: config_lib.Config,
  *,
  data_dir: str | None = None,
  workdir: str | os.PathLike[str] | None = None,
  check_task: Callable[[Task], None] | None = None,
) -> Experiment:
  """Builds the task and the process of a config.

  Args:
    config: The config of the run.
    data_dir: The folder of the data, for tasks that read files.
    workdir: The workdir of the run, which holds a fine-tuning's start.
    check_task: A function that may refuse the task before anything is traced.
  """
  task = create_task(config, data_dir=data_dir)
  if check_task is not None:
    check_task(task)
  start = None
  if config.origin is not None:
    start = workdir and run_start.load_start(workdir)
    if not start:
      raise errors.InputError(
        f'{workdir or "A run"} has no {run_start.FILE_NAME}, from '
        'which it starts; train it first with launch.train.'
      )
  return build_experiment_of(config, task, start=start)


def build_experiment_of(
  config: config_lib.Config,
  task: Task,
  *,
  start: run_start.Start | None = None,
) -> Experiment:
  """Builds the process of a config for an existing task.

  `start` is that of the run; None for a config without one. The thread must
  have an execution context.
  """
  simulation.check_context()
  simulation.report_step(f'Tracing {config.label}')
  built = building.build_method(
    config, task, start_weights=start and start.weights
  )
  return Experiment(
    config=config,
    task=task,
    built=built,
    evaluations=evaluation.SharedComputations(
      built.model,
      lambda: built.process.local_training,
      getattr(built.process, 'client_model_weights', None),
    ),
    first_round=start.round_number if start else 0,
  )
