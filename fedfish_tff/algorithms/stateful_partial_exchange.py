# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial weight exchange in which clients keep the tensors that were not sent.

Zhang and Emerson, "Partial Weight Exchange in Federated Learning" (2023), as in
its code base, FL4Health: the server replies with the tensors that some client
sent in the round, and every client keeps its own values of the others. So each
client has a model of its own. `build_partial_exchange` is the variant without
client states, in which the server keeps its value instead.

If only some clients take part in a round, a returning client gets the latest
mean of each tensor sent since its last round, that round included. These are
the values it would have after reading every reply.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import sent_masks
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import partial_exchange
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import local_training as local_training_lib
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_stateful_partial_exchange(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  selector: tensor_selection.Selector,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  tensor_names: Sequence[str] | None = None,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds partial exchange with client states (Zhang and Emerson, 2023).

  Client i trains to w_i, with n_i examples, and for each tensor t the server takes
  the mean over the clients that sent it:

    w[t] <- sum(n_i w_i[t]) / sum(n_i)

  A client's state is its weights after its last local training, and the number
  of that round (0 for a new client, which starts from the server's weights).
  Clients start from different weights. So they send the distance of their
  values from the server's, not from their start, and the server takes the mean
  as it is. With a selector that sends everything this is FedAvg with a server
  step of rate 1, up to rounding. Weights that are not trainable stay at their
  initial values.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    selector: The selector of what a client sends, by the distance that local
      training moved it in the round.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.
    tensor_names: The trainable tensors' names in the metrics; by position and
      shape by default.
    sum_factory: The aggregator of numerators and denominators as one structure;
      `tff.aggregators.SumFactory` by default.

  Returns:
    The process. Its metrics are those of `build_partial_exchange`. A client
    with trained weights that are not finite, or too large to be summed, is left
    out of the round, counted, and keeps its state.
  """
  averaged_statistics.refuse(model_fn, 'A selection of what clients send')
  tensor_selection.check_selector(selector)
  shapes = partial_exchange.trainable_shapes(model_fn)
  part_shapes = [s if selector.per_coordinate else () for s in shapes]

  def initialize_server(unused_weights):
    return collections.OrderedDict(
      # The last round in which each part was sent.
      last_sent=tuple(tf.zeros(shape, tf.int32) for shape in part_shapes),
      # The number of completed rounds.
      round_number=tf.constant(0),
    )

  def initialize_client(server):
    return collections.OrderedDict(
      weights=server.weights.trainable, last_round=tf.constant(0)
    )

  def client_update(bound, sent, own, dataset):
    start = _start_of(sent, own)
    trained = local_training_lib.train_locally(
      bound, client_optimizer_fn, start, dataset
    )
    update = model_delta.delta_update(
      bound, sent.weights, trained, client_weighting
    )
    has_data = trained.num_examples > 0
    values = trained.weights.trainable
    masks = tuple(
      tf.logical_and(mask, has_data)
      for mask in selector.select(start.trainable, values)
    )
    delta = partial_update.keep_sent(update.update['delta'], masks)
    return update._replace(
      update=collections.OrderedDict(
        update=collections.OrderedDict(delta=delta, mask=masks), mask=masks
      ),
      # The client continues with the parts that are not sent.
      also_finite=values,
      own=collections.OrderedDict(
        weights=values, last_round=sent.state['round_number'] + 1
      ),
    )

  def server_step(take_step, server, aggregate):
    step, stepped = server_step_lib.keep_unsent(take_step, server, aggregate)
    round_number = server.state['round_number'] + 1
    state = collections.OrderedDict(
      last_sent=tuple(
        tf.where(
          tf.logical_and(s, tf.logical_not(step.rejected)), round_number, last
        )
        for s, last in zip(
          tf.nest.flatten(aggregate['any_sent']), server.state['last_sent']
        )
      ),
      round_number=round_number,
    )
    return step, stepped._replace(state=state)

  return composition.compose(
    model_fn,
    client_update,
    sent_masks.SentPartsFactory(
      partial_mean.PartialMeanFactory(sum_factory),
      mask_bits=selector.mask_bits(shapes),
      tensor_names=tensor_names,
    ),
    # SGD with rate 1 takes the mean as it is.
    None,
    initialize_server=initialize_server,
    initialize_client=initialize_client,
    client_weights=_start_of,
    server_step=server_step,
    build_local_training=lambda: local_training_lib.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )


def _start_of(
  server: client_update_lib.Server, own: Any
) -> model_functions.FlatWeights:
  """Returns the weights from which a client's local training starts."""
  weights = server.weights
  return weights._replace(
    trainable=tuple(
      tf.where(last_sent >= own['last_round'], new, old)
      for last_sent, new, old in zip(
        server.state['last_sent'], weights.trainable, own['weights']
      )
    )
  )
