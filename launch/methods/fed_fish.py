# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish (Dhawan et al., 2024): a mean weighted by Fisher information."""

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff import fields
from launch.methods import building
from launch.methods import fed_avg
from launch.methods import method
from launch.methods import optimizers


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  algorithm, task = parts.algorithm, parts.task
  estimator = choices.FisherEstimator(algorithm.fisher_estimator)
  if (
    estimator is choices.FisherEstimator.SAMPLED_LABEL
    and task.label_sampler is None
  ):
    raise errors.InputError(
      'algorithm.fisher_estimator must be batch_gradient or per_example, since '
      f'the model of task {task.name!r} defines no distribution of labels, got '
      'sampled_label.'
    )
  return parts.build(
    algorithms.build_fed_fish,
    local_epochs=parts.config.local_epochs,
    fisher_estimator=estimator,
    fisher_normalization=choices.FisherNormalization(
      algorithm.fisher_normalization
    ),
    fisher_granularity=choices.FisherGranularity(algorithm.fisher_granularity),
    damping=algorithm.damping,
    relative_damping=algorithm.relative_damping,
    minimum_denominator=algorithm.minimum_denominator,
    label_sampler=task.label_sampler,
    seed=parts.config.seed,
    diagnostics=algorithm.diagnostics,
    **parts.exchange(),
  )


METHOD = method.Method(
  name='fed_fish',
  title='FedFish',
  fields={
    **optimizers.FIELDS,
    'fisher_estimator': fields.Field(
      'batch_gradient',
      fields.member_of(choices.FisherEstimator),
      "Whose squares make the Fisher diagonal: batch_gradient is the paper's.",
      label=lambda value: value.replace('_', ' '),
    ),
    'fisher_normalization': fields.Field(
      'sum',
      fields.member_of(choices.FisherNormalization),
      'Whether their sum or their mean over batches or examples is taken.',
      label=lambda value: f'{value} of Fisher values',
    ),
    'fisher_granularity': fields.Field(
      'weight',
      fields.member_of(choices.FisherGranularity),
      "Which weights share a value: none (weight, the paper's) or a tensor's.",
      label=lambda value: f'one Fisher value per {value}',
    ),
    'damping': fields.Field(
      0.0,
      fields.number(positive=False),
      'Added to every Fisher value; the larger, the more it is FedAvg.',
      label=lambda value: f'damping {fields.exact(value)}',
    ),
    'relative_damping': fields.Field(
      0.0,
      fields.number(positive=False),
      "This multiple of a client's mean Fisher value is added as well.",
      label=lambda value: f'relative damping {fields.exact(value)}',
    ),
    'minimum_denominator': fields.Field(
      0.0,
      fields.number(positive=False),
      'A sum of Fisher values at or below it counts as 0; for inexact sums.',
      label=lambda value: f'minimum denominator {fields.exact(value)}',
    ),
    'diagnostics': fields.Field(
      False,
      fields.boolean,
      'Whether to measure how many clients decide a weight, and to compare with '
      "FedAvg's update, for two more sums of the model's size.",
    ),
  },
  supports=fed_avg.METHOD.supports
  - {'client_keeps', 'model_aggregator', 'privacy'},
  reasons={
    'client_keeps': 'its mean is of what all clients start from',
    'model_aggregator': 'its mean is a ratio of two sums, which another rule '
    'for either of them would break',
    'privacy': 'its mean is a ratio of two sums, and noise could take that below '
    'the line to zero or under it',
  },
  variants={
    'per_example': {'fisher_estimator': 'per_example'},
    'sampled_label': {'fisher_estimator': 'sampled_label'},
    # It equals FedAvg where clients have no Fisher information.
    'damped': {'fisher_normalization': 'mean', 'damping': 1e-4},
    'relatively_damped': {'relative_damping': 1.0},
    'by_tensor': {'fisher_granularity': 'tensor'},
    'diagnosed': {'diagnostics': True},
  },
  shared_across=building.SHARED,
  draws=lambda algorithm: (
    algorithm.fisher_estimator == choices.FisherEstimator.SAMPLED_LABEL.value
  ),
  averages_models=True,
  build=_build,
)
