# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""pFedMe (Dinh et al., 2020): personal models near the global one."""

from fedfish_tff import algorithms
from fedfish_tff import fields
from launch.methods import building
from launch.methods import ditto
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  algorithm = parts.algorithm
  return parts.build(
    algorithms.build_p_fed_me,
    personal_learning_rate=algorithm.personal_learning_rate,
    personal_steps=algorithm.personal_steps,
    personal_strength=algorithm.personal_strength,
    local_epochs=parts.config.local_epochs,
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='p_fed_me',
  title='pFedMe',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'personal_learning_rate': fields.Field(
      0.1,
      fields.number(positive=True),
      "alpha, of the steps of a client's own model; the paper's code has 0.1 "
      'with a client_learning_rate of 0.005.',
    ),
    'personal_steps': fields.Field(
      5,
      fields.integer(1),
      'K, how many of these steps are taken on each batch.',
    ),
    'personal_strength': fields.Field(
      15.0,
      fields.number(positive=True),
      "lambda, how strongly a client's own model is pulled to the global one; "
      'its product with client_learning_rate should be below 1.',
    ),
  },
  supports=ditto.METHOD.supports,
  reasons=ditto.METHOD.reasons,
  shared_across=ditto.METHOD.shared_across,
  keeps_models=True,
  build=_build,
)
