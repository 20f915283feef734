# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Losses and metrics of Keras as those of functional models."""

import collections
from collections.abc import Callable
from collections.abc import Iterable
import inspect
from typing import Any

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.models import class_metrics

import tensorflow as tf
import tensorflow_federated as tff

# The names of the metrics that every model has, or has in TFF.
OWN = ('loss', 'num_examples', 'num_batches')
_BATCH_LOSS = 'batch_loss'
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def create_loss(loss: Any) -> Callable[..., tf.Tensor]:
  """Creates the loss of a functional model.

  Args:
    loss: A loss of Keras, its name, or a function of (labels, predictions), of
      which Keras takes the mean.
  """
  try:
    found = tf.keras.losses.get(loss)
  except (TypeError, ValueError):
    found = None
  if found is None:
    raise errors.InputError(
      'loss must be one loss of Keras, its name, or a function of (labels, '
      f'predictions), got {loss!r}.'
    )
  if not isinstance(found, tf.keras.losses.Loss):
    found = private_apis.keras_loss(found)

  @tf.autograph.experimental.do_not_convert
  def loss_fn(output: Any, label: Any, sample_weight: Any = None) -> tf.Tensor:
    value = found(_match(label, output), output, sample_weight)
    if value.shape.rank != 0:
      raise errors.InputError(
        'loss must be one number per batch, such as the mean of those of the '
        f'examples, got a reduction {found.reduction!r}.'
      )
    return value

  return loss_fn


def create_metrics(
  metrics: Iterable[Any], *, label: tf.TensorSpec, output: tf.TensorSpec
) -> class_metrics.MetricFns:
  """Creates the metrics of a functional model.

  Args:
    metrics: Metrics of Keras, their names, or functions of (labels,
      predictions), each of another name.
    label: The spec of a batch's labels.
    output: The spec of a batch's predictions.

  Returns:
    The functions of the metrics by name, with `loss`, the mean of the batches'
    losses by their sizes, and `num_examples`.
  """
  found = [_create_metric(metric, label, output) for metric in metrics]
  names = [name for name, _ in found]
  for name in names:
    if names.count(name) > 1 or name in OWN:
      raise errors.InputError(
        'The metrics of a model must have different names, other than '
        f'{", ".join(OWN)}, got {", ".join(names)}.'
      )
  initialize, update, finalize = (
    tff.learning.metrics.create_functional_metric_fns(
      collections.OrderedDict(found, num_examples=_ExampleCounter)
    )
  )

  def update_matched(
    state: Any, labels: Any, batch_output: Any, sample_weight: Any = None
  ) -> Any:
    return update(
      state,
      labels=_match(labels, batch_output.predictions),
      batch_output=batch_output,
      sample_weight=sample_weight,
    )

  return with_batch_loss((initialize, update_matched, finalize))


def with_batch_loss(
  metrics_fns: class_metrics.MetricFns,
) -> class_metrics.MetricFns:
  """Returns metrics with `loss`, the mean of the batches' losses by their sizes.

  It includes what a model adds to the loss of predictions.

  Args:
    metrics_fns: The metrics, of which `loss` is replaced.
  """
  initialize, update, finalize = metrics_fns

  def initialize_all() -> collections.OrderedDict[str, Any]:
    return collections.OrderedDict(
      initialize(), **{_BATCH_LOSS: (tf.constant(0.0), tf.constant(0.0))}
    )

  def update_all(
    state: Any, labels: Any, batch_output: Any, sample_weight: Any = None
  ) -> collections.OrderedDict[str, Any]:
    inner = collections.OrderedDict(state)
    total, count = inner.pop(_BATCH_LOSS)
    inner = update(
      inner,
      labels=labels,
      batch_output=batch_output,
      sample_weight=sample_weight,
    )
    rows = tf.cast(batch_output.num_examples, tf.float32)
    loss = tf.cast(batch_output.loss, tf.float32)
    return collections.OrderedDict(
      inner, **{_BATCH_LOSS: (total + rows * loss, count + rows)}
    )

  def finalize_all(state: Any) -> collections.OrderedDict[str, tf.Tensor]:
    inner = collections.OrderedDict(state)
    loss = tf.math.divide_no_nan(*inner.pop(_BATCH_LOSS))
    return collections.OrderedDict(
      {'loss': loss} | finalize(inner) | {'loss': loss}
    )

  return initialize_all, update_all, finalize_all


class _ExampleCounter(tf.keras.metrics.Sum):
  """Counts the examples of all batches."""

  def __init__(self) -> None:
    super().__init__(name='num_examples', dtype=tf.int64)

  def update_state(
    self, y_true: tf.Tensor, y_pred: tf.Tensor, sample_weight: Any = None
  ) -> Any:
    del y_true, sample_weight  # Every row counts once.
    return super().update_state(tf.shape(y_pred, out_type=tf.int64)[0])


def _match(label: Any, output: Any) -> Any:
  """Returns labels in the rank and type of predictions, as Keras' `fit` does."""
  if not isinstance(label, tf.Tensor) or not isinstance(output, tf.Tensor):
    return label
  if label.shape.rank == 1 and output.shape.rank == 2:
    label = label[:, tf.newaxis]
  if label.dtype.is_floating:
    label = tf.cast(label, output.dtype)
  return label


def _create_metric(
  metric: Any, label: tf.TensorSpec, output: tf.TensorSpec
) -> tuple[str, Callable[[], tf.keras.metrics.Metric]]:
  """Returns a metric's name and the function that makes it."""
  name = metric if isinstance(metric, str) else None
  try:
    if name in ('accuracy', 'acc'):
      metric = _accuracy(label, output)
    metric = tf.keras.metrics.get(metric)
  except (TypeError, ValueError):
    metric = None
  if isinstance(metric, tf.keras.metrics.Metric):
    kind, config = type(metric), metric.get_config()
    lost = [
      argument
      for argument, parameter in inspect.signature(kind).parameters.items()
      if argument not in config and parameter.kind not in _VARIABLE
    ]
    # Those of Keras leave out only arguments that it makes itself.
    if lost and not kind.__module__.startswith(('keras', 'tf_keras')):
      raise errors.InputError(
        f'get_config of metric {metric.name!r} must have all arguments, by which '
        f'the metric is made anew, got none for {", ".join(lost)}.'
      )
    return metric.name, lambda: kind.from_config(dict(config))
  if not callable(metric):
    raise errors.InputError(
      'A metric must be one of Keras, its name, or a function of (labels, '
      f'predictions), got {name if metric is None else metric!r}.'
    )
  name = name or metric.__name__
  return name, lambda: tf.keras.metrics.MeanMetricWrapper(metric, name=name)


def _accuracy(label: tf.TensorSpec, output: tf.TensorSpec) -> str:
  """Returns the accuracy that Keras takes for these labels and predictions."""
  last = label.shape[-1] if label.shape.rank > 1 else None
  if output.shape[-1] == 1:
    return 'binary_accuracy'
  if label.shape.rank < output.shape.rank or last == 1:
    return 'sparse_categorical_accuracy'
  return 'categorical_accuracy'
