# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA (Wang et al., 2020): layer-wise matching and averaging of networks."""

from __future__ import annotations

import typing

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  task, growth = parts.task, parts.algorithm.growth
  widths = ()
  if task.create_sized_model is not None:
    hidden_layers = algorithms.find_hidden_layers(parts.model)
    widths = [layer.width for layer in hidden_layers]
  if not widths:
    raise errors.InputError(
      'The task of fed_ma must have models with hidden layers of any width, '
      f'such as digits, cifar10_dirichlet or shakespeare, got {task.name!r}.'
    )
  max_widths = [width * growth for width in widths]
  process = algorithms.build_fed_ma(
    task.create_sized_model,
    parts.client_optimizer,
    widths=widths,
    seed=parts.config.seed,
    local_epochs=parts.config.local_epochs,
    max_widths=max_widths,
    last_layer_optimizer_fn=_last_layer_optimizer(parts),
    gamma=parts.algorithm.gamma,
    average=choices.UnitAverage(parts.algorithm.unit_average),
  )
  return building.BuiltMethod(
    model=task.create_sized_model(max_widths, parts.config.seed),
    process=process,
    train_apart=process.train_apart,
  )


def _last_layer_optimizer(
  parts: building.Ingredients,
) -> tff.learning.optimizers.Optimizer:
  algorithm = parts.algorithm
  factor = algorithm.last_layer_rate_factor
  return client_work.build_weight_decay_optimizer(
    optimizers.build(
      algorithm.client_optimizer,
      factor * parts.config.client_learning_rate,
      # A name of its own, so that no run replaces this rate.
      parameter='last_layer_learning_rate',
      factor=parts.change(building.CLIENT_RATE_FACTOR, None),
    ),
    algorithm.last_layer_weight_decay,
  )


METHOD = method.Method(
  name='fed_ma',
  title='FedMA',
  fields={
    'client_optimizer': optimizers.FIELDS['client_optimizer']._replace(
      default='sgdm'
    ),
    'last_layer_rate_factor': fields.Field(
      0.1,
      fields.number(positive=True),
      'By how much client_learning_rate is multiplied where the last layer is '
      'trained alone; the published code has a tenth.',
    ),
    'last_layer_weight_decay': fields.Field(
      1e-4,
      fields.number(positive=False),
      'L2 penalty there, as the published code has it; 0 for none.',
    ),
    'gamma': fields.Field(
      7.0,
      fields.number(positive=True),
      'How readily clients add units to those of the server; the paper has 7 '
      'for images and 0.001 for an LSTM.',
    ),
    'unit_average': fields.Field(
      choices.UnitAverage.MEAN.value,
      fields.member_of(choices.UnitAverage),
      'What the weights of a matched unit are; over_all is Algorithm 1 as it is '
      'written, posterior_mean what the published code for images has.',
    ),
    'growth': fields.Field(
      2,
      fields.integer(1),
      "How many times as wide as the clients' layers the server's may become.",
    ),
  },
  supports={'learning_rates', 'local_epochs', 'repeated_visits'},
  reasons={
    'barrier': 'its clients start their first round from networks of their own',
    'fine_tuning': 'it trains whole networks, of several widths',
  },
  sized=True,
  # Costs depend on the local epochs, the matching on the seed, and the last
  # layer's rate is built in.
  shared_across=building.FIELDS_OF_THE_LOOP,
  build=_build,
)
