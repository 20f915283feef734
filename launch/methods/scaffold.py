# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD (Karimireddy et al., 2020): clients keep a control variate."""

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import fields
from launch.methods import building
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=algorithms.build_scaffold(
      parts.model,
      parts.client_optimizer,
      parts.server_optimizer,
      num_clients=len(parts.task.train.client_ids),
      control_update=choices.ControlUpdate(parts.algorithm.control_update),
      local_epochs=parts.config.local_epochs,
      client_weighting=parts.client_weighting,
    ),
  )


METHOD = method.Method(
  name='scaffold',
  title='SCAFFOLD',
  fields={
    **optimizers.SERVER_FIELDS,
    **optimizers.UNIFORM,
    'control_update': fields.Field(
      choices.ControlUpdate.LOCAL_STEPS.value,
      fields.member_of(choices.ControlUpdate),
      "What a client's control variate becomes: local_steps is the paper's "
      'option II, gradient its option I.',
    ),
  },
  supports={
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'repeated_visits',
    'statistics',
  },
  reasons={
    'barrier': 'its clients train with control variates, so that their own '
    'models cannot be trained again outside of the round',
    'privacy': 'its control variates are a second sum',
  },
  shared_across=building.SHARED,
  build=_build,
)
