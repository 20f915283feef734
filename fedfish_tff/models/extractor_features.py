# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A feature extractor as a part of models."""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.models import feature_extractor
from fedfish_tff.models import feature_map

import tensorflow as tf


def create_extractor_features(
  extractor: feature_extractor.FeatureExtractor, *, input_shape: Sequence[int]
) -> feature_map.FeatureMap:
  """Creates the map of a pretrained network, as a part of models.

  Args:
    extractor: The network.
    input_shape: Shape of one input, such as (32, 32, 3), of the dtype that the
      extractor takes.

  Returns:
    The map, with the extractor's weights.

  Raises:
    errors.InputError: If the extractor does not take such inputs.
  """
  spec = extractor.input_spec
  if not spec.shape.is_compatible_with([None, *input_shape]):
    raise errors.InputError(
      f'input_shape is {list(input_shape)}, but extractor {extractor.name!r} '
      f'takes {spec.shape.as_list()[1:]}.'
    )

  def apply(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    return extractor.apply(weights, x)

  return feature_map.FeatureMap(
    input_shape=tuple(input_shape),
    input_dtype=spec.dtype,
    num_features=extractor.num_features,
    initial_weights=extractor.weights,
    apply=apply,
  )
