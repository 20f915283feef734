# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Answers of a config's blocks to what runs ask, so that none is named there.

This is plain Python, without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import block as block_lib
from launch.methods import config as config_lib

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff


def clients_keep_models(config: config_lib.Config) -> bool:
  """Returns whether clients end up with models of their own."""
  return config.method.keeps_models or any(
    block.keeps_models(config.blocks[block.name])
    for block in block_lib.blocks_of(config)
  )


def has_one_model(config: config_lib.Config) -> bool:
  """Returns whether all clients, held-out ones too, end up with one model."""
  return not (clients_keep_models(config) or config.method.personalizes)


def find_origin(config: config_lib.Config) -> block_lib.Origin | None:
  """Returns the origin of the weights that a run begins with, if any."""
  found = {
    block.name: block.start(config) for block in block_lib.blocks_of(config)
  }
  return _only({name: of for name, of in found.items() if of}, 'a start')


def _only(found: Mapping[str, Any], what: str) -> Any:
  """Returns the only value, if any, of what a block declares, by its name."""
  if len(found) > 1:
    raise errors.InputError(
      f'The config must have one block with {what} at most, got '
      f'{" and ".join(found)}.'
    )
  return next(iter(found.values()), None)


def merge(
  config: config_lib.Config,
  task: Task,
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
) -> tuple[
  tff.learning.models.FunctionalModel, tff.learning.models.ModelWeights
]:
  """Returns an equivalent model without the blocks that can be merged.

  Args:
    config: The config.
    task: The task.
    model: The trained model.
    weights: Its weights.

  Returns:
    The model and its weights.
  """
  for block in block_lib.blocks_of(config):
    model, weights = block.merge(config, task, model, weights)
  return model, weights


def build_hooks(experiment: block_lib.Experiment) -> list[simulation.Hook]:
  """Builds the hooks of all blocks of an experiment's config, in order."""
  blocks = block_lib.blocks_of(experiment.config)
  return [hook for block in blocks for hook in block.hooks(experiment)]


def find_stopping(config: config_lib.Config) -> block_lib.Block | None:
  """Returns the block that decides on the last and the best round, if any."""
  deciding = {
    block.name: block
    for block in block_lib.blocks_of(config)
    if block.restores_best is not None
  }
  return _only(deciding, 'a choice of the best round')


def restores_best(config: config_lib.Config) -> bool:
  """Returns whether a run's model is that of its best evaluation."""
  deciding = find_stopping(config)
  return deciding is not None and deciding.restores_best(config)


def build_stopping(
  experiment: block_lib.Experiment, rows: Iterable[simulation.Metrics]
) -> simulation.EarlyStopping | None:
  """Builds the hook that decides on the last and the best round, if any.

  Args:
    experiment: The experiment.
    rows: The rows of metrics.csv on which it decides first.
  """
  deciding = find_stopping(experiment.config)
  if deciding is None:
    return None
  (stopping,) = deciding.hooks(experiment)
  stopping.observe_rows(rows)
  return stopping
