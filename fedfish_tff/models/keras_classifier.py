# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Any Keras classifier, subclassed models too, as a functional model."""

from collections.abc import Sequence

from fedfish_tff import errors
from fedfish_tff.models import keras_conversion
from fedfish_tff.models import keras_metrics
from fedfish_tff.models import supervised

import tensorflow as tf
import tensorflow_federated as tff

# Activations that turn logits into probabilities.
_PROBABILITIES = ('Sigmoid', 'Softmax')


def create_keras_classifier(
  keras_model: tf.keras.Model,
  *,
  input_spec: tf.TensorSpec,
  call: keras_conversion.KerasCall | None = None,
  class_names: Sequence[str] = (),
  freeze_statistics: bool = False,
) -> tff.learning.models.FunctionalModel:
  """Creates a functional model that computes the same as a Keras model.

  Its loss is the mean cross-entropy of the logits and what the model adds to it
  (regularisers, `add_loss`). `create_keras_model` takes other losses; what it
  says of batch normalisation and frozen layers holds here, too.

  Args:
    keras_model: A model that has its weights; it may change afterwards and is
      no longer needed.
    input_spec: The spec of a batch's x, [None, ...]; labels are int32 [batch].
    call: The function from (x, training) to logits, float32 [batch, classes],
      by the variables of `keras_model`; by default `keras_model(x,
      training=training)`.
    class_names: The names of all classes, for metrics of each class; none by
      default.
    freeze_statistics: Whether batch normalisation keeps its moving means and
      variances, and normalises by them in training, too.

  Returns:
    A model with the initial weights of `keras_model` and the metrics loss (mean
    cross-entropy), accuracy and num_examples.
  """
  keras_conversion.check_keras_model(keras_model)
  if not isinstance(input_spec, tf.TensorSpec) or input_spec.shape[:1] != [
    None
  ]:
    raise errors.InputError(
      'input_spec must be that of a batch of x, such as tf.TensorSpec([None, '
      f'28, 28], tf.float32), got {input_spec}.'
    )
  if keras_model.optimizer is not None:
    raise errors.InputError(
      f'Model {keras_model.name!r} must not be compiled, since its loss and '
      'optimizer would not be used (load_model has compile=False).'
    )
  converted = keras_conversion.convert(
    keras_model, input_spec, call=call, freeze_statistics=freeze_statistics
  )
  if converted.output.shape.rank != 2:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have logits [batch, classes] as its '
      f'output, got an output of shape {converted.output.shape}.'
    )
  if converted.last_operation in _PROBABILITIES:
    raise errors.InputError(
      f'Model {keras_model.name!r} must end without an activation, since the '
      f'loss is of logits, got {converted.last_operation}.'
    )
  # Gives the loss and the metrics, which do not depend on the weights.
  standard = supervised.create_classifier(
    lambda weights, x, training: (
      converted.run_pass((weights, ()), x, training).output
    ),
    [],
    input_shape=input_spec.shape[1:],
    input_dtype=input_spec.dtype,
    class_names=class_names,
  )
  metrics = supervised.metrics_of(standard)
  return converted.with_loss(
    standard.loss,
    keras_metrics.with_batch_loss(metrics) if converted.adds_loss else metrics,
    standard.input_spec,
  )
