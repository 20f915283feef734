# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutional networks for small images, as functional models.

All output logits. Initial kernels are Glorot uniform, and biases zero.
"""

from collections.abc import Sequence
import itertools
import math

from fedfish_tff import errors
from fedfish_tff.models import augmentation
from fedfish_tff.models import layers
from fedfish_tff.models import supervised

import tensorflow as tf
import tensorflow_federated as tff

# The names of the trainable tensors, in the model's order, with the default
# filters.
COMPACT_CNN_TENSORS = layers.kernel_and_bias_names(
  ('convolution_0', 'convolution_1', 'convolution_2', 'output')
)
FED_AVG_CNN_TENSORS = layers.kernel_and_bias_names(
  ('convolution_0', 'convolution_1', 'hidden', 'output')
)
DROPOUT_CNN_TENSORS = FED_AVG_CNN_TENSORS
LENET5_TENSORS = layers.kernel_and_bias_names(
  ('convolution_0', 'convolution_1', 'hidden_0', 'hidden_1', 'output')
)
# Those of `create_lenet5` with one hidden layer.
LENET_TENSORS = layers.kernel_and_bias_names(
  ('convolution_0', 'convolution_1', 'hidden_0', 'output')
)
VGG9_TENSORS = layers.kernel_and_bias_names(
  (
    *(f'convolution_{number}' for number in range(6)),
    *('hidden_0', 'hidden_1', 'output'),
  )
)


def create_compact_cnn(
  *,
  input_shape: Sequence[int],
  num_classes: int,
  seed: int,
  filters: Sequence[int] = (16, 32, 32),
) -> tff.learning.models.FunctionalModel:
  """Creates a network of strided convolutions that is fast on a CPU.

  Each convolution halves height and width (kernels of 5x5 in the first, 3x3 in
  the others, stride 2, relu). A dense layer gives the logits. Without pooling,
  normalisation and dropout, a step is a few operations.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights.
    filters: The output channels of the convolutions.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples. With the default filters, it has 46,110 weights for 62 classes
    of 28x28x1.
  """
  layers.check_image_shape(input_shape)
  layers.check_sizes(num_classes=[num_classes], filters=filters)
  if not len(filters):
    raise errors.InputError(
      'filters must hold at least one convolution, got none.'
    )
  height, width, channels = input_shape
  shapes = []
  for size, (fan_in, fan_out) in zip(
    itertools.chain([5], itertools.repeat(3)),
    itertools.pairwise([channels, *filters]),
  ):
    shapes.append((size, size, fan_in, fan_out))
    height, width = math.ceil(height / 2), math.ceil(width / 2)
  shapes.append((height * width * shapes[-1][-1], num_classes))

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    *convolutions, last = layers.kernels_and_biases(weights)
    for layer in convolutions:
      x = _convolve(x, *layer, strides=2, padding='SAME')
    return _dense(x, *last)

  return supervised.create_classifier(
    predict, layers.glorot_weights(shapes, seed), input_shape=input_shape
  )


def create_fed_avg_cnn(
  *, input_shape: Sequence[int], num_classes: int, seed: int
) -> tff.learning.models.FunctionalModel:
  """Creates the CNN of the first paper on FedAvg.

  McMahan et al. (2017, arXiv:1602.05629): two 5x5 convolutions of 32 and 64
  channels, each with 2x2 max pooling, and a dense layer of 512. It is the model
  'cnn' of `tff.simulation.baselines.emnist` without the final softmax.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: 1,663,370 weights for 10 classes of 28x28x1, 1,690,046 for 62.
  """
  layers.check_image_shape(input_shape)
  layers.check_sizes(num_classes=[num_classes])
  height, width, channels = input_shape
  flat = math.ceil(height / 4) * math.ceil(width / 4) * 64
  shapes = [(5, 5, channels, 32), (5, 5, 32, 64), (flat, 512)]
  shapes.append((512, num_classes))

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    first, second, hidden, last = layers.kernels_and_biases(weights)
    for layer in (first, second):
      x = _convolve(x, *layer, strides=1, padding='SAME')
      x = tf.nn.max_pool2d(x, 2, 2, 'SAME')
    return _dense(tf.nn.relu(_dense(x, *hidden)), *last)

  return supervised.create_classifier(
    predict, layers.glorot_weights(shapes, seed), input_shape=input_shape
  )


def create_dropout_cnn(
  *, input_shape: Sequence[int], num_classes: int, seed: int
) -> tff.learning.models.FunctionalModel:
  """Creates the CNN with dropout of Reddi et al. (2021, arXiv:2003.00295).

  It has two 3x3 convolutions of 32 and 64 channels, 2x2 max pooling, dropout of
  1/4, a dense layer of 128 and dropout of 1/2. It is the model 'cnn_dropout' of
  `tff.simulation.baselines.emnist` without the final softmax.

  The dropped units are a function of the batch and of the last layer's bias,
  which every step changes. So they differ from step to step, and a run is
  repeatable.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32, at
      least 6x6.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: 1,199,882 weights for 10 classes of 28x28x1, 1,206,590 for 62.
  """
  layers.check_image_shape(input_shape, least=6)
  layers.check_sizes(num_classes=[num_classes])
  height, width, channels = input_shape
  flat = (height - 4) // 2 * ((width - 4) // 2) * 64
  shapes = [(3, 3, channels, 32), (3, 3, 32, 64), (flat, 128)]
  shapes.append((128, num_classes))

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    first, second, hidden, last = layers.kernels_and_biases(weights)
    if training:
      stream = augmentation.batch_seed(x, last[1])
    for layer in (first, second):
      x = _convolve(x, *layer, strides=1, padding='VALID')
    x = tf.nn.max_pool2d(x, 2, 2, 'VALID')
    if training:
      x = tf.nn.experimental.stateless_dropout(x, 0.25, stream)
    x = tf.nn.relu(_dense(x, *hidden))
    if training:
      # The same pair in reverse order is another stream.
      x = tf.nn.experimental.stateless_dropout(x, 0.5, stream[::-1])
    return _dense(x, *last)

  return supervised.create_classifier(
    predict, layers.glorot_weights(shapes, seed), input_shape=input_shape
  )


def create_lenet5(
  *,
  input_shape: Sequence[int],
  num_classes: int,
  seed: int,
  filters: Sequence[int] = (64, 64),
  hidden_units: Sequence[int] = (120, 64),
  dropout: float = 0.0,
) -> tff.learning.models.FunctionalModel:
  """Creates LeNet-5 (LeCun et al., 1998) as used in personalised learning.

  It has two 5x5 convolutions, each with 2x2 max pooling, and dense layers, all
  with relu. The default widths are those of SRPFL's published code (Tziotis et
  al., 2022) for CIFAR-10; for CIFAR-100 that has filters (64, 128),
  hidden_units (256, 128) and dropout 0.6 before the last layer. FedMA's LeNet
  (Wang et al., 2020) has filters (20, 50) and hidden_units (500,); its
  published code leaves out the latter's relu.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32, at
      least 16x16.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights.
    filters: The channels of the two convolutions.
    hidden_units: The widths of the hidden layers, one or more; two in LeNet-5.
    dropout: The share of the last hidden layer that is dropped in training,
      repeatably, as in `create_dropout_cnn`.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: 307,842 weights for 10 classes of 32x32x3.
  """
  layers.check_image_shape(input_shape, least=16)
  layers.check_sizes(
    num_classes=[num_classes], filters=filters, hidden_units=hidden_units
  )
  errors.check_range('dropout', dropout, least=0, below=1)
  if len(filters) != 2 or not len(hidden_units):
    raise errors.InputError(
      'filters must be two numbers and hidden_units one at least, got '
      f'{filters} and {hidden_units}.'
    )
  height, width, channels = input_shape
  sides = (((side - 4) // 2 - 4) // 2 for side in (height, width))
  widths = [math.prod(sides) * filters[1], *hidden_units, num_classes]
  shapes = [(5, 5, channels, filters[0]), (5, 5, *filters)]
  shapes += list(zip(widths, widths[1:]))

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    first, second, *hidden, last = layers.kernels_and_biases(weights)
    if training and dropout:
      stream = augmentation.batch_seed(x, last[1])
    for layer in (first, second):
      x = _convolve(x, *layer, strides=1, padding='VALID')
      x = tf.nn.max_pool2d(x, 2, 2, 'VALID')
    for layer in hidden:
      x = tf.nn.relu(_dense(x, *layer))
    if training and dropout:
      x = tf.nn.experimental.stateless_dropout(x, dropout, stream)
    return _dense(x, *last)

  return supervised.create_classifier(
    predict, layers.glorot_weights(shapes, seed), input_shape=input_shape
  )


def create_vgg9(
  *,
  input_shape: Sequence[int],
  num_classes: int,
  seed: int,
  filters: Sequence[int] = (32, 64, 128, 128, 256, 256),
  hidden_units: Sequence[int] = (512, 512),
) -> tff.learning.models.FunctionalModel:
  """Creates VGG-9 as in FedMA's experiments on CIFAR-10.

  Wang et al. (2020, arXiv:2002.06440) and their code: six 3x3 convolutions,
  with 2x2 max pooling after each second one, and three dense layers; relu.
  Training drops one in twenty of the fourth convolution's channels, and one in
  ten of the inputs of the first and the last dense layer, repeatably, as in
  `create_dropout_cnn`.

  Args:
    input_shape: The shape (height, width, channels) of the images, float32, at
      least 8x8.
    num_classes: The number of classes; labels are int32 [batch].
    seed: The seed, which alone decides the initial weights.
    filters: The channels of the six convolutions.
    hidden_units: The widths of the two hidden layers.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples: 3,491,530 weights for 10 classes of 32x32x3.
  """
  layers.check_image_shape(input_shape, least=8)
  layers.check_sizes(
    num_classes=[num_classes], filters=filters, hidden_units=hidden_units
  )
  if len(filters) != 6 or len(hidden_units) != 2:
    raise errors.InputError(
      f'filters must be six numbers and hidden_units two, got {filters} and '
      f'{hidden_units}.'
    )
  height, width, channels = input_shape
  flat = height // 8 * (width // 8) * filters[-1]
  shapes = [(3, 3, *pair) for pair in itertools.pairwise([channels, *filters])]
  shapes += itertools.pairwise([flat, *hidden_units, num_classes])

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    *convolutions, first, second, last = layers.kernels_and_biases(weights)
    if training:
      stream = augmentation.batch_seed(x, last[1])

    def drop(x: tf.Tensor, rate: float, place: int) -> tf.Tensor:
      if not training:
        return x
      whole = [tf.shape(x)[0], 1, 1, x.shape[-1]] if x.shape.rank == 4 else None
      return tf.nn.experimental.stateless_dropout(
        x, rate, stream + [place, 0], noise_shape=whole
      )

    for number, layer in enumerate(convolutions):
      x = _convolve(x, *layer, strides=1, padding='SAME')
      if number % 2:
        x = tf.nn.max_pool2d(x, 2, 2, 'VALID')
      if number == 3:
        x = drop(x, 0.05, 0)
    x = drop(tf.reshape(x, [-1, flat]), 0.1, 1)
    for layer in (first, second):
      x = tf.nn.relu(_dense(x, *layer))
    return _dense(drop(x, 0.1, 2), *last)

  return supervised.create_classifier(
    predict, layers.glorot_weights(shapes, seed), input_shape=input_shape
  )


def _convolve(
  x: tf.Tensor,
  kernel: tf.Tensor,
  bias: tf.Tensor,
  *,
  strides: int,
  padding: str,
) -> tf.Tensor:
  x = tf.nn.conv2d(x, kernel, strides, padding)
  return tf.nn.relu(tf.nn.bias_add(x, bias))


def _dense(x: tf.Tensor, kernel: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
  x = tf.reshape(x, [-1, kernel.shape[0]])
  return tf.nn.bias_add(tf.matmul(x, kernel), bias)
