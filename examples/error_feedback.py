# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A method of somebody's own whose clients keep a state: error feedback.

  python -m launch.train --workdir=runs/error_feedback \
    --config=launch/configs/digits.py:examples.error_feedback:METHOD

Clients send only the largest coordinates of each tensor of their update, and
keep the rest, which they add to their next update: Stich, Cordonnier and Jaggi,
"Sparsified SGD with Memory", NeurIPS 2018 (arXiv:1809.07599), at FedAvg's
clients. docs/tutorial.md goes through this file.
"""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import models
from launch.methods import building
from launch.methods import fields
from launch.methods import method
from launch.methods import optimizers

import tensorflow as tf
import tensorflow_federated as tff


def build_error_feedback(
  model_fn: models.ModelFn,
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  server_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  share: float,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> algorithms.ClientStateProcess:
  """Builds FedAvg with sparse updates and error feedback.

  Args:
    model_fn: A functional model, or a function that returns a variable model.
    client_optimizer_fn: The client optimizer.
    server_optimizer_fn: Applied to the mean of what clients send.
    share: Of a tensor's coordinates, how many are sent, one at least.
    client_weighting: By |D_i| (times local epochs), or uniform.

  Returns:
    The process; a client's state is what it has not sent yet.
  """
  train = client_work.build_model_delta_update(
    client_optimizer_fn, client_weighting=client_weighting
  )
  initial_model = models.build_initial_weights(model_fn)
  model_type = initial_model.type_signature.result

  # A client that comes for the first time has held nothing back.
  @tff.tensorflow.computation(model_type)
  def initialize_client(weights):
    return tuple(tf.zeros_like(w) for w in tf.nest.flatten(weights.trainable))

  client_type = initialize_client.type_signature.result

  # One client's round: what it sends, and its new state.
  def client_update(bound, weights, held_back, dataset):
    trained = train(bound, models.flatten_weights(weights), dataset, 0)
    # Without data it weighs nothing, so that what it sent would be lost.
    takes_part = trained.weight > 0
    wanted = [
      delta + rest for delta, rest in zip(trained.update['delta'], held_back)
    ]
    sent = [_largest(tensor, share) for tensor in wanted]
    rest = tuple(
      tf.where(takes_part, tensor - part, old)
      for tensor, part, old in zip(wanted, sent, held_back)
    )
    return trained._replace(
      update=tuple(sent), also_finite=(trained.also_finite, rest)
    ), rest

  work = client_work.build_client_state_work(
    model_fn, client_update, model_type=model_type, client_type=client_type
  )
  result_type = work.type_signature.result.result

  @tff.tensorflow.computation(model_type)
  def get_model_weights(weights):
    return weights

  @tff.tensorflow.computation(model_type, client_type)
  def client_model_weights(weights, held_back):
    del held_back  # It changes what is sent, not the client's model.
    return weights

  return algorithms.compose_client_state_process(
    model_fn,
    work,
    tff.aggregators.MeanFactory().create(
      result_type.update, result_type.update_weight
    ),
    algorithms.compose_optimizer_step(server_optimizer_fn, model_type),
    initial_model=initial_model,
    initialize_client=initialize_client,
    get_model_weights=get_model_weights,
    client_model_weights=client_model_weights,
    local_training=client_work.build_local_training(
      model_fn, client_optimizer_fn
    ),
    update_is_finite=client_work.build_update_is_finite(model_fn, train),
  )


def _largest(tensor: tf.Tensor, share: float) -> tf.Tensor:
  """Returns the coordinates of the largest magnitude, zeros for the others."""
  size = tensor.shape.num_elements()
  flat = tf.reshape(tensor, [size])
  _, places = tf.math.top_k(tf.abs(flat), k=max(1, round(share * size)))
  return tf.reshape(
    tf.scatter_nd(places[:, tf.newaxis], tf.gather(flat, places), [size]),
    tensor.shape,
  )


def _build(parts: building.Ingredients) -> building.BuiltMethod:
  return building.BuiltMethod(
    model=parts.model,
    process=build_error_feedback(
      parts.model,
      parts.client_optimizer,
      parts.server_optimizer,
      share=parts.algorithm.share,
      client_weighting=parts.client_weighting,
    ),
  )


METHOD = method.Method(
  name='error_feedback',
  title='Error feedback',
  fields={
    **optimizers.FIELDS,
    'share': fields.Field(
      0.1,
      fields.share,
      "The share of each tensor's coordinates that a client sends.",
    ),
  },
  supports={
    'barrier',
    'fine_tuning',
    'learning_rates',
    'local_epochs',
    'repeated_visits',
  },
  build=_build,
)
