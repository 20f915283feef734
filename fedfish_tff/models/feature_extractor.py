# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Frozen networks that turn inputs into features."""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import functools
import hashlib
import json
import os

from fedfish_tff import errors
from fedfish_tff import stateless_kernels

import numpy as np
import tensorflow as tf

# From (weights, inputs [n, ...]) to float32 features [n, d]; no variables.
Apply = Callable[[Sequence[tf.Tensor], tf.Tensor], tf.Tensor]
# From the name of a layer to what is before it and what begins with it.
Divide = Callable[[str], tuple['FeatureExtractor', 'FeatureExtractor']]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FeatureExtractor:
  """A network without its classifier, as a function of weights and inputs.

  Frozen by `extract`; `apply` makes it a part of a model whose weights can be
  trained further.

  Attributes:
    name: For people, such as 'squeezenet'.
    architecture: What `apply` computes: a text that changes whenever features
      of the same weights would, other than by rounding.
    input_spec: Of a batch of inputs, [None, ...]; sizes may be None.
    num_features: Width d of the features.
    weights: What training could change, float32; anything else is a part of
      `apply`.
    apply: From (weights, inputs [n, ...] of `input_spec`) to float32 features
      [n, d].
    layers: Names of layers before which the network can be split.
    divide: What `split` calls with one of them.
  """

  name: str
  architecture: str
  input_spec: tf.TensorSpec
  num_features: int
  weights: tuple[np.ndarray, ...]
  apply: Apply
  layers: tuple[str, ...] = ()
  divide: Divide | None = None

  @functools.cached_property
  def fingerprint(self) -> str:
    """A checksum of architecture and weights, the same in every process."""
    header = [
      self.architecture,
      self.input_spec.dtype.name,
      self.input_spec.shape.as_list(),
      self.num_features,
      [[weight.dtype.str, weight.shape] for weight in self.weights],
    ]
    digest = hashlib.sha256(json.dumps(header).encode())
    for weight in self.weights:
      digest.update(np.ascontiguousarray(weight))
    return digest.hexdigest()

  def extract(self, inputs: np.ndarray, *, batch_size: int = 32) -> np.ndarray:
    """Returns the features of inputs, computed on all cores.

    Args:
      inputs: [n, ...] of `input_spec`; numbers of another dtype are cast where
        that loses nothing.
      batch_size: Inputs at a time, on each core.

    Returns:
      float32 [n, d].

    Raises:
      errors.InputError: If the inputs are of another shape or dtype, or
        features are not finite.
    """
    inputs = self._check_inputs(inputs)
    features = np.empty([len(inputs), self.num_features], np.float32)

    def fill(start: int) -> None:
      batch = inputs[start : start + batch_size].astype(
        self.input_spec.dtype.as_numpy_dtype, copy=False
      )
      features[start : start + batch_size] = self._extract_batch(batch)

    # Several batches at a time: operations may have one thread each.
    with futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
      for _ in pool.map(fill, range(0, len(inputs), batch_size)):
        pass
    num_bad = np.count_nonzero(~np.isfinite(features).all(axis=1))
    if num_bad:
      raise errors.InputError(
        f'Extractor {self.name!r} gives {num_bad} of {len(inputs)} inputs '
        'features that are NaN or infinite; finite ones were expected.'
      )
    return features

  def split(self, layer: str) -> tuple['FeatureExtractor', 'FeatureExtractor']:
    """Divides the network, to train its last layers on kept inputs of theirs.

    Args:
      layer: Name of the first layer of the second part.

    Returns:
      (lower, upper): the inputs of the layer as vectors, and the features of
      such vectors; `upper` after `lower` computes what the whole does.

    Raises:
      errors.InputError: If the network has no such layer, or cannot be divided
        there.
    """
    if layer not in self.layers:
      expected = (
        f'one of {", ".join(self.layers)}'
        if self.layers
        else 'a network whose layers are known'
      )
      raise errors.InputError(
        f'Extractor {self.name!r} cannot be split before layer {layer!r}; '
        f'{expected} was expected.'
      )
    return self.divide(layer)

  @functools.cached_property
  def _extract_batch(self) -> Callable[[np.ndarray], tf.Tensor]:
    weights = [tf.constant(weight) for weight in self.weights]

    def extract_batch(inputs: tf.Tensor) -> tf.Tensor:
      return self.apply(weights, inputs)

    # Traced here, since threads would each do so.
    return stateless_kernels.trace(extract_batch, self.input_spec)

  def _check_inputs(self, inputs: np.ndarray) -> np.ndarray:
    inputs = np.asarray(inputs)
    spec = self.input_spec
    if not spec.shape.is_compatible_with(inputs.shape) or not np.can_cast(
      inputs.dtype, spec.dtype.as_numpy_dtype
    ):
      raise errors.InputError(
        f'Extractor {self.name!r} was given {inputs.dtype.name}'
        f'{list(inputs.shape)}; {spec.dtype.name}{spec.shape.as_list()} was '
        'expected.'
      )
    return inputs


def with_unit_features(extractor: FeatureExtractor) -> FeatureExtractor:
  """Returns an extractor whose features are divided by their length.

  Rates of gradient steps on a classifier then mean the same for every network.

  Args:
    extractor: Any; features of length 0 stay as they are.
  """

  def apply(weights: Sequence[tf.Tensor], inputs: tf.Tensor) -> tf.Tensor:
    # The bound keeps 0 from being divided by 0.
    return tf.math.l2_normalize(
      extractor.apply(weights, inputs), axis=1, epsilon=1e-24
    )

  def divide(layer: str) -> tuple[FeatureExtractor, FeatureExtractor]:
    lower, upper = extractor.split(layer)
    return lower, with_unit_features(upper)

  return dataclasses.replace(
    extractor,
    architecture=f'{extractor.architecture}; of length 1',
    apply=apply,
    divide=divide,
  )


def resize_images(images: tf.Tensor, size: int) -> tf.Tensor:
  """Returns images in another size, as float32.

  Args:
    images: Numbers [n, height, width, channels].
    size: Height and width of the result, by bilinear interpolation.

  Returns:
    float32 [n, size, size, channels].
  """
  images = tf.cast(images, tf.float32)
  if images.shape[1:3].as_list() == [size, size]:
    return images
  resized = tf.image.resize(images, [size, size])
  return tf.ensure_shape(resized, [None, size, size, images.shape[-1]])
