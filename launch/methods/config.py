# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config as one frozen value, which `config_checks.read` makes of mappings.

This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import json
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff import trust as trust_lib
from launch.methods import config_fields
from launch.methods import method as method_lib

if typing.TYPE_CHECKING:
  from tasks.task import Task


class Origin(NamedTuple):
  """The origin of the weights that a run begins with, kept in its workdir.

  Attributes:
    config: The config of a run that is trained first, in which each client
      comes once, and whose rounds and costs count; None for weights that are
      read. Its `rounds` are without meaning: `Config.first_run` sets them.
    path: The workdir of a run, or a file of weights, that is read.
  """

  config: Config | None = None
  path: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cohorts:
  """The clients of each round.

  Attributes:
    title: The name of their choice in tables.
    participation: The function that returns the cohort of a round.
    accuracy_stages: The stages that training ends by accuracy, updated with
      each row; None if it ends none.
  """

  title: str
  participation: simulation.Participation
  accuracy_stages: simulation.AccuracyStages | None = None

  @property
  def planned(self) -> simulation.Participation:
    """The cohorts, or as many other clients where training chooses them."""
    return getattr(self.participation, 'planned', self.participation)

  @property
  def hooks(self) -> list[simulation.Hook]:
    """The hooks that decide on cohorts by the rows of rounds."""
    found = (self.accuracy_stages, self.participation)
    return [part for part in found if isinstance(part, simulation.Hook)]


