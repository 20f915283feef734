# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep: a shared representation with a head for each client.

Collins, Hassani, Mokhtari and Shakkottai, "Exploiting Shared Representations
for Personalized Federated Learning", ICML 2021 (arXiv:2102.07078), Algorithm 1.
A client fits its head to the representation before it trains the latter.
"""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import partially_local
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import tensor_selection
from fedfish_tff.models import model_functions
from fedfish_tff.models import model_partition

import tensorflow as tf
import tensorflow_federated as tff


def build_fed_rep(
  model_fn: model_functions.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer | None = None,
  *,
  local_tensors: Sequence[bool],
  head_epochs: int,
  body_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
  selector: tensor_selection.Selector | None = None,
  tensor_names: Sequence[str] | None = None,
) -> client_state_process.ClientStateProcess:
  """Builds FedRep (Collins et al., 2021, Algorithm 1).

  Client i trains its head h_i on the shared body w, then the body, w_i, under
  that head, in steps on batches b:

    h_i <- h_i - eta grad_h F_i(w, h_i; b), for head_epochs
    w_i <- w_i - eta grad_w F_i(w_i, h_i; b), for body_epochs from w_i = w
    w <- w - mean(w - w_i)

  With no local tensor it is FedAvg over the body's epochs. With all tensors
  local, every client trains alone over the head's epochs.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer, initialized anew for each part.
    server_optimizer_fn: The optimizer applied to the mean delta of w; SGD with
      rate 1 by default.
    local_tensors: For each trainable tensor, whether it belongs to the head,
      which stays at the client. The other tensors are the body. A part without
      tensors is not trained in its epochs.
    head_epochs: The number of the head's epochs, the first ones in a client's
      sequence of batches. The paper's code uses 10.
    body_epochs: The number of the body's epochs, all the others. The paper's
      code uses 1 for CIFAR-10 with two classes per client, 5 otherwise.
    client_weighting: The clients' weights: uniform, the paper's, or |D_i|.
    model_aggregator: The aggregator of the deltas of w,
      `tff.aggregators.MeanFactory` by default.
    selector: The selector of the parts of w that a client sends; all by
      default.
    tensor_names: The names of the tensors of w in the metrics of a selector.

  Returns:
    The process of `build_partially_local`. Its rounds fail for data that are
    not head_epochs + body_epochs whole epochs. `local_training` is the paper's
    treatment of a client that is new to a trained representation: it trains the
    head, for any number of epochs.
  """
  for name, number in (
    ('head_epochs', head_epochs),
    ('body_epochs', body_epochs),
  ):
    errors.check_positive_integer(name, number)
  head = model_partition.check_flags('local_tensors', local_tensors)
  body = tuple(not h for h in head)
  epochs = head_epochs + body_epochs

  def train_head(bound, weights, dataset):
    return local_training.train_part(
      bound, weights, dataset, optimizer=client_optimizer_fn, trained=head
    )

  def train(bound, weights, dataset):
    num_batches = dataset.reduce(
      tf.constant(0, tf.int64), lambda number, _: number + 1
    )
    head_batches = head_epochs * local_training.count_batches_of_an_epoch(
      num_batches, epochs, method='FedRep'
    )
    first = train_head(bound, weights, dataset.take(head_batches))
    second = local_training.train_part(
      bound,
      first.weights,
      dataset.skip(head_batches),
      optimizer=client_optimizer_fn,
      trained=body,
      metrics_state=first.metrics_state,
    )
    first_examples = local_training.check_whole_epochs(
      first.num_examples,
      first.num_examples + second.num_examples,
      epochs,
      of_epochs=head_epochs,
      method='FedRep',
    )
    return second._replace(
      num_examples=first_examples + second.num_examples,
      num_batches=num_batches,
    )

  return partially_local.build_partially_local(
    model_fn,
    model_delta.build_trained_delta_update(
      train, client_weighting=client_weighting
    ),
    server_optimizer_fn,
    local_tensors=head,
    build_local_training=lambda: local_training.build_training(
      model_fn, train_head
    ),
    model_aggregator=model_aggregator,
    selector=selector,
    tensor_names=tensor_names,
  )
