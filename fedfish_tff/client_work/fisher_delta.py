# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish's client work: a model delta and the Fisher diagonal after it.

Dhawan et al., TMLR 2024 (arXiv:2311.10291), Algorithm 2. The client trains for
E epochs, then passes over its data once more at its final weights to sum
squared gradients. Delta_i = theta_G - theta_i, which for SGD equals the paper's
sum of eta_c g, and is defined for any other client optimizer.
"""

import collections

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import fisher
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_fisher_delta_update(
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  fisher_estimator: choices.FisherEstimator = (
    choices.FisherEstimator.BATCH_GRADIENT
  ),
  fisher_normalization: choices.FisherNormalization = (
    choices.FisherNormalization.SUM
  ),
  fisher_granularity: choices.FisherGranularity = (
    choices.FisherGranularity.WEIGHT
  ),
  damping: float = 0.0,
  relative_damping: float = 0.0,
  label_sampler: model_functions.LabelSampler | None = None,
  seed: int = 0,
) -> client_update_lib.ClientUpdateFn:
  """Builds one client's <delta, fisher> update for FedFish.

  Args:
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    local_epochs: The number of epochs in the client's sequence of batches, one
      after another; batches that straddle epochs fail. The Fisher pass takes
      the first epoch, which holds each example once.
    client_weighting: The client's weight: |D_i| (examples of one epoch) or one.
      A client without examples has weight 0 either way.
    fisher_estimator: The squared gradients that make the Fisher diagonal.
    fisher_normalization: Their sum, or their mean.
    fisher_granularity: The weights that share a Fisher value.
    damping: The constant added to every F_i. With it a coordinate with zero
      Fisher at every client gets FedAvg's update, and very large damping is
      FedAvg.
    relative_damping: The multiple of the mean of F_i over all weights that is
      added to every F_i, so that the scale of gradients does not matter.
    label_sampler: A function that draws labels, needed by
      choices.FisherEstimator.SAMPLED_LABEL.
    seed: The seed of the sampled labels.

  Returns:
    A function for `algorithms.compose` with the update <delta, fisher>. The
    server's state must be the number of the round, for random draws.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  errors.check_positive_integer('local_epochs', local_epochs)
  for name, value, kind in (
    ('fisher_estimator', fisher_estimator, choices.FisherEstimator),
    ('fisher_normalization', fisher_normalization, choices.FisherNormalization),
    ('fisher_granularity', fisher_granularity, choices.FisherGranularity),
  ):
    errors.check_choice(name, value, kind)
  errors.check_range('damping', damping, least=0)
  errors.check_range('relative_damping', relative_damping, least=0)
  if (
    fisher_estimator is choices.FisherEstimator.SAMPLED_LABEL
    and label_sampler is None
  ):
    raise errors.InputError(
      'The sampled_label Fisher estimator needs a label_sampler that fits '
      "the model's loss, such as categorical_label_sampler()."
    )

  def client_update(bound, sent, unused_own, dataset):
    weights = sent.weights
    trained = local_training.train_locally(
      bound, client_optimizer_fn, weights, dataset
    )
    update = model_delta.delta_update(bound, weights, trained, client_weighting)
    batches_per_epoch = local_training.count_batches_of_an_epoch(
      trained.num_batches, local_epochs, method='FedFish'
    )
    diagonal, num_examples = fisher.fisher_diagonal(
      bound,
      trained.weights,
      dataset.take(batches_per_epoch),
      estimator=fisher_estimator,
      normalization=fisher_normalization,
      label_sampler=label_sampler,
      seed=seed,
      round_number=sent.state,
    )
    num_examples = local_training.check_whole_epochs(
      num_examples, trained.num_examples, local_epochs, method='FedFish'
    )
    if fisher_estimator is not choices.FisherEstimator.BATCH_GRADIENT:
      num_examples = _check_statistics(num_examples, weights, trained.weights)
    weight = client_update_lib.client_weight(num_examples, client_weighting)
    if fisher_granularity is choices.FisherGranularity.TENSOR:
      diagonal = tuple(
        tf.fill(tf.shape(f), tf.reduce_mean(f)) for f in diagonal
      )
    added = [tf.constant(damping, f.dtype) for f in diagonal]
    if relative_damping:
      total = tf.add_n([tf.reduce_sum(f) for f in diagonal])
      size = sum(tf.size(f) for f in diagonal)
      mean = total / tf.cast(size, total.dtype)
      added = [a + relative_damping * mean for a in added]
    damped = tuple(f + a for f, a in zip(diagonal, added))
    return update._replace(
      update=collections.OrderedDict(update.update, fisher=damped),
      weight=weight,
      # The products that the aggregator sums may overflow where both factors
      # are finite, which would void the round of all clients.
      also_finite=tuple(
        tf.cast(weight, f.dtype) * f * (1 + tf.abs(d))
        for f, d in zip(damped, update.update['delta'])
      ),
    )

  return client_update


def _check_statistics(
  num_examples: tf.Tensor,
  before: model_functions.FlatWeights,
  after: model_functions.FlatWeights,
) -> tf.Tensor:
  """Checks that training has changed no statistics of batches.

  Normalised by its own statistics, a batch of one example is constant, so that
  the layers before have no gradient.

  Returns:
    `num_examples`, which fails to compute if statistics have changed.
  """
  same = [
    tf.reduce_all(tf.equal(old, new))
    for old, new in zip(before.non_trainable, after.non_trainable)
  ]
  if not same:
    return num_examples
  unchanged = tf.debugging.Assert(
    tf.reduce_all(tf.stack(same)),
    [
      'fisher_estimator must be BATCH_GRADIENT (in a config: batch_gradient) '
      'for a model with statistics of batches, such as batch normalisation, '
      'since the others take one example at a time.'
    ],
  )
  with tf.control_dependencies([unchanged]):
    return tf.identity(num_examples)
