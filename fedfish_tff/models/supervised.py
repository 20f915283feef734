# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses and metrics of this package's functional models."""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.models import autograph
from fedfish_tff.models import class_metrics

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Maps (trainable weights, x, training) to the outputs of a batch.
Predict = Callable[[tuple[tf.Tensor, ...], Any, bool], tf.Tensor]
Metrics = collections.OrderedDict[str, Callable[[], tf.keras.metrics.Metric]]


def create_trainable_model(
  predict: Predict,
  initial_weights: Sequence[np.ndarray],
  *,
  loss_fn: Callable[..., tf.Tensor],
  metrics_fns: class_metrics.MetricFns,
  input_spec: tuple[Any, Any],
) -> tff.learning.models.FunctionalModel:
  """Creates a model whose weights are all trainable.

  Args:
    predict: A function of (weights, x, training) that returns the outputs
      [batch, ...].
    initial_weights: The weights to start from.
    loss_fn: A function of (outputs, labels, sample_weight) that returns a
      batch's loss, in graph operations.
    metrics_fns: The functions that begin, update and finalise all metrics.
    input_spec: The specs (x, y) of a batch.
  """

  @autograph.graph_function
  def predict_on_batch(
    model_weights: Any, x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    trainable, _ = model_weights
    return autograph.convert(predict)(tuple(trainable), x, training)

  return tff.learning.models.FunctionalModel(
    initial_weights=(tuple(initial_weights), ()),
    predict_on_batch_fn=predict_on_batch,
    loss_fn=tf.autograph.experimental.do_not_convert(loss_fn),
    metrics_fns=metrics_fns,
    input_spec=input_spec,
  )


def create_supervised_model(
  predict: Predict,
  initial_weights: Sequence[np.ndarray],
  *,
  example_loss: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
  metrics: Metrics | class_metrics.MetricFns,
  input_spec: tuple[tf.TensorSpec, tf.TensorSpec],
) -> tff.learning.models.FunctionalModel:
  """Creates a model with a loss per example, all weights trainable.

  Args:
    predict: A function of (weights, x, training) that returns the outputs
      [batch, ...].
    initial_weights: The weights to start from, all trainable.
    example_loss: A function of (outputs, labels) that returns the loss per
      example, [batch].
    metrics: The function that makes each metric, by the metric's name;
      num_examples is added to them. Or the functions that begin, update and
      finalise all metrics.
    input_spec: The specs (x, y) of a batch.

  Returns:
    A model with the given metrics.
  """

  def loss_fn(
    output: tf.Tensor, label: tf.Tensor, sample_weight: Any = None
  ) -> tf.Tensor:
    losses = example_loss(output, label)
    if sample_weight is not None:
      # The same as in Keras: weighted losses over the number of examples.
      losses *= tf.cast(sample_weight, losses.dtype)
    return tf.reduce_mean(losses)

  if isinstance(metrics, Mapping):
    metrics = tff.learning.metrics.create_functional_metric_fns(
      collections.OrderedDict(**metrics, num_examples=ExampleCounter)
    )
  return create_trainable_model(
    predict,
    initial_weights,
    loss_fn=loss_fn,
    metrics_fns=metrics,
    input_spec=input_spec,
  )


def replace_pass(
  model: tff.learning.models.FunctionalModel,
  predict_on_batch: Callable[[Any, Any, bool], Any],
  initial_weights: Any,
) -> tff.learning.models.FunctionalModel:
  """Returns a model with another forward pass and other weights.

  Args:
    model: The model, whose loss, metrics and examples stay.
    predict_on_batch: The pass, a function of (weights, x, training).
    initial_weights: The weights to start from, (trainable, non-trainable).
  """
  return tff.learning.models.FunctionalModel(
    initial_weights=initial_weights,
    predict_on_batch_fn=predict_on_batch,
    loss_fn=model.loss,
    metrics_fns=metrics_of(model),
    input_spec=model.input_spec,
  )


def metrics_of(
  model: tff.learning.models.FunctionalModel,
) -> class_metrics.MetricFns:
  """Returns the functions that begin, update and finalise a model's metrics."""
  return (
    model.initialize_metrics_state,
    model.update_metrics_state,
    model.finalize_metrics,
  )


def create_classifier(
  predict: Predict,
  initial_weights: Sequence[np.ndarray],
  *,
  input_shape: Sequence[int],
  input_dtype: tf.DType = tf.float32,
  class_names: Sequence[str] = (),
) -> tff.learning.models.FunctionalModel:
  """Creates a model that outputs logits, trained with cross-entropy.

  Args:
    predict: A function of (weights, x, training) that returns logits
      [batch, classes].
    initial_weights: The weights to start from, all trainable.
    input_shape: The shape of one example's x; labels y are int32 [batch].
    input_dtype: The dtype of x.
    class_names: The names of all classes, to add metrics class by class.

  Returns:
    A model with the metrics loss (mean cross-entropy), accuracy and
    num_examples; those of `class_metrics` if the classes have names.
  """

  def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits
    )

  if class_names:
    metrics = class_metrics.create_class_metric_fns(class_names)
  else:
    metrics = collections.OrderedDict(
      loss=lambda: tf.keras.metrics.SparseCategoricalCrossentropy(
        name='loss', from_logits=True
      ),
      accuracy=lambda: tf.keras.metrics.SparseCategoricalAccuracy(
        name='accuracy'
      ),
    )
  return create_supervised_model(
    predict,
    initial_weights,
    example_loss=cross_entropy,
    metrics=metrics,
    input_spec=(
      tf.TensorSpec([None, *input_shape], input_dtype),
      tf.TensorSpec([None], tf.int32),
    ),
  )


class ExampleCounter(tf.keras.metrics.Sum):
  """Counts the examples of all batches."""

  def __init__(self) -> None:
    super().__init__(name='num_examples', dtype=tf.int64)

  def update_state(
    self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: Any = None
  ) -> Any:
    del y_true, sample_weight  # Every row counts once.
    return super().update_state(tf.shape(y_pred, out_type=tf.int64)[0])
