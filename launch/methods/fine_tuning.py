# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A config's block `fine_tuning`: which part of a model is trained, from where.

Plain Python, without TensorFlow, which is imported when a model is made.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import closed_form
from launch.methods import fields
from launch.methods import participation

if typing.TYPE_CHECKING:
  from tasks.task import Task

  import tensorflow_federated as tff

# A fine-tuning that starts from a classifier of zero.
NO_START = 'none'

# Values are those of Fed3R's published fine-tuning.
FIELDS: Mapping[str, fields.Field] = {
  'strategy': fields.Field(
    'ft_lp',
    fields.member_of(choices.FineTuning),
    'What is trained: ft all, ft_lp the classifier, ft_feat what is before it.',
  ),
  'temperature': fields.Field(
    0.1, fields.number(positive=True), 'What logits are divided by.'
  ),
  'weight_decay': fields.Field(
    4e-5, fields.number(positive=False), 'L2 penalty of what is trained.'
  ),
  'start': fields.Field(
    {'name': NO_START},
    fields.block,
    'The closed-form method to start from, with its fields; or none.',
  ),
}


STRATEGIES = tuple(strategy.value for strategy in choices.FineTuning)


def defaults(strategy: str, start: Mapping[str, Any] | None) -> dict[str, Any]:
  """Returns the block `fine_tuning` of a config.

  Args:
    strategy: One of STRATEGIES.
    start: The block of a method with a closed form; None to train the
      classifier from zero, as any other model without temperature and decay.
  """
  block = fields.defaults(FIELDS)
  block['strategy'] = strategy
  if start is None:
    return {**block, 'temperature': 1.0, 'weight_decay': 0.0}
  return {**block, 'start': dict(start)}


def has_start(config: Mapping[str, Any]) -> bool:
  """Whether a config begins with a closed-form classifier."""
  fine_tuning = config.get('fine_tuning')
  return (
    fine_tuning is not None and fine_tuning['start'].get('name') != NO_START
  )


def check(config: Mapping[str, Any]) -> None:
  """Checks the block `fine_tuning` and what it goes with.

  Args:
    config: With the block; its other blocks are checked already.

  Raises:
    errors.InputError: If a field is missing, unknown or out of range, or does
      not go with another one.
  """
  block = config['fine_tuning']
  fields.check_block('fine_tuning.', block, FIELDS)
  if config.get('client_weight_decay') and block['weight_decay']:
    raise errors.InputError(
      f'client_weight_decay is {config["client_weight_decay"]!r}, but '
      f'fine_tuning.weight_decay is {block["weight_decay"]!r}, and clients '
      'would decay by both; 0 was expected for one of them.'
    )
  if not has_start(config):
    if block['strategy'] == 'ft_feat':
      raise errors.InputError(
        'fine_tuning.strategy is ft_feat, which freezes the classifier, but '
        'fine_tuning.start.name is none, with which that is zero; another '
        'start or strategy was expected.'
      )
  elif config['participation']['name'] in participation.VISITS:
    raise errors.InputError(
      f'participation.name is {config["participation"]["name"]!r}, but all '
      'clients come in the start of the fine-tuning already; uniform was '
      'expected.'
    )


def create_model(
  fine_tuning: Mapping[str, Any],
  task: Task,
  *,
  seed: int,
  start_weights: tff.learning.models.ModelWeights | None,
) -> tff.learning.models.FunctionalModel:
  """Creates the model of the tensors that are fine-tuned, the others frozen.

  Args:
    fine_tuning: The checked block of the config.
    task: The task.
    seed: Of random features.
    start_weights: Of the whole model; None for the feature map's own and a
      classifier of zero.

  Returns:
    The model.

  Raises:
    errors.InputError: If the task's model has no features, or none that can be
      trained where the strategy trains them only.
  """
  start = fine_tuning['start']
  whole = models.create_feature_classifier(
    closed_form.create_feature_map(
      start,
      task,
      seed=seed,
      wanted_by='fine_tuning' if start['name'] == NO_START else start['name'],
    ),
    num_classes=closed_form.count_classes(task),
    temperature=fine_tuning['temperature'],
  )
  strategy = choices.FineTuning(fine_tuning['strategy'])
  if strategy is choices.FineTuning.FT and not task.feature_map.initial_weights:
    raise errors.InputError(
      f'fine_tuning.strategy is ft, but the features of task {task.name!r} '
      'come from no weights of the model, so that only the classifier is '
      'trained; ft_lp was expected, or a task with such weights (task.inputs).'
    )
  return models.partition_model(
    whole, models.fine_tuned_tensors(whole, strategy), start=start_weights
  ).model
