# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `adapters`: what is trained in place of a model's matrices.

Plain Python, without TensorFlow, which is imported when a model is made.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import fields
from launch.methods import method as method_lib

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

# Values are those of Hu et al. (2021) for RoBERTa base, table 9.
FIELDS: Mapping[str, fields.Field] = {
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

# What the axis `adapters` of a variant changes.
PRESETS: Mapping[str, Mapping[str, Any]] = {'lora': {}}


def defaults(preset: str) -> dict[str, Any]:
  """Returns the block of a config, by the name of a preset."""
  return {**fields.defaults(FIELDS), **PRESETS[preset]}


def check(config: Mapping[str, Any], method: method_lib.Method) -> None:
  """Checks the block `adapters` and what it goes with.

  Args:
    config: With the block.
    method: The config's method.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or the
      method or another block does not train the task's own model.
  """
  fields.check_block('adapters.', config['adapters'], FIELDS)
  if method.sized:
    raise errors.InputError(
      f'The config field adapters does not exist for {method.name}: it trains '
      'whole networks, of several widths.'
    )
  if 'fine_tuning' in config:
    raise errors.InputError(
      'The config has a block fine_tuning, which says what is trained, and a '
      'block adapters, which does so too; one of both was expected.'
    )


def adapt_task(config: Mapping[str, Any], task: Task) -> Task:
  """Returns a task whose model has the adapters of a config, if any.

  Args:
    config: A checked config.
    task: Its task.

  Raises:
    errors.InputError: If its model has not what is to be adapted.
  """
  if 'adapters' not in config:
    return task
  adapted = _adapt(config, task)
  return dataclasses.replace(
    task,
    create_model=lambda: adapted.model,
    tensor_names=adapted.tensor_names,
  )


def merge(
  config: Mapping[str, Any],
  task: Task,
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
) -> tuple[
  tff.learning.models.FunctionalModel, tff.learning.models.ModelWeights
]:
  """Returns a model without adapters that computes the same, and its weights.

  Args:
    config: A checked config.
    task: Its task.
    model: What was trained.
    weights: Of it.
  """
  if 'adapters' not in config:
    return model, weights
  return task.create_model(), _adapt(config, task).merge(weights)


def _adapt(config: Mapping[str, Any], task: Task) -> models.AdaptedModel:
  block = config['adapters']
  if not task.tensor_names:
    raise errors.InputError(
      f'adapters.targets chooses layers by names, but the model of task '
      f'{task.name!r} has no names of tensors; one with names was expected.'
    )
  try:
    return models.add_low_rank_adapters(
      task.create_model(),
      tensor_names=task.tensor_names,
      targets=_split(block['targets']),
      trained=_split(block['trained']),
      rank=block['rank'],
      alpha=block['alpha'],
      seed=config['seed'],
    )
  except errors.InputError as error:
    raise errors.InputError(f'The block adapters: {error}') from error


def _split(text: str) -> list[str]:
  return [name.strip() for name in text.split(',') if name.strip()]
