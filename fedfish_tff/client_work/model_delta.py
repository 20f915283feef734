# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedAvg's client work as a function: training that returns the model delta.

McMahan et al., AISTATS 2017 (arXiv:1602.05629), Algorithm 1, in a form that
other client work can wrap.
"""

import collections

from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import local_training
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def delta_update(
  bound: model_functions.BoundModel,
  start: model_functions.FlatWeights,
  trained: local_training.TrainingResult,
  client_weighting: tff.learning.ClientWeighting,
) -> client_update_lib.ClientUpdate:
  """Returns the <delta> update of a local training; call inside a `tf.function`.

  Call it before another pass over the client's data, which would change the
  metrics of a variable model.

  Args:
    bound: The model, bound to the graph being built.
    start: The weights before training; delta is these minus those after it.
    trained: The result of the training from `start`.
    client_weighting: The client's weight: |D_i| times local epochs, as in TFF,
      or one. A client without examples has weight 0 either way.
  """
  delta = tuple(
    before - after
    for before, after in zip(start.trainable, trained.weights.trainable)
  )
  return client_update_lib.ClientUpdate(
    update=collections.OrderedDict(delta=delta),
    weight=client_update_lib.client_weight(
      trained.num_examples, client_weighting
    ),
    metrics=bound.unfinalized_metrics(trained.metrics_state),
    trained=trained.weights,
  )


def build_model_delta_update(
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> client_update_lib.ClientUpdateFn:
  """Builds one client's <delta> update for averaging models.

  Args:
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    client_weighting: The client's weight, as in `delta_update`.

  Returns:
    A function for `algorithms.compose`.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')

  def train(bound, weights, dataset):
    return local_training.train_locally(
      bound, client_optimizer_fn, weights, dataset
    )

  return build_trained_delta_update(train, client_weighting=client_weighting)


def build_trained_delta_update(
  train: local_training.TrainFn,
  *,
  client_weighting: tff.learning.ClientWeighting,
) -> client_update_lib.ClientUpdateFn:
  """Builds one client's <delta> update with any local training.

  The client's weight is that of `delta_update`.
  """

  def client_update(bound, sent, unused_own, dataset):
    trained = train(bound, sent.weights, dataset)
    return delta_update(bound, sent.weights, trained, client_weighting)

  return client_update
