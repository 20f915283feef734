# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""pFedMe: personal models near the global one, by Moreau envelopes.

Dinh, Tran and Nguyen, "Personalized Federated Learning with Moreau Envelopes",
NeurIPS 2020 (arXiv:2006.08848), Algorithm 1.
"""

import collections

from fedfish_tff import errors
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import proximal
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_p_fed_me(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  personal_learning_rate: float = 0.1,
  personal_steps: int = 5,
  personal_strength: float = 15.0,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds pFedMe (Dinh et al., 2020, Algorithm 1).

  Client i begins with w_i = v_i = w, the global weights. On each batch b its
  own model v_i takes K steps towards the minimum of F_i(v; b) + lambda / 2 |v -
  w_i|^2, and w_i one step on the gradient of that minimum:

    K times: v_i <- v_i - alpha (grad F_i(v_i; b) + lambda (v_i - w_i))
    w_i <- w_i - eta lambda (w_i - v_i)

  and the server takes the mean of the w_i: w <- w - beta mean(w - w_i). As in
  the paper's code, v_i goes on from batch to batch, and begins each round at w.

  Args:
    model_fn: A functional model, or a function that returns a variable model,
      without statistics of batches.
    client_optimizer_fn: The optimizer of the steps of w_i; the paper's is SGD
      with rate eta, published as 0.005. Its product with lambda should be below
      1.
    server_optimizer_fn: The optimizer applied to the mean of w - w_i; SGD with
      rate beta, 1 by default.
    personal_learning_rate: alpha, the rate of the steps of v_i, positive. The
      paper's code has 0.1 for MNIST.
    personal_steps: K, 5 in the paper.
    personal_strength: lambda, the strength of the pull, positive; 15 in the
      paper.
    local_epochs: The number of epochs in a client's sequence of batches. It
      only affects `extra_passes`: each batch takes K gradients.
    client_weighting: The clients' weights: uniform, the paper's, or |D_i|
      (times local epochs).
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. A client's state is <personal>, the trainable tensors v_i after
    its last round, and the global ones before its first. Metrics describe v_i
    before its steps on each batch. A client with either model diverging is left
    out of the round, counted, and keeps its state. A client without data
    changes nothing at the server, and its own model is the global one.

    `client_model_weights` are those of v_i, and `local_training` gives v_i
    after a round. The clients' w_i, on which the client-server barrier would be
    measured, do not leave the round.
  """
  local_training_lib.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  averaged_statistics.refuse(model_fn, 'pFedMe')
  errors.check_positive_integer('local_epochs', local_epochs)
  errors.check_range('personal_learning_rate', personal_learning_rate, above=0)
  errors.check_positive_integer('personal_steps', personal_steps)
  errors.check_range('personal_strength', personal_strength, above=0)

  def train(bound, weights, dataset):
    """Returns the training of w_i, and v_i after it."""
    personal_optimizer = tff.learning.optimizers.build_sgdm(
      personal_learning_rate
    )
    begin = local_training_lib.begin_optimizer
    personal_state = begin(personal_optimizer, weights.trainable)

    def step(flat, state, metrics_state, batch):
      personal, optimizer = state
      result = bound.training_gradients(
        flat._replace(trainable=personal), metrics_state, batch
      )
      pulled = proximal.pull_to(
        personal_optimizer, personal_strength, flat.trainable
      )
      gradients = result.gradients
      for number in range(personal_steps):
        if number:
          gradients = bound.loss_gradients(
            flat._replace(trainable=personal),
            *model_functions.split_batch(batch),
          )
        _, personal = pulled.next(personal_state, personal, gradients)
      optimizer, trainable = autograph.convert(client_optimizer_fn.next)(
        optimizer,
        flat.trainable,
        tuple(
          tf.cast(personal_strength, w.dtype) * (w - v)
          for w, v in zip(flat.trainable, personal)
        ),
      )
      return result, trainable, (tuple(personal), optimizer)

    trained, (personal, _) = local_training_lib.train_by_steps(
      bound,
      weights,
      dataset,
      step,
      (weights.trainable, begin(client_optimizer_fn, weights.trainable)),
    )
    return trained, personal

  def client_update(bound, sent, unused_own, dataset):
    trained, personal = train(bound, sent.weights, dataset)
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    return update._replace(
      also_finite=personal, own=collections.OrderedDict(personal=personal)
    )

  def train_personal(bound, weights, dataset):
    trained, personal = train(bound, weights, dataset)
    return trained._replace(
      weights=trained.weights._replace(trainable=personal)
    )

  return composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    initialize_client=lambda server: collections.OrderedDict(
      personal=server.weights.trainable
    ),
    client_weights=lambda server, own: server.weights._replace(
      trainable=own['personal']
    ),
    build_local_training=lambda: local_training_lib.build_training(
      model_fn, train_personal
    ),
    extra_passes=local_epochs * (personal_steps - 1),
  )
