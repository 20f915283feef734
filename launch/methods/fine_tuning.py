# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The block `fine_tuning`: the trained part of a model and its start."""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any

from fedfish_tff import choices
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import block
from launch.methods import building
from launch.methods import closed_form
from launch.methods import config as config_lib
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import evaluation
from launch.methods import participation
from launch.methods import registry

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

# The name of a start from a classifier of zeros.
NO_START = 'none'
# The published client learning rate of Fed3R's fine-tuning.
_LEARNING_RATE = 0.01


class _Starts:
  """The names of starts that are closed forms."""

  def __contains__(self, name: str) -> bool:
    return name != NO_START


def _check_start(config: config_lib.Config) -> None:
  """Checks the start of a fine-tuning, a method with its fields."""
  field, start = 'fine_tuning.start', config.values['fine_tuning']['start']
  name = start.get('name')
  if name == NO_START:
    no_fields = fields.of_checks({'name': fields.text})
    fields.check_block(f'{field}.', start, no_fields, owner=NO_START)
    return
  method = registry.find_method(
    name, field=f'{field}.name', known=[NO_START], trust=config.trust
  )
  if 'fine_tuning_start' not in method.supports:
    raise errors.InputError(
      f'{field}.name must be {NO_START} or a method with a closed form, got '
      f'{name!r}: {method.why_not("fine_tuning_start")}.'
    )
  method.check_fields(f'{field}.', start)


# The values of Fed3R's published fine-tuning.
_FIELDS: Mapping[str, fields.Field] = {
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
# The fields that the run of a start has from the config.
_KEPT = (
  'seed',
  'rounds',
  'cohort_size',
  'batch_size',
  'max_examples_per_client',
  'evaluate_every',
  'checkpoint_every',
  'stop_after_diverged_rounds',
  'task',
)
_TITLES = {'ft': 'FT', 'ft_lp': 'FT-LP', 'ft_feat': 'FT-FEAT'}


def has_start(config: config_lib.Config) -> bool:
  """Returns whether a config begins with a closed-form classifier."""
  own = config.blocks.get('fine_tuning')
  return own is not None and own.start.name != NO_START


def _start(config: config_lib.Config) -> config_lib.Origin | None:
  """Returns the run of the closed form, in which each client comes once."""
  if not has_start(config):
    return None
  values = config.values
  # The visits take simulated time, too.
  speeds = {n: v for n, v in values['participation'].items() if n == 'speeds'}
  first = config_checks.read(
    {
      **{name: values[name] for name in _KEPT},
      'local_epochs': 1,
      'algorithm': dict(values['fine_tuning']['start']),
      'participation': {'name': 'visit_once', **speeds},
      'evaluation': {
        **evaluation.BLOCK.defaults(),
        'personalization_epochs': 0,
        'barrier': False,
      },
    },
    trust=config.trust,
  )
  return config_lib.Origin(config=first)


def _check(config: config_lib.Config) -> None:
  _check_start(config)
  own = config.blocks['fine_tuning']
  if config.client_weight_decay and own.weight_decay:
    raise errors.InputError(
      'client_weight_decay or fine_tuning.weight_decay must be 0, since '
      f'clients would decay by both, got {config.client_weight_decay!r} and '
      f'{own.weight_decay!r}.'
    )
  if not has_start(config):
    if own.strategy == 'ft_feat':
      raise errors.InputError(
        'fine_tuning.start.name must be another than none for '
        'fine_tuning.strategy ft_feat, which freezes the classifier: it would '
        'stay zero.'
      )
  elif participation.policy_of(config).visits_once:
    raise errors.InputError(
      'participation.name must be uniform, since all clients come in the start '
      f'of the fine-tuning already, got {config.participation.name!r}.'
    )


def _label(config: config_lib.Config, name: str) -> str:
  own = config.blocks['fine_tuning']
  title = _TITLES[own.strategy]
  if not has_start(config):
    return name if own.strategy == 'ft' else f'{name}-{title[3:]}'
  start = registry.find_method(own.start.name, trust=config.trust)
  title = f'{start.title}+{title}'
  # Other blocks may have made another method of FedAvg, with another name.
  is_usual = config.method.name == 'fed_avg' and name == config.method.title
  return title if is_usual else f'{title} by {name}'


def _create_model(
  parts: building.Ingredients, model: None
) -> tff.learning.models.FunctionalModel:
  """Creates a model that trains the fine-tuned tensors and freezes the rest.

  Without weights of a start, it has the feature map's weights and a classifier
  of zeros.
  """
  del model
  own, task = parts.config.blocks['fine_tuning'], parts.task
  start = own.start
  whole = models.create_feature_classifier(
    closed_form.create_feature_map(
      start,
      task,
      seed=parts.config.seed,
      wanted_by='fine_tuning' if start.name == NO_START else start.name,
    ),
    num_classes=closed_form.count_classes(task),
    temperature=own.temperature,
  )
  strategy = choices.FineTuning(own.strategy)
  if strategy is choices.FineTuning.FT and not task.feature_map.initial_weights:
    raise errors.InputError(
      f'fine_tuning.strategy must be ft_lp for task {task.name!r}, whose '
      'features come from no weights of the model, so that only the classifier '
      'is trained (task.inputs gives such weights), got ft.'
    )
  return models.partition_model(
    whole, models.fine_tuned_tensors(whole, strategy), start=parts.start_weights
  ).model


def _add_decay(
  parts: building.Ingredients, optimizer: tff.learning.optimizers.Optimizer
) -> tff.learning.optimizers.Optimizer:
  return client_work.build_weight_decay_optimizer(
    optimizer, parts.config.blocks['fine_tuning'].weight_decay
  )


def _axes() -> Mapping[str, Mapping[str, Any]]:
  # These starts take the published values; the presets are for zeros.
  published = fields.defaults(_FIELDS)
  return {
    'start': {
      name: {
        'start': registry.find_method(name).defaults(),
        'temperature': published['temperature'],
        'weight_decay': published['weight_decay'],
      }
      for name in registry.names('fine_tuning_start')
    }
  }


BLOCK = block.Block(
  name='fine_tuning',
  help='a linear classifier on features of which a part is trained: ft all of it, '
  'ft_lp the classifier, ft_feat what is before it; with start=METHOD from the '
  'closed form of a method, whose visits come before the rounds of the config',
  fields=_FIELDS,
  # From zeros, the classifier is trained like any other model.
  presets={
    strategy.value: {
      'strategy': strategy.value,
      'temperature': 1.0,
      'weight_decay': 0.0,
    }
    for strategy in choices.FineTuning
  },
  axes=_axes,
  supports='fine_tuning',
  sets=(
    block.Rule(
      config_fields.CLIENT_RATE,
      (_LEARNING_RATE,),
      'whose fine-tuning has this published rate',
      when={'start.name': _Starts()},
    ),
  ),
  check=_check,
  label=_label,
  # Each run with a start finds its frozen weights; without one, they depend on
  # the seed.
  built_from=lambda config: None if has_start(config) else frozenset({'seed'}),
  build={building.MODEL: _create_model, building.CLIENT_OPTIMIZER: _add_decay},
  after=('aggregation', 'compression', 'exchange'),
  start=_start,
)
