# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a config's method to a model and the process that trains it.

TensorFlow is imported when something is built.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import typing
from typing import Any

from fedfish_tff import client_work
from fedfish_tff import simulation
from launch.methods import compression
from launch.methods import exchange as exchange_lib
from launch.methods import fine_tuning
from launch.methods import optimizers
from launch.methods import privacy
from launch.methods import schedules

if typing.TYPE_CHECKING:
  from fedfish_tff import algorithms
  from fedfish_tff import models
  from tasks.task import Task

  import tensorflow_federated as tff

# Fields of a config that are for who runs a process, not for who builds it.
FIELDS_OF_THE_LOOP = frozenset(
  (
    'batch_size',
    'checkpoint_every',
    'cohort_size',
    'early_stopping',
    'evaluate_every',
    'evaluation',
    'max_examples_per_client',
    'participation',
    'rounds',
  )
)
# Those of the optimizers of `Ingredients`, parameters of the same names.
CLIENT_RATE, SERVER_RATE = 'client_learning_rate', 'server_learning_rate'

# The block that says how one goes on.
SCHEDULES: Mapping[str, str] = {
  CLIENT_RATE: 'client_schedule',
  SERVER_RATE: 'server_schedule',
}

# What a client sends in a round as a method's paper counts it, a column.
PUBLISHED_BYTES = 'communication/published_bytes'


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuiltMethod:
  """What a run trains, and what it may ask of it.

  Attributes:
    model: The model, whose weights are those of the process.
    process: The process; that of a method whose clients keep something between
      rounds has client states.
    feature_map: What a closed-form process has sums of; None for others.
    costs_per_client: By column of metrics.csv, what a client costs in a round.
    solve_path: The weights by each value of the hyper-parameter
      `regularization` that the config names, from the state after the last
      round, None where it has no solution; validation clients choose.
    reported_hparams: Hyper-parameters of the last state for summary.json.
    train_apart: From the cohort's data to the weights of networks, of the task's
      model, that clients train by themselves in the first round; None where they
      begin with one for all. `launch.evaluate` scores their ensemble.
  """

  model: tff.learning.models.FunctionalModel
  process: algorithms.FederatedProcess | algorithms.ClientStateProcess
  feature_map: models.FeatureMap | None = None
  costs_per_client: Mapping[str, int] = dataclasses.field(default_factory=dict)
  solve_path: Callable[[Any], Mapping[float, Any]] | None = None
  reported_hparams: tuple[str, ...] = ()
  train_apart: Callable[[Sequence[Any]], Sequence[Any]] | None = None

  @functools.cached_property
  def wire_bytes(self) -> simulation.WireBytes:
    """What crosses the network in a round, a client."""
    return simulation.measure_wire_bytes(self.process)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ingredients:
  """What methods are built from; each part is made when it is asked for.

  Attributes:
    config: A checked config.
    task: Its task.
    start_weights: What the start of a fine-tuning has led to; None for a
      config without one.
  """

  config: Mapping[str, Any]
  task: Task
  start_weights: tff.learning.models.ModelWeights | None = None

  @property
  def algorithm(self) -> Mapping[str, Any]:
    """The method's own fields."""
    return self.config['algorithm']

  @functools.cached_property
  def model(self) -> tff.learning.models.FunctionalModel:
    """What is trained by gradients: the task's model, or a part of it."""
    return create_model(
      self.config, self.task, start_weights=self.start_weights
    )

  @property
  def client_optimizer(self) -> tff.learning.optimizers.Optimizer:
    return self.with_weight_decay(
      optimizers.build(
        _client_optimizer(self.algorithm),
        self.config[CLIENT_RATE],
        parameter=CLIENT_RATE,
        factor=self.factor_of(CLIENT_RATE),
        weight_decay=self.config.get('client_weight_decay'),
      )
    )

  @property
  def server_optimizer(self) -> tff.learning.optimizers.Optimizer:
    return optimizers.build(
      self.algorithm['server_optimizer'],
      self.config[SERVER_RATE],
      parameter=SERVER_RATE,
      factor=self.factor_of(SERVER_RATE),
    )

  @property
  def client_weighting(self) -> tff.learning.ClientWeighting:
    import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

    return tff.learning.ClientWeighting[
      self.algorithm['client_weighting'].upper()
    ]

  @property
  def model_aggregator(
    self,
  ) -> tff.aggregators.WeightedAggregationFactory | None:
    """What combines updates; None for what the method does by itself."""
    return privacy.build_model_aggregator(
      self.config, self.task
    ) or compression.build_model_aggregator(self.config)

  @functools.cached_property
  def exchange(self) -> exchange_lib.Exchange | None:
    """Which weights clients send; None for all of them."""
    return exchange_lib.build(self.config, self.task)

  def factor_of(self, rate: str) -> str | None:
    """Returns the parameter by which a schedule multiplies a rate, if any."""
    block = SCHEDULES[rate]
    return _factor(block) if block in self.config else None

  def with_weight_decay(
    self, optimizer: tff.learning.optimizers.Optimizer
  ) -> tff.learning.optimizers.Optimizer:
    """Returns who takes steps on data, with the decay of a fine-tuning."""
    if 'fine_tuning' not in self.config:
      return optimizer
    return client_work.build_weight_decay_optimizer(
      optimizer, self.config['fine_tuning']['weight_decay']
    )


def _client_optimizer(algorithm: Mapping[str, Any]) -> str:
  return algorithm.get('client_optimizer', 'sgd')


def parameter_values(config: Mapping[str, Any]) -> dict[str, float]:
  """Returns what parameters are in a run of a config, by name.

  What is built for another config of the same `registry.sharing_key` then
  computes what is built for this one would.

  Args:
    config: A checked config.
  """
  algorithm = config['algorithm']
  optimizer_of = {
    CLIENT_RATE: _client_optimizer(algorithm),
    SERVER_RATE: algorithm.get('server_optimizer'),
  }
  values = {
    field: optimizers.scaled_rate(optimizer, config[field])
    for field, optimizer in optimizer_of.items()
    # A closed form has no rates.
    if optimizer and field in config
  }
  return values | {'local_epochs': config['local_epochs']}


def round_parameters(
  config: Mapping[str, Any], round_number: int, *, first_round: int
) -> dict[str, float]:
  """Returns what parameters are in a round of a config, by name.

  Args:
    config: A checked config.
    round_number: The round.
    first_round: The last one of what training starts from, 0 without.
  """
  return {
    _factor(block): schedules.factor(
      config[block],
      round_number - first_round,
      rounds=config['rounds'] - first_round,
    )
    for block in SCHEDULES.values()
    if block in config
  }


def _factor(block: str) -> str:
  return f'{block}_factor'


def create_model(
  config: Mapping[str, Any],
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> tff.learning.models.FunctionalModel:
  """Creates the model that a config trains by gradients.

  Args:
    config: A checked config.
    task: Its task.
    start_weights: What the start of a fine-tuning has led to; by default the
      task's own weights.

  Returns:
    The model.

  Raises:
    errors.InputError: If the task does not go with the config.
  """
  if 'fine_tuning' not in config:
    return task.create_checked_model()
  return fine_tuning.create_model(
    config['fine_tuning'],
    task,
    seed=config['seed'],
    start_weights=start_weights,
  )
