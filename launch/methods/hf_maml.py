# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""HF-MAML (Fallah et al., 2020): a model that one step personalises."""

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import fields
from launch.methods import building
from launch.methods import fed_avg
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  algorithm = parts.algorithm
  return parts.build(
    algorithms.build_hf_maml,
    personal_learning_rate=algorithm.personal_learning_rate,
    meta_gradient=choices.MetaGradient(algorithm.order),
    meta_batches=choices.MetaBatches(algorithm.batches),
    difference=algorithm.difference,
    local_epochs=parts.config.local_epochs,
    model_aggregator=parts.model_aggregator,
  )


METHOD = method.Method(
  name='hf_maml',
  title='HF-MAML',
  fields={
    **optimizers.FIELDS,
    **optimizers.UNIFORM,
    'personal_learning_rate': fields.Field(
      1e-2,
      fields.number(positive=False),
      "alpha, of a client's own step; SRPFL's code has 0.01 with a "
      'client_learning_rate of 0.1.',
    ),
    'order': fields.Field(
      'hessian_free',
      fields.member_of(choices.MetaGradient),
      'How its Hessian is had: by differences of gradients (of models without '
      'dropout), exact by automatic differentiation, or first_order, left out.',
      label=lambda value: f'{value} meta-gradients'.replace('_', ' '),
    ),
    'difference': fields.Field(
      1e-3,
      fields.number(positive=True),
      'delta of hessian_free, how far from the weights gradients are taken.',
      goes_with={'order': ('hessian_free',)},
    ),
    'batches': fields.Field(
      'independent',
      fields.member_of(choices.MetaBatches),
      "Whether a step takes a client's next three batches (two, if first_order) "
      'or has one, shared, for all.',
      label=lambda value: f'{value} batches',
    ),
  },
  supports=fed_avg.METHOD.supports
  - {'barrier', 'client_keeps', 'exchange', 'statistics'},
  reasons={
    'barrier': "a client's own model is made by other steps than those of a round"
  },
  personalizes=True,
  fine_tunes_by='algorithm.personal_learning_rate',
  # Costs depend on the epochs.
  shared_across=building.SHARED - {'local_epochs'},
  build=_build,
)
