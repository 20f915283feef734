# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ingredients of methods, made from a config, and the methods built from them.

TensorFlow is imported only when something is built.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import simulation
from launch.methods import config as config_lib
from launch.methods import config_fields
from launch.methods import optimizers

if typing.TYPE_CHECKING:
  from fedfish_tff import algorithms
  from tasks.task import Task

  import tensorflow_federated as tff

TASK = 'task'
MODEL = 'model'
CLIENT_OPTIMIZER = 'client_optimizer'
CLIENT_RATE_FACTOR = f'{config_fields.CLIENT_RATE}_factor'
SERVER_RATE_FACTOR = f'{config_fields.SERVER_RATE}_factor'
EXCHANGE = 'exchange'
MEAN = 'mean'
AGGREGATOR = 'aggregator'
PROCESS = 'process'
# The parts of a run that `build` may change, in the order of their making.
PARTS: Mapping[str, str] = {
  TASK: 'the task, with its clients and its model',
  MODEL: "the model that gradients train; None for the task's",
  CLIENT_OPTIMIZER: "the clients' optimizer",
  CLIENT_RATE_FACTOR: 'the parameter that multiplies the rate of clients, which '
  '`before_round` of a hook sets; None for none',
  SERVER_RATE_FACTOR: 'that of the rate of the server',
  EXCHANGE: 'the function from whether each tensor may be sent, empty for all, to '
  'the arguments of builders that select what clients send',
  MEAN: "the mean that aggregation takes; None for TFF's own",
  AGGREGATOR: "the aggregation of updates; None for the method's own",
  PROCESS: 'the learning process',
}

# Fields that only concern the loop of rounds, like the blocks with `in_loop`;
# no process is built from them.
FIELDS_OF_THE_LOOP = frozenset(
  (
    'batch_size',
    'checkpoint_every',
    'cohort_size',
    'evaluate_every',
    'max_examples_per_client',
    'rounds',
    'stop_after_diverged_rounds',
  )
)

# Fields that most methods are not built from; see `Method.shared_across`.
SHARED = FIELDS_OF_THE_LOOP | {
  config_fields.CLIENT_RATE,
  config_fields.SERVER_RATE,
  'local_epochs',
  'seed',
}

# The column of the bytes that a client sends per round, as the method's paper
# counts them.
PUBLISHED_BYTES = 'communication/published_bytes'


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuiltMethod:
  """The model and process of a run, with their costs and reports.

  Attributes:
    model: The model; its weights are those of the process.
    process: The process; it has client states if clients keep something between
      rounds.
    costs_per_client: The costs of a client per round, by column of metrics.csv.
    solve_path: A function from the state after the last round to the weights
      for each value of `regularization` in the config, with None for a value
      without a solution; validation clients choose among them.
    reported_hparams: The hyper-parameters of the last state that summary.json
      reports.
    train_apart: A function from the cohort's data to the weights of the
      networks, each of the task's model, that clients train separately in the
      first round; None where all clients begin with one model.
      `launch.evaluate` scores the networks' ensemble.
  """

  model: tff.learning.models.FunctionalModel
  process: algorithms.FederatedProcess | algorithms.ClientStateProcess
  costs_per_client: Mapping[str, int] = dataclasses.field(default_factory=dict)
  solve_path: Callable[[Any], Mapping[float, Any]] | None = None
  reported_hparams: tuple[str, ...] = ()
  train_apart: Callable[[Sequence[Any]], Sequence[Any]] | None = None

  @functools.cached_property
  def wire_bytes(self) -> simulation.WireBytes:
    """The bytes that cross the network per round and client."""
    return simulation.measure_wire_bytes(self.process)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ingredients:
  """The parts that methods are built from, each made on demand.

  Attributes:
    config: The config of the run.
    task: The task, as the blocks have changed it.
    start_weights: The weights that the start of a fine-tuning has found; None
      for a config without a start.
  """

  config: config_lib.Config
  task: Task
  start_weights: tff.learning.models.ModelWeights | None = None

  @property
  def algorithm(self) -> config_fields.Values:
    """The fields of the method itself."""
    return self.config.algorithm

  def change(self, part: str, value: Any) -> Any:
    """Returns a part of the run after the changes of the config's blocks.

    Args:
      part: The name of a part, one of PARTS.
      value: The part before the changes.
    """
    for block in self.config.declared:
      if part in block.build:
        value = block.build[part](self, value)
    return value

  @functools.cached_property
  def model(self) -> tff.learning.models.FunctionalModel:
    """The model that gradients train: the task's model or a part of it."""
    model = self.change(MODEL, None)
    if model is None:
      model = self.task.create_checked_model()
    if models.has_statistics(model):
      check_averaged_statistics(self.config)
    return model

  @property
  def client_optimizer(self) -> tff.learning.optimizers.Optimizer:
    decay = self.config.client_weight_decay
    return self.change(
      CLIENT_OPTIMIZER,
      optimizers.build(
        getattr(self.algorithm, 'client_optimizer', 'sgd'),
        self.config.client_learning_rate,
        parameter=config_fields.CLIENT_RATE,
        factor=self.change(CLIENT_RATE_FACTOR, None),
        **({} if decay is None else {'weight_decay': decay}),
      ),
    )

  @property
  def server_optimizer(self) -> tff.learning.optimizers.Optimizer:
    return optimizers.build(
      self.algorithm.server_optimizer,
      self.config.server_learning_rate,
      parameter=config_fields.SERVER_RATE,
      factor=self.change(SERVER_RATE_FACTOR, None),
      **optimizers.server_arguments(self.algorithm),
    )

  @property
  def client_weighting(self) -> tff.learning.ClientWeighting:
    import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

    return tff.learning.ClientWeighting[self.algorithm.client_weighting.upper()]

  @property
  def model_aggregator(
    self,
  ) -> tff.aggregators.WeightedAggregationFactory | None:
    """The factory that aggregates updates; None for the method's own."""
    return self.change(AGGREGATOR, self.change(MEAN, None))

  def build(
    self, build_process: Callable[..., Any], **arguments: Any
  ) -> BuiltMethod:
    """Builds a method whose clients and server both take steps.

    Args:
      build_process: A function of `algorithms` from the model, the clients' and
        the server's optimizer, `client_weighting` and further arguments to a
        process.
      **arguments: The further arguments.
    """
    return BuiltMethod(
      model=self.model,
      process=build_process(
        self.model,
        self.client_optimizer,
        self.server_optimizer,
        client_weighting=self.client_weighting,
        **arguments,
      ),
    )

  def exchange(self, sent: Sequence[bool] = ()) -> dict[str, Any]:
    """Returns the arguments of builders that select what clients send.

    Args:
      sent: Whether clients may send each trainable tensor, for a model with
        names of tensors; empty for all of them.

    Returns:
      The arguments; empty if clients send all of these.
    """
    return self.change(EXCHANGE, lambda sent: {})(sent)


