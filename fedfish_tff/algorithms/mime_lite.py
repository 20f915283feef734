# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Mime Lite: local steps with the server's optimizer state.

Karimireddy, Jaggi, Kale, Mohri, Reddi, Stich and Suresh, "Breaking the
centralized barrier for cross-device federated learning", NeurIPS 2021
(arXiv:2008.03606), Algorithm 1 without its control variates.

There are two differences from
`tff.learning.algorithms.build_weighted_mime_lite`. A client with a delta or
gradient that is not finite is left out, where TFF's average of gradients would
become NaN, and with it the server's state for good. And the gradient takes one
pass over the client's data, whatever the local epochs.
"""

import collections
from typing import Any

from fedfish_tff import errors
from fedfish_tff.aggregators import named_parts
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import proximal
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_mime_lite(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  model_aggregator: (tff.aggregators.WeightedAggregationFactory | None) = None,
) -> process.FederatedProcess:
  """Builds Mime Lite (Karimireddy et al., 2021, Algorithm 1).

  With the server's optimizer state s, client i takes steps from w_i = w, the
  global weights, that leave s unchanged. Then the server steps, with numbers of
  examples n_i:

    w_i <- w_i after a step of (grad F_i(w_i; b), s)
    s <- s after a step of (sum(n_i grad F_i(w)) / sum(n_i), s)
    w <- w - sum(n_i (w - w_i)) / sum(n_i)

  The gradient in the second line is over one epoch, at the w that was sent.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The paper's base optimizer. Clients take steps with it.
      Its state is the server's, which updates it with the clients' mean
      gradient at the global weights. The state after a step must not depend on
      the weights, as that of a proximal optimizer does. With weight decay, of
      `build_weight_decay_optimizer`, the gradient is that of the penalised
      loss. An optimizer without a state, such as plain SGD, makes this FedAvg
      with the default aggregators.
    server_optimizer_fn: The optimizer applied to the mean model delta. The
      default, SGD with rate 1, is the original Mime Lite.
    local_epochs: The number of epochs in a client's sequence of batches, one
      after another; batches that straddle epochs fail. The gradient takes the
      first of them.
    client_weighting: The clients' weights: |D_i|, or uniform. A client without
      examples has weight 0.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are the batches of all local epochs. A client
    with a delta or gradient that is not finite is left out of the round and
    counted. A round to which no client contributes keeps the weights and the
    states of both optimizers.

    A client's computation in a round depends on the server's state, which does
    not exist outside of a round. So `local_training` is that of the base
    optimizer with a state of its own, as in fine-tuning. It does not give the
    clients' models of a round, on which the client-server barrier is measured.
    `update_is_finite` takes the state of a first round.
  """
  local_training.check_optimizer(client_optimizer_fn, 'client_optimizer_fn')
  if proximal.is_proximal(client_optimizer_fn):
    raise errors.InputError(
      "Mime Lite's optimizer must have a state without weights, since the "
      "state is the server's, got a proximal one, which starts from a client's "
      'weights.'
    )
  errors.check_positive_integer('local_epochs', local_epochs)

  def initialize_server(weights):
    return local_training.begin_optimizer(
      client_optimizer_fn, weights.trainable
    )

  def client_update(bound, sent, unused_own, dataset):
    weights = sent.weights
    frozen = _FrozenOptimizer(client_optimizer_fn, sent.state)
    trained = local_training.train_locally(bound, frozen, weights, dataset)
    update = model_delta.delta_update(bound, weights, trained, client_weighting)
    batches_per_epoch = local_training.count_batches_of_an_epoch(
      trained.num_batches, local_epochs, method='Mime Lite'
    )
    mean = gradient_update.mean_gradient(
      bound, weights, dataset.take(batches_per_epoch)
    )
    num_examples = local_training.check_whole_epochs(
      mean.num_examples, trained.num_examples, local_epochs, method='Mime Lite'
    )
    return update._replace(
      update=collections.OrderedDict(
        update.update,
        # The server steps from zero weights, so it cannot add weight decay.
        gradient=gradient_transforms.gradients_of_steps(
          client_optimizer_fn, weights.trainable, mean.gradient
        ),
      ),
      weight=client_update_lib.client_weight(num_examples, client_weighting),
    )

  def server_step(take_step, server, aggregate):
    step, stepped = server_step_lib.step_weights(
      take_step, server, {'delta': aggregate['delta']}
    )
    gradient = aggregate['gradient']
    # The state after a step does not depend on the weights.
    updated, _ = autograph.convert(client_optimizer_fn.next)(
      server.state, tf.nest.map_structure(tf.zeros_like, gradient), gradient
    )
    return step, stepped._replace(
      state=server_step_lib.keep_unless_finite(gradient, updated, server.state)
    )

  return composition.compose(
    model_fn,
    client_update,
    named_parts.NamedPartsFactory(
      {
        'delta': server_step_lib.weighted_factory(model_aggregator),
        'gradient': tff.aggregators.MeanFactory(),
      }
    ),
    server_optimizer_fn,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
    initialize_server=initialize_server,
    server_step=server_step,
    extra_passes=1,
  )


class _FrozenOptimizer(gradient_transforms.WrappedOptimizer):
  """Takes all steps of another optimizer with one state."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, state: Any
  ) -> None:
    super().__init__(inner)
    self._state = state

  def initialize(self, specs: Any) -> Any:
    return self._state

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return state, super().next(state, weights, gradients)[1]
