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
# Maps (outputs, labels) to a value per example, [batch].
ExampleValues = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


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
  example_loss: ExampleValues,
  metrics: Mapping[str, ExampleValues] | class_metrics.MetricFns,
  input_spec: tuple[tf.TensorSpec, tf.TensorSpec],
) -> tff.learning.models.FunctionalModel:
  """Creates a model with a loss per example, all weights trainable.

  Args:
    predict: A function of (weights, x, training) that returns the outputs
      [batch, ...].
    initial_weights: The weights to start from, all trainable.
    example_loss: The loss per example.
    metrics: The values per example whose means are metrics, by the metrics'
      names; loss and num_examples are added to them. Or the functions that
      begin, update and finalise all metrics.
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
    metrics = _create_mean_fns({'loss': example_loss, **metrics})
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

  def is_correct(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.equal(tf.argmax(logits, -1, output_type=labels.dtype), labels)

  if class_names:
    metrics = class_metrics.create_class_metric_fns(class_names)
  else:
    metrics = {'accuracy': is_correct}
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


def _create_mean_fns(
  values: Mapping[str, ExampleValues],
) -> class_metrics.MetricFns:
  """Creates metrics that are means over examples, and num_examples.

  Keras' metrics give the same numbers. But Keras rebuilds their classes whenever
  it makes one in a graph: that took a tenth of the time to build a process.

  Args:
    values: The values per example, by the metrics' names.

  Returns:
    The functions that begin, update and finalise the metrics. Their state has
    (sum, number of examples) of each, float32 as in Keras, and num_examples,
    int64.
  """

  def initialize() -> collections.OrderedDict[str, Any]:
    return collections.OrderedDict(
      {name: (tf.constant(0.0), tf.constant(0.0)) for name in values},
      num_examples=(tf.constant(0, tf.int64),),
    )

  @tf.autograph.experimental.do_not_convert
  def update(
    state: collections.OrderedDict[str, Any],
    labels: tf.Tensor,
    batch_output: tff.learning.models.BatchOutput,
    sample_weight: Any = None,
  ) -> collections.OrderedDict[str, Any]:
    del sample_weight  # Every example counts once.
    outputs = batch_output.predictions
    rows = tf.shape(outputs, out_type=tf.int64)[0]
    updated = collections.OrderedDict()
    for name, of in values.items():
      total, count = state[name]
      updated[name] = (
        total + tf.reduce_sum(tf.cast(of(outputs, labels), tf.float32)),
        count + tf.cast(rows, tf.float32),
      )
    updated['num_examples'] = (state['num_examples'][0] + rows,)
    return updated

  def finalize(
    state: collections.OrderedDict[str, Any],
  ) -> collections.OrderedDict[str, tf.Tensor]:
    means = {name: tf.math.divide_no_nan(*state[name]) for name in values}
    return collections.OrderedDict(
      means, num_examples=tf.identity(state['num_examples'][0])
    )

  return initialize, update, finalize
