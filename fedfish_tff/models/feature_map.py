# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature maps: what turns inputs into the features of a linear classifier.

A feature map is frozen where statistics of its features are computed, and may
be trained afterwards, with the classifier on it; so its weights are arguments.
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import itertools

from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import layers

import numpy as np
import tensorflow as tf

# From (weights, x, training) to features [batch, num_features].
ApplyFn = Callable[[tuple[tf.Tensor, ...], tf.Tensor, bool], tf.Tensor]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureMap:
  """From a batch of inputs to features; call it, not `apply`.

  Attributes:
    input_shape: Shape of one example's x.
    input_dtype: Of x.
    num_features: Features of one example.
    initial_weights: The weights, such as those of a pretrained network.
    apply: The map, with the weights as arguments.
  """

  input_shape: tuple[int, ...]
  num_features: int
  initial_weights: tuple[np.ndarray, ...]
  apply: ApplyFn
  input_dtype: tf.DType = tf.float32

  def __call__(
    self, weights: Sequence[tf.Tensor], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    """Returns the features of a batch.

    Args:
      weights: As many as there are initial ones.
      x: Inputs, [batch, *input_shape].
      training: Whether layers such as dropout are in training mode.

    Returns:
      Features [batch, num_features].

    Raises:
      errors.InputError: If the map gives features of another width.
    """
    features = autograph.convert(self.apply)(tuple(weights), x, training)
    if not features.shape.is_compatible_with([None, self.num_features]):
      raise errors.InputError(
        f'A feature map gives features of shape {features.shape}, but was made '
        f'for {self.num_features} features; [batch, {self.num_features}] was '
        'expected.'
      )
    return tf.ensure_shape(features, [None, self.num_features])

  def check(self) -> None:
    """Raises InputError if the map gives features of another width.

    Calls tell as well, but inside of what TensorFlow compiles, where messages
    grow long.
    """
    with tf.Graph().as_default():
      self(
        [tf.constant(weight) for weight in self.initial_weights],
        tf.compat.v1.placeholder(self.input_dtype, [None, *self.input_shape]),
        training=False,
      )


def create_identity_features(num_features: int) -> FeatureMap:
  """Creates the map of inputs that are features already.

  Args:
    num_features: Width of x, float32 [batch, num_features].

  Returns:
    A map without weights.

  Raises:
    errors.InputError: If the width is not a positive integer.
  """
  layers.check_sizes(num_features=[num_features])

  def apply(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del weights, training  # There is nothing to apply.
    return x

  return FeatureMap(
    input_shape=(num_features,),
    num_features=num_features,
    initial_weights=(),
    apply=apply,
  )


def create_dense_features(
  *, num_inputs: int, hidden_units: Sequence[int], seed: int
) -> FeatureMap:
  """Creates the map to the last hidden layer of a perceptron with relu.

  Args:
    num_inputs: Width of x, float32 [batch, num_inputs].
    hidden_units: Widths of the layers, one at least; the last is the number of
      features.
    seed: The weights are a function of it alone.

  Returns:
    The map, with random weights (Glorot uniform, biases zero).

  Raises:
    errors.InputError: If a width is not a positive integer, there is none, or
      there are more weights than a graph can hold.
  """
  if not hidden_units:
    raise errors.InputError(
      'hidden_units is empty; the width of one layer at least was expected.'
    )
  widths = layers.check_widths(
    num_inputs=[num_inputs], hidden_units=hidden_units
  )

  def apply(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    for kernel, bias in layers.kernels_and_biases(weights):
      x = tf.nn.relu(tf.matmul(x, kernel) + bias)
    return x

  return FeatureMap(
    input_shape=(num_inputs,),
    num_features=widths[-1],
    initial_weights=layers.glorot_weights(
      list(itertools.pairwise(widths)), seed
    ),
    apply=apply,
  )
