# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `adapters`: low-rank factors trained in place of matrices."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import typing

from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import block
from launch.methods import building
from launch.methods import config as config_lib

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

# The values of Hu et al. (2021) for RoBERTa base, table 9.
_FIELDS: Mapping[str, fields.Field] = {
  'name': fields.Field(
    'lora', fields.one_of('lora'), 'lora: W + alpha / rank B A, W frozen.'
  ),
  'rank': fields.Field(8, fields.integer(1), 'Columns of B and rows of A.'),
  'alpha': fields.Field(8.0, fields.number(positive=True), 'Times B A / rank.'),
  'targets': fields.Field(
    'query,value',
    fields.text,
    'Layers whose matrices are adapted: names or ends of them, with commas.',
  ),
  'trained': fields.Field(
    'classifier',
    fields.text,
    'Layers that are trained as a whole: names of tensors or their beginnings, '
    'with commas; none where it is empty.',
  ),
}


def _adapt_task(parts: building.Ingredients, task: Task) -> Task:
  adapted = _adapt(parts.config, task)
  return dataclasses.replace(
    task, create_model=lambda: adapted.model, tensor_names=adapted.tensor_names
  )


def _merge(
  config: config_lib.Config,
  task: Task,
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
) -> tuple[
  tff.learning.models.FunctionalModel, tff.learning.models.ModelWeights
]:
  """Returns the task's model and its weights."""
  del model
  return task.create_model(), _adapt(config, task).merge(weights)


def _adapt(config: config_lib.Config, task: Task) -> models.AdaptedModel:
  own = config.blocks['adapters']
  names = task.named_tensors('adapters.targets')
  try:
    return models.add_low_rank_adapters(
      task.create_model(),
      tensor_names=names,
      targets=_split(own.targets),
      trained=_split(own.trained),
      rank=own.rank,
      alpha=own.alpha,
      seed=config.seed,
    )
  except errors.InputError as error:
    raise errors.InputError(f'The block adapters: {error}') from error


def _split(text: str) -> list[str]:
  return [name.strip() for name in text.split(',') if name.strip()]


BLOCK = block.Block(
  name='adapters',
  help='frozen matrices, beside which products of two thin ones are trained and '
  'sent',
  fields=_FIELDS,
  presets={'lora': {}},
  supports='learning_rates',
  refuse=block.refuse_sized,
  goes_with=(block.Rule('fine_tuning', (), 'which says what is trained'),),
  label=lambda config, name: f'LoRA {name}',
  # The frozen weights depend on the seed and are built in.
  built_from=lambda config: frozenset({'seed'}),
  build={building.TASK: _adapt_task},
  merge=_merge,
)
