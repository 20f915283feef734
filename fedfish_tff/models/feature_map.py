# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature maps, which turn inputs into the features of a linear classifier.

A feature map is, for example, a pretrained network without its classifier. It
is frozen while features are stored or their statistics computed, and may be
trained with the classifier afterwards. So its weights are arguments.
"""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import functools
import hashlib
import itertools
import json
import os

from fedfish_tff import errors
from fedfish_tff import stateless_kernels
from fedfish_tff.models import autograph
from fedfish_tff.models import layers

import numpy as np
import tensorflow as tf

# Maps (weights, inputs [n, ...]) to features [n, num_features], without
# variables.
Apply = Callable[[tuple[tf.Tensor, ...], tf.Tensor], tf.Tensor]
# Maps the name of a layer to the maps before it and from it on.
Divide = Callable[[str], tuple['FeatureMap', 'FeatureMap']]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FeatureMap:
  """A map from inputs to features, the same in training and evaluation.

  `extract` computes features with the initial weights. A call makes the map a
  part of a model with trainable weights.

  Attributes:
    input_spec: The spec of a batch of inputs, [None, ...]; sizes may be None.
    num_features: The number of features of one example.
    initial_weights: The weights that training could change, such as those of a
      pretrained network; all other constants are a part of `apply`.
    apply: The map, with the weights as arguments.
    name: A name for people, such as 'squeezenet'.
    architecture: A text that changes whenever the features of the same weights
      change by more than rounding; only `fingerprint` needs it.
    layers: The names of layers before which the map can be split.
    divide: The function that `split` calls with one of these names.
  """

  input_spec: tf.TensorSpec
  num_features: int
  initial_weights: tuple[np.ndarray, ...]
  apply: Apply
  name: str = 'features'
  architecture: str = ''
  layers: tuple[str, ...] = ()
  divide: Divide | None = None

  def __call__(self, weights: Sequence[tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    """Returns the features of a batch.

    Args:
      weights: The weights, as many as initial ones.
      x: The inputs, of `input_spec`.

    Returns:
      Features [batch, num_features].
    """
    features = autograph.convert(self.apply)(tuple(weights), x)
    if not features.shape.is_compatible_with([None, self.num_features]):
      raise errors.InputError(
        f'A feature map for {self.num_features} features must give [batch, '
        f'{self.num_features}], got {features.shape}.'
      )
    return tf.ensure_shape(features, [None, self.num_features])

  def check(self) -> None:
    """Raises InputError if the map gives features of another width.

    Calls of the map raise it as well, but inside TensorFlow's tracing, which
    makes messages long.
    """
    with tf.Graph().as_default():
      self(
        [tf.constant(weight) for weight in self.initial_weights],
        tf.compat.v1.placeholder(self.input_spec.dtype, self.input_spec.shape),
      )

  def with_input_shape(self, input_shape: Sequence[int]) -> 'FeatureMap':
    """Returns the map for inputs of one shape, which a model needs.

    Args:
      input_shape: The shape of one input, such as (32, 32, 3).
    """
    spec = self.input_spec
    if not spec.shape.is_compatible_with([None, *input_shape]):
      raise errors.InputError(
        f'input_shape must be {spec.shape.as_list()[1:]}, which extractor '
        f'{self.name!r} takes, got {list(input_shape)}.'
      )
    return dataclasses.replace(
      self, input_spec=tf.TensorSpec([None, *input_shape], spec.dtype)
    )

  @functools.cached_property
  def fingerprint(self) -> str:
    """Returns a checksum of architecture and weights, equal in all processes.

    The map must have an architecture.
    """
    if not self.architecture:
      raise errors.InputError(
        f'The feature map {self.name!r} must have an architecture, got none: '
        'features are kept by what they depend on.'
      )
    header = [
      self.architecture,
      self.input_spec.dtype.name,
      self.input_spec.shape.as_list(),
      self.num_features,
      [[weight.dtype.str, weight.shape] for weight in self.initial_weights],
    ]
    digest = hashlib.sha256(json.dumps(header).encode())
    for weight in self.initial_weights:
      digest.update(np.ascontiguousarray(weight))
    return digest.hexdigest()

  def extract(self, inputs: np.ndarray, *, batch_size: int = 32) -> np.ndarray:
    """Returns the features of inputs, computed on all cores.

    Args:
      inputs: The inputs [n, ...], of `input_spec`. Numbers of another dtype are
        cast if that loses nothing.
      batch_size: The number of inputs at a time, on each core.

    Returns:
      The features, float32 [n, d], all finite.
    """
    inputs = np.asarray(inputs)
    spec = self.input_spec
    if not spec.shape.is_compatible_with(inputs.shape) or not np.can_cast(
      inputs.dtype, spec.dtype.as_numpy_dtype
    ):
      raise errors.InputError(
        f'The inputs of extractor {self.name!r} must be '
        f'{spec.dtype.name}{spec.shape.as_list()}, got '
        f'{inputs.dtype.name}{list(inputs.shape)}.'
      )
    features = np.empty([len(inputs), self.num_features], np.float32)

    def fill(start: int) -> None:
      batch = inputs[start : start + batch_size].astype(
        spec.dtype.as_numpy_dtype, copy=False
      )
      features[start : start + batch_size] = self._extract_batch(batch)

    # Several batches run at a time, since operations may have only one thread
    # each.
    with futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
      for _ in pool.map(fill, range(0, len(inputs), batch_size)):
        pass
    num_bad = np.count_nonzero(~np.isfinite(features).all(axis=1))
    if num_bad:
      raise errors.InputError(
        f'Extractor {self.name!r} must give finite features, got NaN or '
        f'infinite ones for {num_bad} of {len(inputs)} inputs.'
      )
    return features

  def split(self, layer: str) -> tuple['FeatureMap', 'FeatureMap']:
    """Divides the network, to train its last layers on their stored inputs.

    Args:
      layer: The name of the first layer of the second part, one of `layers`.

    Returns:
      (lower, upper): the map to the layer's inputs as vectors, and the map from
      these vectors to the features. `upper` after `lower` equals the whole map.
    """
    if layer not in self.layers:
      expected = (
        f'one of {", ".join(self.layers)}'
        if self.layers
        else 'of a network whose layers are known'
      )
      raise errors.InputError(
        f'Extractor {self.name!r} cannot be split before layer {layer!r}; it '
        f'must be {expected}.'
      )
    return self.divide(layer)

  @functools.cached_property
  def _extract_batch(self) -> Callable[[np.ndarray], tf.Tensor]:
    weights = [tf.constant(weight) for weight in self.initial_weights]

    def extract_batch(inputs: tf.Tensor) -> tf.Tensor:
      return self(weights, inputs)

    # Traced here, since otherwise each thread would trace it.
    return stateless_kernels.trace(extract_batch, self.input_spec)


def create_identity_features(num_features: int) -> FeatureMap:
  """Creates the identity map, for inputs that are features already.

  Args:
    num_features: The width of x, float32 [batch, num_features].

  Returns:
    A map without weights.
  """
  errors.check_positive_integer('num_features', num_features)

  return FeatureMap(
    input_spec=tf.TensorSpec([None, num_features], tf.float32),
    num_features=num_features,
    initial_weights=(),
    apply=lambda weights, x: x,
  )


def create_dense_features(
  *, num_inputs: int, hidden_units: Sequence[int], seed: int
) -> FeatureMap:
  """Creates the map to the last hidden layer of a perceptron with relu.

  Args:
    num_inputs: The width of x, float32 [batch, num_inputs].
    hidden_units: The widths of the layers, at least one; the last is the number
      of features.
    seed: The seed, which alone decides the weights.

  Returns:
    The map, with random weights (Glorot uniform, biases zero).
  """
  if not hidden_units:
    raise errors.InputError(
      'hidden_units must hold the width of one layer or more, got none.'
    )
  widths = layers.check_widths(
    num_inputs=[num_inputs], hidden_units=hidden_units
  )

  def apply(weights: tuple[tf.Tensor, ...], x: tf.Tensor) -> tf.Tensor:
    for kernel, bias in layers.kernels_and_biases(weights):
      x = tf.nn.relu(tf.matmul(x, kernel) + bias)
    return x

  return FeatureMap(
    input_spec=tf.TensorSpec([None, num_inputs], tf.float32),
    num_features=widths[-1],
    initial_weights=layers.glorot_weights(itertools.pairwise(widths), seed),
    apply=apply,
  )


def with_unit_features(features: FeatureMap) -> FeatureMap:
  """Returns a map whose features are divided by their length.

  Learning rates of a classifier are then comparable between networks.

  Args:
    features: Any map; features of length 0 stay unchanged.
  """

  def apply(weights: tuple[tf.Tensor, ...], inputs: tf.Tensor) -> tf.Tensor:
    # The bound avoids a division of 0 by 0.
    return tf.math.l2_normalize(
      features(weights, inputs), axis=1, epsilon=1e-24
    )

  def divide(layer: str) -> tuple[FeatureMap, FeatureMap]:
    lower, upper = features.split(layer)
    return lower, with_unit_features(upper)

  return dataclasses.replace(
    features,
    # Without an architecture, the result has none either.
    architecture=features.architecture
    and f'{features.architecture}; of length 1',
    apply=apply,
    divide=divide,
  )


def resize_images(images: tf.Tensor, size: int) -> tf.Tensor:
  """Returns images in another size, as float32.

  Args:
    images: The images, numbers [n, height, width, channels].
    size: The height and width of the result, by bilinear interpolation.

  Returns:
    The resized images, float32 [n, size, size, channels].
  """
  images = tf.cast(images, tf.float32)
  if images.shape[1:3].as_list() == [size, size]:
    return images
  resized = tf.image.resize(images, [size, size])
  return tf.ensure_shape(resized, [None, size, size, images.shape[-1]])
