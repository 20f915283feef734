# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Multilayer perceptrons as functional models, free of variables."""

from collections.abc import Sequence
import itertools

from fedfish_tff import errors
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import layers
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ACTIVATIONS = {
  'elu': tf.nn.elu,
  'gaussian': lambda x: tf.exp(-tf.square(x)),
  'gelu': tf.nn.gelu,
  'relu': tf.nn.relu,
  'sigmoid': tf.nn.sigmoid,
  'tanh': tf.nn.tanh,
}


def create_mlp_classifier(
  *,
  num_features: int,
  num_classes: int,
  hidden_units: Sequence[int],
  seed: int,
  activation: str = 'relu',
) -> tff.learning.models.FunctionalModel:
  """Creates a perceptron that outputs logits, trained with cross-entropy.

  Args:
    num_features: The width of the input, float32 [batch, num_features].
    num_classes: The width of the output; labels are int32 [batch].
    hidden_units: The widths of the hidden layers; none for softmax regression.
    seed: The seed, which alone decides the initial weights.
    activation: The units of the hidden layers: elu, gaussian (exp(-z^2)), gelu,
      relu, sigmoid or tanh.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples.
  """
  widths = layers.check_widths(
    num_features=[num_features],
    hidden_units=hidden_units,
    num_classes=[num_classes],
  )
  return supervised.create_classifier(
    _build_predict(activation),
    layers.glorot_weights(itertools.pairwise(widths), seed),
    input_shape=[num_features],
  )


def create_mlp_regressor(
  *,
  hidden_units: Sequence[int],
  seed: int,
  activation: str = 'tanh',
  slope: float | None = None,
  num_features: int = 1,
  num_targets: int = 1,
) -> tff.learning.models.FunctionalModel:
  """Creates a perceptron trained with the mean squared error.

  Biases start at random, too. Units with a bias of zero all bend at the origin,
  so a network with few inputs would hardly fit anything else.

  Args:
    hidden_units: The widths of the hidden layers; none for linear regression.
    seed: The seed, which alone decides the initial weights.
    activation: The units of the hidden layers: elu, gaussian (exp(-z^2)), gelu,
      relu, sigmoid or tanh.
    slope: The standard deviation of the first layer's kernel, positive. Its
      units are then centred uniformly on [-2, 2] for each feature; the steeper
      a Gaussian unit, the fewer inputs it responds to. None for kernels and
      biases of standard deviation 1.
    num_features: The width of the input, float32 [batch, num_features].
    num_targets: The width of the output; labels are float32 [batch,
      num_targets].

  Returns:
    A model with the metrics loss and mse (both the mean over examples and
    targets of the squared error) and num_examples.
  """
  if slope is not None:
    errors.check_range('slope', slope, above=0)

  def squared_error(outputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(tf.math.squared_difference(outputs, labels), axis=-1)

  widths = layers.check_widths(
    num_features=[num_features],
    hidden_units=hidden_units,
    num_targets=[num_targets],
  )
  return supervised.create_supervised_model(
    _build_predict(activation),
    _spread_weights(widths, seed, slope),
    example_loss=squared_error,
    metrics={'mse': squared_error},
    input_spec=(
      tf.TensorSpec([None, num_features], tf.float32),
      tf.TensorSpec([None, num_targets], tf.float32),
    ),
  )


def mlp_tensor_names(num_hidden_layers: int) -> tuple[str, ...]:
  """Returns names of a perceptron's trainable tensors, in its order.

  Args:
    num_hidden_layers: The number of layers before the last one.
  """
  hidden = (f'hidden_{number}' for number in range(num_hidden_layers))
  return layers.kernel_and_bias_names((*hidden, 'output'))


def _build_predict(activation: str) -> supervised.Predict:
  """Returns the forward pass of (kernel, bias, kernel, bias, ...)."""
  errors.check_member('activation', activation, _ACTIVATIONS)
  activate = _ACTIVATIONS[activation]

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    *hidden, (kernel, bias) = layers.kernels_and_biases(weights)
    for hidden_kernel, hidden_bias in hidden:
      x = activate(tf.matmul(x, hidden_kernel) + hidden_bias)
    return tf.matmul(x, kernel) + bias

  return predict


def _spread_weights(
  widths: tuple[int, ...], seed: int, slope: float | None
) -> tuple[np.ndarray, ...]:
  """Returns (kernel, bias, kernel, bias, ...), all normally distributed.

  Kernels have variance 1 / fan_in. Biases have standard deviation 1 in the
  first layer, which spreads the units over inputs of order one, and 0.1 in
  later ones. With a slope, the first kernel has that standard deviation, and
  its biases centre the units uniformly on [-2, 2].
  """
  weights = []
  for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
    stream = random_streams.random_generator('initial weights', seed, layer)
    kernel = stream.standard_normal([fan_in, fan_out]) / np.sqrt(fan_in)
    bias = stream.standard_normal([fan_out]) * (0.1 if layer else 1.0)
    if slope is not None and not layer:
      kernel *= slope * np.sqrt(fan_in)
      centers = stream.uniform(-2, 2, [fan_in, fan_out])
      bias = -np.sum(centers * kernel, axis=0)
    weights += [kernel.astype(np.float32), bias.astype(np.float32)]
  return tuple(weights)
