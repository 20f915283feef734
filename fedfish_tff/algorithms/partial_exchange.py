# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partial weight exchange: clients send only tensors selected by their drift.

Zhang and Emerson, "Partial Weight Exchange in Federated Learning" (2023), after
Passban et al., "Training Mixed-Domain Translation Models via Federated
Learning" (NAACL 2022). The server averages each tensor over the clients that
sent it, by their numbers of examples. Here the server keeps its value of a
tensor that no client sent, so that clients have no state. In the memo's own
code each client keeps its own value instead, as in
`build_stateful_partial_exchange`.

With data `clients`, a list of `tf.data.Dataset` of (x, y) batches:

```
process = build_partial_exchange(
    model, tff.learning.optimizers.build_sgdm(0.1),
    selector=client_work.build_share_selector(0.3))
state = process.initialize()
state, metrics = process.next(state, clients)
```
"""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import sent_masks
from fedfish_tff.algorithms import averaged_statistics
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process
from fedfish_tff.algorithms import server_step
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import partial_update
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_partial_exchange(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  selector: tensor_selection.Selector,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
  tensor_names: Sequence[str] | None = None,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
  minimum_denominator: float = 0.0,
) -> process.FederatedProcess:
  """Builds FedAvg with partial exchange (Zhang and Emerson, 2023, section 2).

  Client i trains from the global w to w_i, with n_i examples. For each tensor t, over
  the clients that sent it:

    w[t] <- w[t] - sum(n_i (w[t] - w_i[t])) / sum(n_i)

  Since all clients of a round start from the same weights, the mean of the sent
  tensors is the mean of their deltas. With a selector that sends everything
  this is FedAvg, except that with uniform weights a client without examples has
  weight 0, where TFF counts it as one.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, initialized anew in each round.
    server_optimizer_fn: The optimizer applied to the mean delta. The default,
      SGD with rate 1, takes the mean as it is. With any optimizer, tensors that
      no client sent stay unchanged.
    selector: The selector of what a client sends, such as
      `client_work.build_share_selector(0.3)`.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.
    tensor_names: The trainable tensors' names in the metrics; by position and
      shape by default.
    sum_factory: The aggregator of numerators and denominators as one structure;
      `tff.aggregators.SumFactory` by default.
    minimum_denominator: The bound at or below which a sum of weights counts as
      0, for inexact sums.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are batches of all local epochs. Its metrics
    have `SentPartsFactory`'s `aggregator/payload_bytes` and `aggregator/sent`.
  """
  tensor_selection.check_selector(selector)
  return compose_partial_process(
    model_fn,
    model_delta.build_model_delta_update(
      client_optimizer_fn, client_weighting=client_weighting
    ),
    partial_mean.PartialMeanFactory(
      sum_factory, minimum_denominator=minimum_denominator
    ),
    server_optimizer_fn,
    selector=selector,
    tensor_names=tensor_names,
    build_local_training=lambda: local_training.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )


def compose_partial_process(
  model_fn: model_functions.ModelFn,
  client_update_fn: client_update_lib.ClientUpdateFn,
  update_aggregator: tff.aggregators.WeightedAggregationFactory,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None,
  *,
  selector: tensor_selection.Selector,
  tensor_names: Sequence[str] | None,
  **arguments: Any,
) -> process.FederatedProcess:
  """Composes any client work with updates that are sent in parts.

  Args:
    model_fn: A functional model, or a function that returns a variable model,
      with trainable tensors.
    client_update_fn: A function that computes the whole update: <delta>, or
      <delta, fisher>.
    update_aggregator: The aggregator of the `update` of
      `partial_update.keep_selected`.
    server_optimizer_fn: The optimizer applied to the aggregate; SGD with rate 1
      by default. Tensors that no client sent stay unchanged.
    selector: The selector of what a client sends.
    tensor_names: The trainable tensors' names in the metrics; by position and
      shape by default.
    **arguments: Further arguments of `composition.compose`.
  """
  averaged_statistics.refuse(model_fn, 'A selection of what clients send')
  mask_bits = selector.mask_bits(trainable_shapes(model_fn))

  def client_update(bound, sent, own, dataset):
    whole = client_update_fn(bound, sent, own, dataset)
    return partial_update.keep_selected(whole, sent.weights.trainable, selector)

  return composition.compose(
    model_fn,
    client_update,
    sent_masks.SentPartsFactory(
      update_aggregator, mask_bits=mask_bits, tensor_names=tensor_names
    ),
    server_optimizer_fn,
    initialize_server=server_step.first_round,
    server_step=server_step.count_rounds(server_step.keep_unsent),
    # An update of which nothing is sent is 0 everywhere.
    should_reject_update=server_step.reject_empty_update,
    **arguments,
  )


def trainable_shapes(
  model_fn: model_functions.ModelFn,
) -> list[tf.TensorShape]:
  """Returns the shapes of the model's trainable tensors, at least one."""
  weights_type = model_functions.weights_type(model_fn)
  shapes = [
    tf.TensorShape(tensor.shape)
    for tensor in tff.structure.flatten(weights_type.trainable)
  ]
  if not shapes:
    raise errors.InputError(
      'The model must have a trainable tensor to send, got none.'
    )
  return shapes
