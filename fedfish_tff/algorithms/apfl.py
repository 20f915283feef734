# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""APFL: FedAvg, with a mixture of the global and a local model at each client.

Deng, Kamani and Mahdavi, "Adaptive Personalized Federated Learning", 2020
(arXiv:2003.13461), Algorithm 1.
"""

import collections
from collections.abc import Iterable

from fedfish_tff import errors
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_apfl(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  mixture: float = 0.5,
  adaptive: bool = True,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds APFL (Deng et al., 2020, Algorithm 1).

  Client i's own model is m_i = a_i v_i + (1 - a_i) w_i. On each batch b, with
  w_i starting at the global weights w, it takes the steps

    w_i <- w_i - eta grad F_i(w_i; b)
    v_i <- v_i - eta a_i grad F_i(m_i; b)
    a_i <- a_i - eta <grad F_i(m_i; b), v_i - w_i>, clipped to [0, 1]

  all from the values before the batch. The paper's grad_v F_i(m_i) is the
  gradient by v_i, so it has the factor a_i. The paper's step of a_i has the
  index of a batch, so each batch takes one; the authors' code takes one per
  round. The server's model is FedAvg's. Weights that are not trainable stay at
  their initial values.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, new in each round for w_i and for
      (v_i, a_i).
    server_optimizer_fn: The optimizer applied to the mean model delta; SGD with
      rate 1 by default.
    mixture: a_i at first, in [0, 1]. At a fixed 0 clients use the global model,
      at a fixed 1 they train alone. The paper has 0.25, 0.5 and 0.75.
    adaptive: Whether a_i is trained, too.
    local_epochs: The number of epochs in a client's sequence of batches. It
      only affects `extra_passes`.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform. The paper's are uniform.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    The process. A client's state is <local, mixture>: the trainable tensors of
    v_i, which starts as the global model of the client's first round, and a_i.
    Metrics describe the training of w_i. A client with w_i or v_i diverging is
    left out of the round, counted, and keeps its state. A client without data
    changes nothing.

    `client_model_weights` are m_i with the server's weights as w_i.
    `local_training` is a first round of m_i. `update_is_finite` starts at it,
    too, so `update_is_finite` may miss a client that a round leaves out.
  """
  averaged_statistics.refuse(model_fn, 'APFL')
  errors.check_range('mixture', mixture, least=0, most=1)
  local_training_lib.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')

  def begin(weights):
    return collections.OrderedDict(
      local=weights.trainable,
      mixture=tf.constant(mixture, tf.float32),
    )

  def train(bound, weights, client_state, dataset):
    """Returns the training of w_i, and v_i and a_i after it."""

    def start(tensors):
      return local_training_lib.begin_optimizer(client_optimizer_fn, tensors)

    def step(flat, state, metrics_state, batch):
      (local, share), optimizers = state
      mixed = flat._replace(trainable=_mix(local, flat.trainable, share))
      by_mixed = bound.loss_gradients(
        mixed, *model_functions.split_batch(batch)
      )
      result = bound.training_gradients(flat, metrics_state, batch)
      next_fn = autograph.convert(client_optimizer_fn.next)
      shared_state, trainable = next_fn(
        optimizers[0], flat.trainable, result.gradients
      )
      gradients = tuple(tf.cast(share, g.dtype) * g for g in by_mixed)
      slope = tf.add_n(
        [
          tf.cast(tf.reduce_sum(g * (v - w)), share.dtype)
          for g, v, w in zip(by_mixed, local, flat.trainable)
        ]
      )
      # The share steps from 0, where it has no weight decay.
      own_state, (*local, change) = next_fn(
        optimizers[1], (*local, tf.zeros_like(share)), (*gradients, slope)
      )
      if adaptive:
        share = tf.clip_by_value(share + change, 0.0, 1.0)
      state = (tuple(local), share), (shared_state, own_state)
      return result, trainable, state

    own = (client_state['local'], client_state['mixture'])
    trained, (own, _) = local_training_lib.train_by_steps(
      bound,
      weights,
      dataset,
      step,
      (own, (start(weights.trainable), start(tf.nest.flatten(own)))),
    )
    return trained, collections.OrderedDict(zip(('local', 'mixture'), own))

  def client_update(bound, sent, own, dataset):
    trained, new = train(bound, sent.weights, own, dataset)
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    return update._replace(also_finite=new, own=new)

  def train_first(bound, weights, dataset):
    trained, own = train(bound, weights, begin(weights), dataset)
    flat = trained.weights
    mixed = _mix(own['local'], flat.trainable, own['mixture'])
    return trained._replace(weights=flat._replace(trainable=mixed))

  def client_weights(server, own):
    weights = server.weights
    return weights._replace(
      trainable=_mix(own['local'], weights.trainable, own['mixture'])
    )

  return composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    initialize_client=lambda server: begin(server.weights),
    client_weights=client_weights,
    build_local_training=lambda: local_training_lib.build_training(
      model_fn, train_first
    ),
    extra_passes=local_epochs,
  )


def _mix(
  local: Iterable[tf.Tensor], common: Iterable[tf.Tensor], share: tf.Tensor
) -> tuple[tf.Tensor, ...]:
  """Returns share * local + (1 - share) * common, tensor by tensor."""
  shares = ((tf.cast(share, v.dtype), v, w) for v, w in zip(local, common))
  return tuple(a * v + (1 - a) * w for a, v, w in shares)
