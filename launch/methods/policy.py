# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Declarations of policies, which choose the clients of each round.

This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import simulation
from launch.methods import block
from launch.methods import config as config_lib
from launch.methods import config_fields

if typing.TYPE_CHECKING:
  from tasks.task import Task

# The fields that several policies have.
DROPOUT: Mapping[str, fields.Field] = {
  'dropout': fields.Field(
    0.0, fields.below_1, 'The probability that a client does not answer.'
  )
}
OPTIONS: Mapping[str, fields.Field] = {
  **DROPOUT,
  'over_selection': fields.Field(
    0.0,
    fields.number(positive=False),
    'What part of the cohort is asked beyond it; the first answers count.',
  ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ingredients:
  """The parts that policies are built from.

  Attributes:
    config: The config of the run.
    task: The task, whose training clients take part.
    speeds: The clients' seconds; None for a config without speeds.
    accuracy_stages: The stages that training ends by accuracy; None if it does
      not.
  """

  config: config_lib.Config
  task: Task
  speeds: simulation.Speeds | None
  accuracy_stages: simulation.AccuracyStages | None

  @property
  def own(self) -> config_fields.Values:
    """The fields of the block `participation`."""
    return self.config.participation

  @property
  def drawn(self) -> dict[str, Any]:
    """The arguments of participations that draw cohorts from all clients."""
    return {
      'client_ids': self.task.train.client_ids,
      'cohort_size': self.config.cohort_size,
      'seed': self.config.seed,
    }

  def drop_out(
    self, asked: simulation.Participation
  ) -> simulation.Participation:
    """Returns the clients that answer of those that are asked."""
    dropout = self.own.dropout
    if not dropout:
      return asked
    return simulation.drop_out(asked, dropout, seed=self.config.seed)

  def draw(self, size: int) -> simulation.Participation:
    """Returns those of `size` clients, drawn anew each round, that answer."""
    return self.drop_out(
      simulation.uniform_participation(
        self.task.train.client_ids, cohort_size=size, seed=self.config.seed
      )
    )

  def draw_fastest(self, size: int) -> simulation.Participation:
    """Returns the fastest cohort_size of the clients that `draw` returns."""
    answering = self.draw(size)
    if size == self.config.cohort_size:
      return answering
    return simulation.fastest_participation(
      answering, size=self.config.cohort_size, speeds=self.speeds
    )

  def count_over_selected(self) -> int:
    """Returns the number of clients that are asked with over_selection.

    There must be as many training clients.
    """
    cohort_size = self.config.cohort_size
    # Rounded first: a tenth of 70 is 7, not the ceiling of 7.000000000000001.
    over = math.ceil(round(self.own.over_selection * cohort_size, 9))
    return self._check_asked('over_selection', cohort_size + over)

  def count_sampled(self, field: str) -> int:
    """Returns the number of clients that are asked by a field; 0 is for all.

    There must be as many training clients, and no more in a cohort.
    """
    asked = getattr(self.own, field) or len(self.task.train.client_ids)
    return self._check_asked(field, asked)

  def _check_asked(self, field: str, asked: int) -> int:
    cohort_size = self.config.cohort_size
    num_clients = len(self.task.train.client_ids)
    if cohort_size > num_clients:
      # Building the participation refuses this cohort.
      return cohort_size
    if not cohort_size <= asked <= num_clients:
      raise errors.InputError(
        f'participation.{field} must ask from cohort_size, {cohort_size}, to all '
        f'{num_clients} training clients, got {getattr(self.own, field)!r}, '
        f'which asks {asked}.'
      )
    return asked


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy(block.Choice):
  """A choice of the clients of each round, a value of `participation.name`.

  Attributes:
    title: The name in labels of runs.
    build: A function from ingredients to the participation.
    check: A function that raises InputError for a config that the policy does
      not suit.
    needs_speeds: Whether it depends on the clients' seconds.
    visits_once: Whether each client counts at most once.
    is_independent: Whether each client comes independently of all others.
    is_asynchronous: Whether clients may start from earlier models, up to its
      field `max_staleness` steps old.
    first_cohort: A function from a config to the size of the first cohort; None
      if cohorts do not grow.
    create_stages: A function from a config and the number of clients to the
      stages that training ends by accuracy; None if it ends none.
    create_clock: A function from what `build` returns to the clock of its
      rounds; None for rounds that last as long as the slowest client.
  """

  title: str
  build: Callable[[Ingredients], simulation.Participation]
  check: Callable[[config_lib.Config], None] = lambda config: None
  needs_speeds: bool = False
  visits_once: bool = False
  is_independent: bool = False
  is_asynchronous: bool = False
  first_cohort: Callable[[config_lib.Config], int | None] = lambda config: None
  create_stages: Callable[
    [config_lib.Config, int], simulation.AccuracyStages | None
  ] = lambda config, num_clients: None
  create_clock: Callable[[Any], simulation.WallClock] | None = None

  @property
  def absent(self) -> Mapping[str, Any]:
    """The values of fields where a config has no dropouts or speeds."""
    options = {n: f for n, f in self.fields.items() if n in OPTIONS}
    speeds = {} if self.needs_speeds else {'speeds': None}
    return {**fields.defaults(options), **speeds}
