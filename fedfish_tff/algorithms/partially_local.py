# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Processes with a part of the model kept at each client.

FedPer, FedRep and LG-FedAvg differ in the parts and the local training.
`FisherWeightedMeanFactory` with FedFish's client work makes another such
process.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import sent_masks
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import server_step as server_step_lib
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions
from fedfish_tff.models import model_partition

import tensorflow as tf
import tensorflow_federated as tff


def build_partially_local(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_update_lib.ClientUpdateFn,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_tensors: Sequence[bool],
  build_local_training: Callable[[], tff.Computation],
  local_statistics: bool = False,
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
  selector: tensor_selection.Selector | None = None,
  tensor_names: Sequence[str] | None = None,
  extra_passes: int = 0,
) -> client_state_process.ClientStateProcess:
  """Builds a process of client work with local tensors at the clients.

  Client i trains the whole model from (w, v_i), shared and local tensors, to
  (w_i, new v_i). By default the server computes, with the update's weights n_i:

    w <- w - sum(n_i (w - w_i)) / sum(n_i)

  The server sends and averages the shared tensors only. A new client starts
  with the initial local tensors, a returning one with those of its last round.
  Statistics of batches are averaged, as in FedAvg, or stay at the clients, as in
  FedBN.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_update_fn: A client's work on the whole model. Its update is <delta>,
      or <delta, fisher>, and it sets `trained`. The server's state is always 0
      there.
    server_optimizer_fn: The optimizer applied to the aggregated delta of the
      shared tensors. The default, SGD with rate 1, takes it as it is.
    local_tensors: For each trainable tensor, whether it stays at the client, as
      `models.select_tensors` selects them. All or none may.
    build_local_training: A function that builds a client's training outside of
      a round, from weights and batches to weights, at its first use. It trains
      the whole model.
    local_statistics: Whether weights that are not trainable, but change in
      training, stay at the client, too: the statistics of batch normalisation
      in a variable model.
    model_aggregator: The aggregator of the shared tensors' deltas, or of
      <delta, fisher> where clients compute these. `tff.aggregators.MeanFactory`
      by default, with a selector `aggregators.PartialMeanFactory`.
    selector: The selector of the shared tensors that a client sends, as in
      `build_partial_exchange`; all of them by default.
    tensor_names: The shared tensors' names in the metrics of a selector.
    extra_passes: The number of passes over a client's data per round besides
      its training epochs.

  Returns:
    The process. A client's state is <local>, its local tensors, or <local,
    statistics>, with the others of its own. A client with trained weights that
    are not finite, or a delta too large to be summed, is left out of the round,
    counted, and keeps its state. A client without data changes nothing.

    `client_model_weights` are the shared tensors with the client's own. In
    `get_model_weights` the local tensors are the initial ones, which are
    untrained. So the server has no model that is ready to use; a user must
    train the local tensors on other data, for example with `local_training`.
  """
  local_tensors = model_partition.check_flags('local_tensors', local_tensors)
  if local_statistics and not model_functions.has_statistics(model_fn):
    raise errors.InputError(
      'local_statistics must be False for a model whose training changes '
      'trainable weights alone.'
    )
  # With a selector, tensors that no client has sent stay unchanged.
  step_fn = server_step_lib.step_weights
  should_reject_update = tff.learning.templates.reject_non_finite_update
  if selector is not None:
    tensor_selection.check_selector(selector)
    if not local_statistics:
      averaged_statistics.refuse(model_fn, 'A selection of what clients send')
    weights_type = model_functions.weights_type(model_fn)
    _, shared_types = model_partition.split_tensors(
      tff.structure.flatten(weights_type.trainable), local_tensors
    )
    model_aggregator = sent_masks.SentPartsFactory(
      server_step_lib.weighted_factory(
        model_aggregator or partial_mean.PartialMeanFactory()
      ),
      mask_bits=selector.mask_bits(
        [tf.TensorShape(tensor.shape) for tensor in shared_types]
      ),
      tensor_names=tensor_names,
    )
    step_fn = server_step_lib.keep_unsent
    should_reject_update = server_step_lib.reject_empty_update

  def select_shared(server):
    weights = server.weights
    _, shared = model_partition.split_tensors(weights.trainable, local_tensors)
    return server._replace(
      weights=model_functions.FlatWeights(
        shared, () if local_statistics else weights.non_trainable
      )
    )

  def select_local(weights):
    local, _ = model_partition.split_tensors(weights.trainable, local_tensors)
    kept = collections.OrderedDict(local=local)
    if local_statistics:
      kept['statistics'] = weights.non_trainable
    return kept

  def join(shared, own):
    return model_functions.FlatWeights(
      model_partition.join_tensors(
        own['local'], shared.trainable, local_tensors
      ),
      own['statistics'] if local_statistics else shared.non_trainable,
    )

  def client_update(bound, sent, own, dataset):
    start = client_update_lib.Server(join(sent.weights, own), tf.constant(0))
    whole = client_update_fn(bound, start, (), dataset)
    kept = select_local(whole.trained)
    update = whole._replace(
      update=collections.OrderedDict(
        (name, model_partition.split_tensors(tensors, local_tensors)[1])
        for name, tensors in whole.update.items()
      ),
      also_finite=(whole.also_finite, *kept.values()),
      own=kept,
    )
    if selector is not None:
      update = partial_update.keep_selected(
        update, sent.weights.trainable, selector
      )
    return update

  def client_weights(server, own):
    return join(select_shared(server).weights, own)

  def server_step(take_step, server, aggregate):
    step, shared = step_fn(take_step, select_shared(server), aggregate)
    initial = select_local(server.weights)
    return step, server._replace(weights=join(shared.weights, initial))

  return composition.compose(
    model_fn,
    client_update,
    model_aggregator,
    server_optimizer_fn,
    select_sent=select_shared,
    initialize_client=lambda server: select_local(server.weights),
    client_weights=client_weights,
    server_step=server_step,
    should_reject_update=should_reject_update,
    build_local_training=build_local_training,
    extra_passes=extra_passes,
  )
