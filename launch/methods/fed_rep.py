# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep (Collins et al., 2021): personal heads, then the shared body."""

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import building
from launch.methods import config as config_lib
from launch.methods import local_layers
from launch.methods import method
from launch.methods import optimizers


def _check(config: config_lib.Config) -> None:
  if config.algorithm.body_epochs >= config.local_epochs:
    raise errors.InputError(
      'local_epochs must be above algorithm.body_epochs, '
      f'{config.algorithm.body_epochs}, since the head is trained in those '
      f'before, got {config.local_epochs}.'
    )


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  body_epochs = parts.algorithm.body_epochs
  local_tensors = local_layers.select(parts, 'local_layers')
  return parts.build(
    algorithms.build_fed_rep,
    local_tensors=local_tensors,
    head_epochs=parts.config.local_epochs - body_epochs,
    body_epochs=body_epochs,
    **local_layers.arguments(parts, local_tensors),
  )


METHOD = method.Method(
  name='fed_rep',
  title='FedRep',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'local_layers': local_layers.LAYERS,
    'body_epochs': fields.Field(
      1,
      fields.integer(1),
      'The last of the local_epochs, for the body; the head has those before. '
      "The paper's code has 1 of 11 for CIFAR-10 of two classes a client, 5 of "
      '15 otherwise.',
    ),
  },
  supports=local_layers.SUPPORTS,
  reasons=local_layers.REASONS,
  personalizes=True,
  # The epochs are built in.
  shared_across=building.SHARED - {'local_epochs'},
  keeps_models=True,
  averages_models=True,
  check=_check,
  build=_build,
)
