# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedMA (Wang et al., 2020): networks are matched and averaged by layers."""

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import errors
from launch.methods import building
from launch.methods import fields
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  task, growth = parts.task, parts.algorithm['growth']
  widths = ()
  if task.create_sized_model is not None:
    hidden_layers = algorithms.find_hidden_layers(parts.model)
    widths = [layer.width for layer in hidden_layers]
  if not widths:
    raise errors.InputError(
      f'The task is {task.name!r}, whose models have no hidden layers that '
      'could have other widths; a perceptron such as that of digits was '
      'expected for fed_ma.'
    )
  max_widths = [width * growth for width in widths]
  return building.BuiltMethod(
    model=task.create_sized_model(max_widths, parts.config['seed']),
    process=algorithms.build_fed_ma(
      task.create_sized_model,
      parts.client_optimizer,
      widths=widths,
      seed=parts.config['seed'],
      local_epochs=parts.config['local_epochs'],
      max_widths=max_widths,
      gamma=parts.algorithm['gamma'],
      average=choices.UnitAverage(parts.algorithm['unit_average']),
    ),
  )


METHOD = method.Method(
  name='fed_ma',
  title='FedMA',
  fields={
    'client_optimizer': optimizers.FIELDS['client_optimizer']._replace(
      default='sgdm'
    ),
    'gamma': fields.Field(
      7.0,
      fields.number(positive=True),
      'How readily clients add units to those of the server; the paper has 7 '
      'for images.',
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
  # Its cost is counted by the local epochs, and seeds are in the matching.
  shared_across=lambda config: (
    building.FIELDS_OF_THE_LOOP | {building.CLIENT_RATE, building.SERVER_RATE}
  ),
  build=_build,
)
