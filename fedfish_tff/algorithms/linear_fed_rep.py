# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep for linear representations, for which there is a theory.

Tziotis, Shen, Pedarsani, Hassani and Mokhtari, "Straggler-Resilient
Personalized Federated Learning" (TMLR 2023, arXiv:2206.02078), Algorithm 2.
More and slower clients join stage by stage there. Here the participation
decides this, for example `simulation.srpfl_participation`. With all clients in
every round it is FedRep of Collins et al. (arXiv:2102.07078). Clients keep no
state: they solve for their heads in each round.
"""

import collections
from typing import Any

from fedfish_tff import finite_checks
from fedfish_tff.aggregators import sum_factories
from fedfish_tff.algorithms import composition
from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.algorithms import server_step
from fedfish_tff.client_work import client_update as client_update_lib
from fedfish_tff.client_work import gradient_update
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


def build_linear_fed_rep(
  model: tff.learning.models.FunctionalModel,
  learning_rate: float,
  *,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
  model_aggregator: tff.aggregators.WeightedAggregationFactory | None = None,
) -> process_lib.FederatedProcess:
  """Builds a round of Tziotis et al. (2023), Algorithm 2.

  With G_i = (1/m) X_i^T (X_i B w_i - y_i) w_i^T at the head w_i that is best
  for B on the client's examples, the next B is Q of B - learning_rate mean(G_i)
  = QR. The theory assumes that clients draw new examples in each round.

  Args:
    model: A model of `models.create_linear_representation`, or one with its
      weights.
    learning_rate: eta, the rate of the server's step.
    client_weighting: The clients' weights: uniform, the paper's, or |D_i|.
    model_aggregator: The aggregator, `tff.aggregators.MeanFactory` by default.

  Returns:
    A process with next of type (<S@SERVER, {B*}@CLIENTS> -> <state=S@SERVER,
    metrics=M@SERVER>), where B* are the batches of one epoch. The server's head
    stays as it is. `local_training` and a round's metrics use a client's own
    head, with the server's representation.
  """
  gradient = gradient_update.build_gradient_update(
    client_weighting=client_weighting
  )

  def client_update(bound, sent, own, dataset):
    solved = _solve_head(sent.weights, dataset)
    result = gradient(bound, sent._replace(weights=solved), own, dataset)
    of_representation, of_head = result.update['delta']
    return result._replace(
      update=collections.OrderedDict(
        delta=(of_representation, tf.zeros_like(of_head))
      ),
      also_finite=solved.trainable,
    )

  def build_local_training():
    @tff.tensorflow.computation(
      model_functions.weights_type(model), model_functions.data_type(model)
    )
    def local_training(weights, dataset):
      run = autograph.graph_function(_solve_head)
      return model_functions.weights_like(
        weights, run(model_functions.flatten_weights(weights), dataset)
      )

    return local_training

  return composition.compose(
    model,
    client_update,
    model_aggregator,
    tff.learning.optimizers.build_sgdm(learning_rate),
    build_local_training=build_local_training,
    server_step=_orthonormalize,
  )


def build_method_of_moments(
  model: tff.learning.models.FunctionalModel,
  *,
  sum_factory: tff.aggregators.UnweightedAggregationFactory | None = None,
) -> tff.Computation:
  """Builds the initialization of Algorithm 2 of Tziotis et al. (2023).

  Args:
    model: A model of `models.create_linear_representation`, or one with its
      weights.
    sum_factory: The aggregator of the clients' y^2 x x^T, each summed over the
      client's examples; `tff.aggregators.SumFactory` by default.

  Returns:
    A computation ({B*}@CLIENTS -> ModelWeights@SERVER), for the process'
    `set_model_weights`. The representation is the eigenvectors of the k largest
    eigenvalues of the sum over all examples, and the head is the model's. A
    client with a sum that is not finite is left out.
  """
  initial_weights = model_functions.build_initial_weights(model)
  data_type = model_functions.data_type(model)
  num_features, num_components = model.initial_weights[0][0].shape

  @tff.tensorflow.computation(data_type)
  def client_moments(dataset):
    @autograph.graph_function
    def run(data):
      def add_batch(total, batch):
        x, y = model_functions.split_batch(batch)
        scaled = x * y
        return total + tf.matmul(scaled, scaled, transpose_a=True)

      zeros = tf.zeros([num_features, num_features])
      moments = data.reduce(zeros, add_batch)
      finite = finite_checks.all_finite(moments)
      return tf.where(finite, moments, tf.zeros_like(moments))

    return run(dataset)

  moments_sum = sum_factories.unweighted_factory(sum_factory).create(
    client_moments.type_signature.result
  )

  @tff.tensorflow.computation(
    client_moments.type_signature.result, initial_weights.type_signature.result
  )
  def to_weights(moments, weights):
    # Eigenvalues are in ascending order.
    _, vectors = tf.linalg.eigh(tf.cast(moments, tf.float64))
    representation, head = weights.trainable
    del representation
    return tff.learning.models.ModelWeights(
      (tf.cast(vectors[:, -num_components:], tf.float32), head),
      weights.non_trainable,
    )

  @tff.federated_computation(tff.FederatedType(data_type, tff.CLIENTS))
  def method_of_moments(client_data):
    summed = moments_sum.next(
      moments_sum.initialize(), tff.federated_map(client_moments, client_data)
    )
    return tff.federated_map(
      to_weights,
      (summed.result, tff.federated_eval(initial_weights, tff.SERVER)),
    )

  return method_of_moments


def _solve_head(
  weights: model_functions.FlatWeights, dataset: tf.data.Dataset
) -> model_functions.FlatWeights:
  """Returns B and the best head w on a client's examples, which is solved.

  w = (B^T X^T X B)^-1 B^T X^T y, in float64. If several heads are best, as with
  too few examples, it is the shortest of them: without examples, 0. The head
  [k, 1] in `weights` is ignored.
  """
  representation, head = weights.trainable
  wide = tf.cast(representation, tf.float64)
  size = wide.shape[1]

  def add_batch(sums, batch):
    x, y = model_functions.split_batch(batch)
    features = tf.matmul(tf.cast(x, tf.float64), wide)
    gram, moments = sums
    return (
      gram + tf.matmul(features, features, transpose_a=True),
      moments + tf.matmul(features, tf.cast(y, tf.float64), transpose_a=True),
    )

  gram, moments = dataset.reduce(
    (tf.zeros([size, size], tf.float64), tf.zeros([size, 1], tf.float64)),
    add_batch,
  )
  # The fast way fails where the matrix is singular.
  solved = tf.linalg.lstsq(gram, moments, fast=False)
  return weights._replace(
    trainable=(representation, tf.cast(solved, head.dtype))
  )


def _orthonormalize(
  take_step: server_step.TakeStep,
  server: client_update_lib.Server,
  aggregate: Any,
) -> tuple[server_step.OptimizerStep, client_update_lib.Server]:
  """Takes a step and orthonormalizes the representation after it."""
  step = take_step(aggregate['delta'])
  representation, head = step.trainable
  q, r = tf.linalg.qr(tf.cast(representation, tf.float64))
  # A positive diagonal of R makes the basis unique, so that a basis stays.
  q = tf.where(tf.linalg.diag_part(r) < 0, -q, q)
  return step, server_step.with_trainable(
    server, (tf.cast(q, representation.dtype), head)
  )
