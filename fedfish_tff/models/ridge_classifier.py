# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A linear classifier on a feature map, as one model.

Closed-form methods solve for its classifier, and fine-tuning starts from it.
Its trainable weights are the feature map's, then the classifier's kernel and
bias.
"""

from typing import Any

from fedfish_tff import errors
from fedfish_tff.models import feature_map as feature_map_lib
from fedfish_tff.models import layers
from fedfish_tff.models import supervised

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The kernel and the bias, the last of a feature classifier's weights.
NUM_CLASSIFIER_TENSORS = 2


def feature_classifier_tensor_names(
  feature_map: feature_map_lib.FeatureMap,
) -> tuple[str, ...]:
  """Returns names of a feature classifier's trainable tensors, in its order.

  The feature map's tensors are numbered, 'features/0' and so on.
  """
  features = (f'features/{i}' for i in range(len(feature_map.initial_weights)))
  return (*features, *layers.kernel_and_bias_names(['classifier']))


def create_feature_classifier(
  feature_map: feature_map_lib.FeatureMap,
  *,
  num_classes: int,
  temperature: float = 1.0,
) -> tff.learning.models.FunctionalModel:
  """Creates the model (phi(x) W + bias) / T, trained with cross-entropy.

  Args:
    feature_map: The map phi; its weights are the first of the model's.
    num_classes: The width of the output; labels are int32 [batch].
    temperature: T, by which logits are divided in training and evaluation; 0.1
      in Fed3R's fine-tuning. It changes no prediction.

  Returns:
    A model with the metrics loss, accuracy and num_examples. Its trainable
    weights are (*feature_map.initial_weights, kernel, bias); the classifier's
    are zero at first. Models of one feature map and number of classes have
    weights of one type, whatever their temperature.
  """
  errors.check_integer('num_classes', num_classes, least=2)
  feature_map.check()
  errors.check_range('temperature', temperature, above=0)

  def predict(
    weights: tuple[tf.Tensor, ...], x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    del training  # The same pass in training and evaluation.
    *map_weights, kernel, bias = weights
    features = feature_map(map_weights, x)
    return (tf.matmul(features, kernel) + bias) / temperature

  return supervised.create_classifier(
    predict,
    (
      *feature_map.initial_weights,
      np.zeros([feature_map.num_features, num_classes], np.float32),
      np.zeros([num_classes], np.float32),
    ),
    input_shape=tuple(feature_map.input_spec.shape[1:]),
    input_dtype=feature_map.input_spec.dtype,
  )


def with_classifier(
  feature_map: feature_map_lib.FeatureMap, kernel: Any, bias: Any
) -> tff.learning.models.ModelWeights:
  """Returns a feature classifier's weights from a map's and a classifier.

  Args:
    feature_map: The map phi, with its initial weights.
    kernel: The classifier's kernel [num_features, num_classes], an array or
      tensor.
    bias: The classifier's bias [num_classes].

  Returns:
    Weights of the model that `create_feature_classifier` makes.
  """
  return tff.learning.models.ModelWeights(
    (
      *(tf.convert_to_tensor(w) for w in feature_map.initial_weights),
      tf.cast(kernel, tf.float32),
      tf.cast(bias, tf.float32),
    ),
    (),
  )
