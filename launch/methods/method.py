# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Declarations of methods for configs, runs and plots.

A module of this package, or of another, declares one as METHOD. Importing the
module needs no TensorFlow: the library imports it when `build` is called.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import fields as fields_lib
from launch.methods import config_fields
from launch.methods import optimizers

# For each thing that a method may support, the usual reason why it does not.
SUPPORTS: Mapping[str, str] = {
  'barrier': 'its clients have no models of a round to score',
  'client_keeps': 'its clients cannot keep weights of their own',
  'exchange': 'its clients cannot choose what they send',
  'fine_tuning': 'it trains no part of a model',
  'fine_tuning_start': 'it finds no classifier to start from',
  'learning_rates': 'its clients train no model',
  'local_epochs': "it takes one pass over a client's data",
  'model_aggregator': 'it sums more than one update of each client, and no other '
  'rule can take the place of these sums',
  'privacy': 'it sums more than updates that can be clipped and noised',
  'repeated_visits': 'it would count clients as often as they are drawn',
  'statistics': 'it does not declare that it averages statistics, such as those '
  'of batch normalisation',
  'weight_average': 'its clients keep something from round to round, which '
  'belongs to the weights of the last one',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Method:
  """A method, as configs, runs and plots know it.

  Attributes:
    name: The name in configs, `algorithm.name`, and of its variant.
    title: The name in plots and tables.
    build: A function from `building.Ingredients` to `building.BuiltMethod`, the
      model and process of a run, built with TensorFlow.
    fields: The fields of the config's block `algorithm`, beside the name.
    supports: The supported things, a subset of SUPPORTS.
    reasons: The reasons why it does not support something, where they differ
      from those of SUPPORTS.
    variants: The changed values of fields, by the name of the variant.
    server_titles: The method's other names in plots and tables, by the server
      optimizer that gives it such a name.
    baseline: The rank among the methods that others are usually compared with;
      0 for none.
    personalizes: Whether the server's model needs a client's training or layers
      before use, so that runs are judged by personalised models.
    keeps_models: Whether clients end up with models of their own for any
      config; these are scored beside the server's.
    sized: Whether it trains models of other widths than the task's. Only some
      tasks have such models, so that comparisons on any task leave it out.
    averages_models: Whether a plain server step of rate 1 gives a mean of the
      clients' models, so that a model diverges by their steps alone.
    is_asynchronous: Whether its clients may start from earlier models, so that
      it can take answers as they come.
    create_model: A function from `building.Ingredients` to the model of `build`,
      by which runs with other seeds find that they can share what is built.
    shared_across: The fields of a config that `build` does not depend on,
      except through the model's initial weights, the number of training clients
      and `building.parameter_values`. Runs of a sweep that differ only in these
      fields share what is built; by default no two runs do.
    fine_tunes_by: The dotted field with the rate of clients' fine-tuning. A field
      other than `client_learning_rate` is part of the method, and takes no
      candidates.
    check: A function that raises InputError for a config whose other fields do
      not go with the method's, before any run of a sweep.
    draws: A function from the method's fields to whether `build` depends on the
      seed through more than initial weights.
  """

  name: str
  title: str
  build: Callable[[Any], Any]
  fields: Mapping[str, fields_lib.Field]
  supports: frozenset[str]
  reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
  variants: Mapping[str, Mapping[str, Any]] = dataclasses.field(
    default_factory=dict
  )

  server_titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
  baseline: int = 0
  personalizes: bool = False
  keeps_models: bool = False
  sized: bool = False
  averages_models: bool = False
  is_asynchronous: bool = False
  create_model: Callable[[Any], Any] = lambda parts: parts.model
  shared_across: frozenset[str] = frozenset()
  fine_tunes_by: str = config_fields.CLIENT_RATE
  check: Callable[[Any], None] = lambda config: None
  draws: Callable[[config_fields.Values], bool] = lambda algorithm: False

  def __post_init__(self) -> None:
    object.__setattr__(self, 'supports', frozenset(self.supports))
    unknown = (self.supports | set(self.reasons)) - set(SUPPORTS)
    if unknown:
      raise ValueError(
        f'Method {self.name} supports {", ".join(sorted(unknown))}, which '
        f'nobody asks for; there are: {", ".join(SUPPORTS)}.'
      )
    for variant, changes in self.variants.items():
      for field in changes:
        if field not in self.fields:
          raise ValueError(
            f'Variant {variant} of method {self.name} changes the field '
            f'{field}, which the method does not have.'
          )

  @property
  def learning_rates(self) -> tuple[str, ...]:
    """The fields of learning rates that its configs have."""
    if 'learning_rates' not in self.supports:
      return ()
    # A method without a server step has no server optimizer.
    at_server = 'server_optimizer' in self.fields
    return config_fields.CLIENT_RATE, *([config_fields.SERVER_RATE] * at_server)

  @property
  def steps_at_server(self) -> bool:
    """True of a method such as FedSGD, where only the server steps on data."""
    return 'local_epochs' not in self.supports and (
      config_fields.SERVER_RATE in self.learning_rates
    )

  def server_rate(
    self, optimizer: str, *, client_rate: float | None, adaptive_rate: float
  ) -> float | None:
    """Returns the usual learning rate of the server.

    Args:
      optimizer: The server's optimizer, by its name in configs.
      client_rate: The clients' learning rate; None for a config without it.
      adaptive_rate: The task's rate of adaptive optimizers.
    """
    if optimizers.OPTIMIZERS[optimizer].is_adaptive:
      return adaptive_rate
    # A step of FedSGD is one of a client of FedAvg with a single batch; other
    # servers take the aggregate as it is.
    return client_rate if self.steps_at_server else 1.0

  @property
  def chooses_fine_tuning_rate(self) -> bool:
    """True if clients can fine-tune with other rates than that of training."""
    return (
      'learning_rates' in self.supports
      and self.fine_tunes_by == config_fields.CLIENT_RATE
    )

  @property
  def scheduled_rates(self) -> tuple[str, ...]:
    """The learning rates that a schedule can change between rounds."""
    return tuple(
      rate
      for rate in self.learning_rates
      if rate != config_fields.CLIENT_RATE or 'local_epochs' in self.supports
    )

  def why_not(self, what: str) -> str:
    """Returns the reason why the method does not support something."""
    return self.reasons.get(what, SUPPORTS[what])

  def check_fields(self, prefix: str, block: Mapping[str, Any]) -> None:
    """Checks the name and the fields of the method.

    Args:
      prefix: The names of the enclosing blocks, for errors.
      block: The block with the name and the fields.
    """
    name = fields_lib.Field(self.name, fields_lib.text, 'The method.')
    fields_lib.check_block(
      prefix, block, {'name': name, **self.fields}, owner=self.name
    )

  def defaults(self, variant: str = '') -> dict[str, Any]:
    """Returns the block `algorithm` of a config, with its name.

    Args:
      variant: One of `variants`; the method's own name or '' for none.
    """
    return {
      'name': self.name,
      **fields_lib.defaults(self.fields),
      **self.variants.get(variant, {}),
    }
