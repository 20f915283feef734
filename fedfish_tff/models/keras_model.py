# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras models with any loss as functional models."""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
import warnings

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.models import extended_model
from fedfish_tff.models import keras_conversion
from fedfish_tff.models import keras_metrics

import tensorflow as tf
import tensorflow_federated as tff


def create_keras_model(
  keras_model: tf.keras.Model,
  *,
  input_spec: tuple[Any, tf.TensorSpec],
  loss: Any,
  metrics: Iterable[Any] = (),
  freeze_statistics: bool = False,
) -> extended_model.ExtendedModel:
  """Creates a functional model that computes the same as a Keras model.

  Its loss is the given one and what the model adds to it: regularisers and
  `add_loss`. The metric `loss` is their sum, as in Keras.

  Weights that gradients do not train, but layers change in training, such as
  the means and variances of batch normalisation, are the model's non-trainable
  weights. In `algorithms` the server averages them with the clients' weights in
  the mean, unless clients keep them (`build_fed_per`), and takes no step of its
  optimizer on them. All other weights, such as those of frozen layers, are
  constants: they are neither trained nor sent.

  Args:
    keras_model: A model that has its weights; it may change afterwards and is
      no longer needed.
    input_spec: The specs (x, y) of a batch; x may be a nest, of which the model
      takes every tensor.
    loss: A loss of Keras, its name, or a function of (labels, predictions).
    metrics: Metrics of Keras, their names, or functions of (labels,
      predictions).
    freeze_statistics: Whether batch normalisation normalises by its moving
      means and variances, such as pretrained ones, in training, too, and keeps
      them; its scales and offsets are trained.

  Returns:
    The model, with the metrics `loss`, the given ones and `num_examples`.

  Raises:
    errors.InputError: If an argument is of another kind; if the output is not
      one float32 tensor; if a trainable weight has a constraint, is not float32
      or not read; if layers change trainable weights, or others in a loop; or
      if a random number is drawn by anything but a layer of the model, or by a
      layer in a loop.
  """
  keras_conversion.check_keras_model(keras_model)
  x_spec, label = input_spec
  converted = keras_conversion.convert(
    keras_model, x_spec, freeze_statistics=freeze_statistics
  )
  return converted.with_loss(
    keras_metrics.create_loss(loss),
    keras_metrics.create_metrics(metrics, label=label, output=converted.output),
    (x_spec, label),
  )


def create_functional(
  create_model: Callable[[], Any],
  input_spec: tuple[Any, Any],
  *,
  freeze_statistics: bool = False,
) -> tff.learning.models.FunctionalModel:
  """Creates a model by a function, as a functional one.

  Each call names a Keras model's layers and metrics as the first one.

  Args:
    create_model: A function that returns one of the models of `as_functional`.
    input_spec: The specs (x, y) of a batch, for a Keras model.
    freeze_statistics: Whether batch normalisation keeps its moving means and
      variances, as in `create_keras_model`.
  """
  with warnings.catch_warnings(), private_apis.new_keras_names():
    # What `from_keras_model` says of statistics holds for TFF's algorithms.
    warnings.filterwarnings('ignore', 'Batch Normalization contains')
    model = create_model()
  return as_functional(model, input_spec, freeze_statistics=freeze_statistics)


def as_functional(
  model: Any, input_spec: tuple[Any, Any], *, freeze_statistics: bool = False
) -> tff.learning.models.FunctionalModel:
  """Returns a model as a functional one.

  Args:
    model: A functional model; a Keras model that is compiled with its loss and
      metrics; or a result of `tff.learning.models.from_keras_model`.
    input_spec: The specs (x, y) of a batch, for a Keras model.
    freeze_statistics: Whether batch normalisation keeps its moving means and
      variances, as in `create_keras_model`.
  """
  if isinstance(model, tff.learning.models.FunctionalModel):
    if freeze_statistics and extended_model.changes_statistics(model):
      raise errors.InputError(
        'A model must be given as a Keras model for its statistics to be '
        'frozen, got a functional one; create_keras_classifier and '
        'create_keras_model have freeze_statistics.'
      )
    return model
  if isinstance(model, tf.keras.Model):
    arguments = _compiled_arguments(model)
    return create_keras_model(
      model,
      input_spec=input_spec,
      freeze_statistics=freeze_statistics,
      **arguments,
    )
  parts = private_apis.keras_parts(model)
  if parts is None:
    raise errors.InputError(
      'A model must be a functional one, a Keras model with its loss, '
      "keras_model.compile(loss=..., metrics=[...]), or TFF's "
      f'from_keras_model of one, got a {type(model).__name__}.'
    )
  keras_model, losses = parts
  if len(losses) != 1:
    raise errors.InputError(
      f'A model must have one loss, got {len(losses)} of them.'
    )
  given = model.input_spec
  return create_keras_model(
    keras_model,
    input_spec=(
      (given['x'], given['y']) if isinstance(given, dict) else tuple(given)
    ),
    loss=losses[0],
    metrics=[
      metric
      for metric in model.get_metrics()
      if metric.name not in keras_metrics.OWN
    ],
    freeze_statistics=freeze_statistics,
  )


def _compiled_arguments(keras_model: tf.keras.Model) -> dict[str, Any]:
  """Returns the loss and the metrics that a Keras model is compiled with."""
  whose = f'Keras model {keras_model.name!r}'
  given = private_apis.compile_arguments(keras_model)
  if given is None or given['loss'] is None:
    raise errors.InputError(
      f'{whose} must have its loss, keras_model.compile(loss=..., '
      'metrics=[...]), got none.'
    )
  usual = tf.keras.optimizers.get('rmsprop')
  optimizer = keras_model.optimizer
  if (
    type(optimizer) is not type(usual)
    or optimizer.get_config() != usual.get_config()
  ):
    raise errors.InputError(
      f'{whose} must be compiled without an optimizer, since clients take that '
      'of the run (in a config: algorithm.client_optimizer and '
      f'client_learning_rate), got {type(optimizer).__name__}.'
    )
  for name in ('loss_weights', 'weighted_metrics'):
    if given.get(name) is not None:
      raise errors.InputError(
        f'{whose} must be compiled without {name}, which runs do not have, got '
        f'{given[name]!r}.'
      )
  metrics = given['metrics']
  return {
    'loss': given['loss'],
    'metrics': tf.nest.flatten(metrics) if metrics is not None else (),
  }