def check_averaged_statistics(config: config_lib.Config) -> None:
  """Checks a config for a model with statistics of batches.

  Args:
    config: The config, whose block batch_normalization says what becomes of the
      statistics; without it, the server averages them.

  Raises:
    errors.InputError: If the server averages the statistics, but the method or
      a block has no place for them.
  """
  own = config.blocks.get('batch_normalization')
  if own is not None and own.statistics != 'averaged':
    return
  method = config.method
  goes, where = "'frozen'", f'for {method.name}'
  reason = method.why_not('statistics')
  if 'statistics' in method.supports:
    # What is averaged beside them would escape their rule, noise or selection.
    others = {
      part: block.name
      for block in config.declared
      for part in block.build
      if part in (EXCHANGE, MEAN, AGGREGATOR)
    }
    if not others:
      return
    if EXCHANGE not in others and 'client_keeps' in method.supports:
      goes = "'frozen' or 'kept'"
    where = f'beside a block {" or ".join(dict.fromkeys(others.values()))}'
    reason = 'the server would average statistics as they are'
  default = '' if own else ', the default'
  raise errors.InputError(
    f"batch_normalization.statistics must be {goes} {where}, got 'averaged'"
    f'{default}: {reason}. GroupNormalization has no statistics to average.'
  )


def prepare(
  config: config_lib.Config,
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> Ingredients:
  """Returns the ingredients of a config, its task changed by its blocks.

  `start_weights` are those that the start of a fine-tuning has found.
  """
  parts = Ingredients(config=config, task=task, start_weights=start_weights)
  return dataclasses.replace(parts, task=parts.change(TASK, task))


def build_method(
  config: config_lib.Config,
  task: Task,
  *,
  start_weights: tff.learning.models.ModelWeights | None = None,
) -> BuiltMethod:
  """Builds the model and the process of a config.

  `start_weights` are those that the start of a fine-tuning has found; None for
  a config without a start.
  """
  parts = prepare(config, task, start_weights=start_weights)
  built = config.method.build(parts)
  return dataclasses.replace(
    built, process=parts.change(PROCESS, built.process)
  )


def parameter_values(config: config_lib.Config) -> dict[str, float]:
  """Returns the values of the parameters in a run of a config, by name.

  With these values, the computations of any config with the same
  `Config.sharing_key` are those built for this config.
  """
  optimizer_of = {
    config_fields.CLIENT_RATE: getattr(
      config.algorithm, 'client_optimizer', 'sgd'
    ),
    config_fields.SERVER_RATE: getattr(
      config.algorithm, 'server_optimizer', None
    ),
  }
  values = {
    rate: optimizers.scaled_rate(optimizer, getattr(config, rate))
    for rate, optimizer in optimizer_of.items()
    # A closed form has no learning rates.
    if optimizer and getattr(config, rate) is not None
  }
  return values | {'local_epochs': config.local_epochs}
