# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config as one frozen value; `config_checks.read` makes it of mappings.

Plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import types
import typing
from typing import Any

if typing.TYPE_CHECKING:
  from launch.methods import method as method_lib

# The fields of learning rates.
CLIENT_RATE, SERVER_RATE = 'client_learning_rate', 'server_learning_rate'


class Values(types.SimpleNamespace):
  """The fields of a block as attributes, which cannot be set."""

  def __setattr__(self, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f'cannot assign to field {name!r}')

  @classmethod
  def of(cls, block: Mapping[str, Any]) -> Values:
    """Returns the fields of a block; blocks inside are `Values`, too."""
    return cls(
      **{
        name: cls.of(value) if isinstance(value, Mapping) else value
        for name, value in block.items()
      }
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """The fields of a config, all of them checked.

  Attributes:
    values: All fields as nested mappings, as config.json has them.
    method: The declaration of the method.
    seed: The seed of everything random.
    rounds: The last round.
    cohort_size: The clients of a round.
    local_epochs: The epochs of a client in a round.
    batch_size: The examples of a batch.
    max_examples_per_client: The cap on a client's examples in a round; 0 for
      none.
    evaluate_every: The rounds from one evaluation to the next.
    checkpoint_every: The rounds from one checkpoint to the next.
    algorithm: The method's name and own fields.
    task: The task's name and options.
    evaluation: `personalization_epochs`, `personalization_learning_rates` and
      `barrier`.
    client_learning_rate: None for a method without it, as the next two.
    server_learning_rate: The server's rate.
    client_weight_decay: The decay of clients' adamw.
    blocks: The blocks of `block.own_blocks` that the config has, by name.
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
  algorithm: Values
  task: Mapping[str, Any]
  evaluation: Values
  client_learning_rate: float | None = None
  server_learning_rate: float | None = None
  client_weight_decay: float | None = None
  blocks: Mapping[str, Values] = dataclasses.field(default_factory=dict)

  @property
  def participation(self) -> Values:
    """Who takes part."""
    return self.blocks['participation']