class Declared(typing.Protocol):
  """A block's declaration, as its config sees it; `block.Block` has all of it."""

  name: str
  in_loop: bool
  build: Mapping[str, Callable[..., Any]]
  built_from: Callable[[Config], frozenset[str] | None]
  choose: Callable[[Config, Task], Cohorts] | None
  keeps_models: Callable[[config_fields.Values], bool]
  length_field: Callable[[Config], str]
  restores_best: Callable[[Config], bool] | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """The checked fields of a config.

  Attributes:
    values: All fields as nested mappings, in the form of config.json.
    method: The declaration of the method.
    seed: The seed of everything that is random.
    rounds: The number of the last round.
    cohort_size: The number of clients per round.
    local_epochs: The number of epochs per client and round.
    batch_size: The number of examples per batch.
    max_examples_per_client: The cap on a client's examples per round; 0 for
      none.
    evaluate_every: The number of rounds from one evaluation to the next.
    checkpoint_every: The number of rounds from one checkpoint to the next.
    stop_after_diverged_rounds: The number of consecutive rounds without a
      finite update after which a run ends; 0 for never.
    algorithm: The method's name and its own fields.
    task: The task's name and options.
    client_learning_rate: The clients' learning rate; None for a method without
      it.
    server_learning_rate: The server's learning rate; None for a method without
      it.
    client_weight_decay: The weight decay of the clients' adamw; None without
      it.
    blocks: The fields of the config's blocks, by name.
    declared: The declarations of the blocks, in the order of `Block.after`.
    trust: The trust in the programs that the config names.
    origin: The origin of the weights that the run begins with; None for initial
      weights.
    notes: The notes of `method_notes.describe`.
  """

  values: Mapping[str, Any]
  method: method_lib.Method
  seed: int
  rounds: int
  cohort_size: int
  local_epochs: int
  batch_size: int
  max_examples_per_client: int
  evaluate_every: int
  checkpoint_every: int
  stop_after_diverged_rounds: int
  algorithm: config_fields.Values
  task: Mapping[str, Any]
  client_learning_rate: float | None = None
  server_learning_rate: float | None = None
  client_weight_decay: float | None = None
  blocks: Mapping[str, config_fields.Values] = dataclasses.field(
    default_factory=dict
  )
  declared: Sequence[Declared] = ()
  trust: trust_lib.Trust = trust_lib.PYTHON
  origin: Origin | None = None
  notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  @property
  def key(self) -> str:
    """A text that is the same for equal configs."""
    return json.dumps(self.values, sort_keys=True)

  def first_run(self, num_clients: int) -> Config | None:
    """Returns the config of the run that is trained before this one.

    It is None if no run is trained before. This run must have more rounds than
    that one.
    """
    if self.origin is None or self.origin.config is None:
      return None
    rounds = simulation.count_visiting_rounds(
      num_clients, cohort_size=self.cohort_size
    )
    if self.rounds <= rounds:
      raise errors.InputError(
        f'rounds must be {rounds + 1} or more, since the start of the '
        f'fine-tuning, in which all {num_clients} training clients come once, '
        f'takes {rounds}; got {self.rounds}.'
      )
    first = self.origin.config
    return dataclasses.replace(
      first, rounds=rounds, values={**first.values, 'rounds': rounds}
    )

  def create_cohorts(self, task: Task) -> Cohorts:
    """Creates the choice of the clients of each round, by one of the blocks."""
    found = [block for block in self.declared if block.choose is not None]
    if len(found) != 1:
      raise errors.InputError(
        'One block must choose the clients of rounds, which participation does, '
        f'got {", ".join(block.name for block in found)}.'
      )
    return found[0].choose(self, task)

  def judged_by(self, task: Task) -> str:
    """Returns the group of columns of held-out clients that judges the run.

    `evaluation.judged_by` chooses the model, and the task the data: those of
    clients' own test data, if it has any.
    """
    chosen = self.evaluation.judged_by
    # A held-out client gets a model of its own by its first training.
    if chosen == 'auto' and not self.has_one_model:
      chosen = 'fine_tuned'
    tuned = (
      chosen == 'fine_tuned' and self.evaluation.personalization_epochs > 0
    )
    if task.own_test is not None:
      return 'new_fine_tuned' if tuned else 'new_global'
    return 'personalized' if tuned else 'global'

  @functools.cached_property
  def keeps_models(self) -> bool:
    """True if clients end up with models of their own."""
    return self.method.keeps_models or self._blocks_keep_models

  @property
  def has_one_model(self) -> bool:
    """True if all clients, held-out ones too, end up with one model."""
    return not (self.keeps_models or self.method.personalizes)

  @property
  def has_global_model(self) -> bool:
    """True if the server's model is one to use as it is.

    Ditto's is, as FedAvg's. That of FedRep needs layers that clients keep, and
    that of HF-MAML a client's training.
    """
    return not (self.method.personalizes or self._blocks_keep_models)

  @functools.cached_property
  def _blocks_keep_models(self) -> bool:
    return any(
      block.keeps_models(self.blocks[block.name]) for block in self.declared
    )

  @functools.cached_property
  def deciding(self) -> Declared | None:
    """The block that decides on the last and the best round, if any."""
    found = (b for b in self.declared if b.restores_best is not None)
    return next(found, None)

  @functools.cached_property
  def restores_best(self) -> bool:
    """True if the run's model is that of its best evaluation."""
    return self.deciding is not None and self.deciding.restores_best(self)

  @functools.cached_property
  def length_field(self) -> str:
    """A field by which rounds depend on their number; '' without one."""
    found = (block.length_field(self) for block in self.declared)
    return next(filter(None, found), '')

  @property
  def label(self) -> str:
    """The name of the method with all that makes it another one."""
    return self.notes['title']

  @functools.cached_property
  def sharing_key(self) -> str | None:
    """A key, equal for configs that can share built computations.

    None for a run that shares nothing. Configs of one key may differ in seeds and
    so in the tasks' models, which the caller must check.
    """
    seed = {'seed'} if self.method.draws(self.algorithm) else set()
    across = self.method.shared_across - seed
    if not across:
      return None
    across |= {block.name for block in self.declared if block.in_loop}
    for block in self.declared:
      built_from = block.built_from(self)
      if built_from is None:
        if block.in_loop:
          continue
        return None
      across -= built_from
    return json.dumps(
      {name: v for name, v in self.values.items() if name not in across},
      sort_keys=True,
    )

  @property
  def evaluation(self) -> config_fields.Values:
    """The fields of the block `evaluation`."""
    return self.blocks['evaluation']

  @property
  def participation(self) -> config_fields.Values:
    """The fields of the block `participation`."""
    return self.blocks['participation']
