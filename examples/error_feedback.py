# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""A method of your own, with client states: error feedback.

  python -m launch.train --workdir=runs/error_feedback \
    --config=launch/configs/digits.py:examples.error_feedback:METHOD

Clients send only the largest coordinates of each tensor of their update, and
add the rest to their next update. The idea is from Stich, Cordonnier and Jaggi,
"Sparsified SGD with Memory", NeurIPS 2018 (arXiv:1809.07599), applied to
FedAvg's clients. The tutorial of FedFish-TFF explains this file.
"""

import collections

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import fields
from fedfish_tff import models
from launch.methods import building
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
    server_optimizer_fn: The server optimizer, applied to the mean of the sent
      updates.
    share: The share of a tensor's coordinates to send, at least one coordinate.
    client_weighting: The clients' weights, by |D_i| (times local epochs) or
      uniform.

  Returns:
    The process; a client's state is the unsent part of its updates.
  """
  train = client_work.build_model_delta_update(
    client_optimizer_fn, client_weighting=client_weighting
  )

  # One client's round: the values to send, and the new state.
  def client_update(bound, sent, held_back, dataset):
    trained = train(bound, sent, (), dataset)
    # Without data it weighs nothing, so that what it sent would be lost.
    takes_part = trained.weight > 0
    wanted = [
      delta + rest for delta, rest in zip(trained.update['delta'], held_back)
    ]
    parts = [_largest(tensor, share) for tensor in wanted]
    rest = tuple(
      tf.where(takes_part, tensor - part, old)
      for tensor, part, old in zip(wanted, parts, held_back)
    )
    return trained._replace(
      update=collections.OrderedDict(delta=tuple(parts)),
      also_finite=rest,
      own=rest,
    )

  return algorithms.compose(
    model_fn,
    client_update,
    tff.aggregators.MeanFactory(),
    server_optimizer_fn,
    # A client that comes for the first time has held nothing back.
    initialize_client=lambda server: tuple(
      map(tf.zeros_like, server.weights.trainable)
    ),
    build_local_training=lambda: client_work.build_local_training(
      model_fn, client_optimizer_fn
    ),
  )


def _largest(tensor: tf.Tensor, share: float) -> tf.Tensor:
  """Returns the coordinates of the largest magnitude, with zeros elsewhere."""
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
