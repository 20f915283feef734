# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One view of TFF's two kinds of model, for graph-building code.

TFF has `tff.learning.models.FunctionalModel` (weights are arguments) and
`tff.learning.models.VariableModel` (weights are variables, like a Keras
model's). Client work and evaluation are written once, for `BoundModel`, which
takes weights as arguments for both.

Weights inside a graph are flat tuples of tensors (`FlatWeights`), because
`tf.data.Dataset.reduce` would stack the lists of Keras models.
"""

import abc
import collections
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import extended_model

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

ModelFn = (
  Callable[[], tff.learning.models.VariableModel]
  | tff.learning.models.FunctionalModel
)
# Maps (predictions, labels, seed) to labels drawn from the model.
LabelSampler = Callable[[Any, Any, tf.Tensor], Any]


class FlatWeights(NamedTuple):
  """Model weights as flat tuples of tensors, in the model's own order."""

  trainable: tuple[tf.Tensor, ...]
  non_trainable: tuple[tf.Tensor, ...]


class TrainingGradients(NamedTuple):
  """The results of one batch of local training.

  Attributes:
    gradients: The gradients of the batch's mean loss, one dense tensor per
      trainable weight.
    non_trainable: The non-trainable weights after the forward pass.
    metrics_state: The metrics after the batch.
    num_examples: The number of examples in the batch, an int64 scalar.
  """

  gradients: tuple[tf.Tensor, ...]
  non_trainable: tuple[tf.Tensor, ...]
  metrics_state: Any
  num_examples: tf.Tensor


def is_functional(model: ModelFn) -> bool:
  """Returns whether a model is functional; raises TypeError for no model."""
  if isinstance(model, tff.learning.models.FunctionalModel):
    return True
  # Keras models are callable, too, but take data.
  if callable(model) and not isinstance(model, tf.keras.layers.Layer):
    return False
  raise TypeError(_say_what_to_write('model is', model))


def _say_what_to_write(where: str, found: Any) -> str:
  """Returns the message for an object that is no model, after `where`."""
  if isinstance(found, tff.learning.models.VariableModel):
    return (
      f'{where} a {type(found).__name__}, whose variables are made already; it '
      'must be a function that makes it: write lambda: '
      'tff.learning.models.from_keras_model(...) with a new Keras model.'
    )
  if isinstance(found, tf.keras.layers.Layer):
    return (
      f'{where} the Keras model {found.name!r}, without loss and metrics; write '
      'fedfish_tff.models.create_keras_classifier(keras_model, input_spec=...) '
      'for a classifier, or a function that makes a model anew: lambda: '
      'tff.learning.models.from_keras_model(create_keras_model(), ...).'
    )
  return (
    f'{where} a {type(found).__name__}; a model must be a '
    'tff.learning.models.FunctionalModel or a function that returns a '
    'tff.learning.models.VariableModel.'
  )


def _new_variable_model(
  model_fn: Callable[[], tff.learning.models.VariableModel],
) -> tff.learning.models.VariableModel:
  """Returns a new model; raises TypeError if the function returns another."""
  model = model_fn()
  if not isinstance(model, tff.learning.models.VariableModel):
    raise TypeError(_say_what_to_write('The model function returns', model))
  # In a graph, the variables of a new model belong to the graph.
  if not tf.executing_eagerly() and any(
    hasattr(variable.handle, 'numpy')
    for variable in tf.nest.flatten(model.trainable_variables)
  ):
    raise TypeError(
      'The model function must make the Keras model, too, got one that returns '
      'a model with variables from before the call.'
    )
  return model


def has_statistics(model: ModelFn) -> bool:
  """Returns whether training may change weights beside the trainable ones."""
  if is_functional(model):
    return extended_model.changes_statistics(model)
  return bool(tff.structure.flatten(weights_type(model).non_trainable))


def split_batch(batch: Any) -> tuple[Any, Any]:
  """Returns (x, y) of a batch that is a pair or a mapping."""
  if isinstance(batch, Mapping):
    return batch['x'], batch['y']
  x, y = batch
  return x, y


def _dense_gradients(
  tape: tf.GradientTape,
  target: Any,
  weights: tuple[Any, ...],
  vector: tuple[tf.Tensor, ...] | None = None,
) -> tuple[tf.Tensor, ...]:
  """Returns a gradient for each weight; zeros if there is none.

  Args:
    tape: The tape that recorded the target.
    target: A loss; or tensors, with a vector of as many.
    weights: The weights that the target depends on.
    vector: The factor of the target before it is differentiated; None for
      the target itself.
  """
  gradients = tape.gradient(
    target,
    weights,
    output_gradients=vector,
    unconnected_gradients=tf.UnconnectedGradients.ZERO,
  )
  return tuple(tf.convert_to_tensor(g) for g in gradients)


class BoundModel(abc.ABC):
  """A model inside the graph being built, with weights as arguments."""

  @abc.abstractmethod
  def initial_metrics(self) -> Any:
    """Returns the metrics state before any batch."""

  @abc.abstractmethod
  def training_gradients(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> TrainingGradients:
    """Returns gradients of the batch's mean loss and the updated metrics."""

  @abc.abstractmethod
  def loss_gradients(
    self, weights: FlatWeights, x: Any, y: Any
  ) -> tuple[tf.Tensor, ...]:
    """Returns gradients of the mean loss; leaves the metrics unchanged."""

  def hessian_product(
    self, weights: FlatWeights, x: Any, y: Any, vector: tuple[tf.Tensor, ...]
  ) -> tuple[tf.Tensor, ...]:
    """Returns the mean loss' Hessian times a vector; metrics do not change.

    It is the gradient of <gradients, vector> and costs two gradients.
    """
    sources = self._gradient_sources(weights)
    with tf.GradientTape() as tape:
      tape.watch(sources)
      found = self.loss_gradients(weights, x, y)
    return _dense_gradients(tape, found, sources, vector)

  def _gradient_sources(self, weights: FlatWeights) -> tuple[Any, ...]:
    """Returns the tensors or variables that the loss depends on."""
    return weights.trainable

  @abc.abstractmethod
  def predictions(self, weights: FlatWeights, x: Any) -> Any:
    """Returns the model's output on `x` in training mode."""

  @abc.abstractmethod
  def evaluate_batch(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> tuple[Any, tf.Tensor]:
    """Returns (metrics state, number of examples) after one more batch."""

  @abc.abstractmethod
  def unfinalized_metrics(self, metrics_state: Any) -> Any:
    """Returns the metrics in the form for metrics aggregators."""


class _BoundFunctionalModel(BoundModel):
  """`BoundModel` of a `tff.learning.models.FunctionalModel`."""

  def __init__(self, model: tff.learning.models.FunctionalModel):
    self._model = model
    # Its predict_on_batch is a tf.function, which needs no conversion.
    self._loss = autograph.convert(model.loss)
    self._update_metrics = autograph.convert(model.update_metrics_state)

  def _packed(self, weights: FlatWeights) -> tuple[Any, Any]:
    trainable, non_trainable = self._model.initial_weights
    return (
      tf.nest.pack_sequence_as(trainable, weights.trainable),
      tf.nest.pack_sequence_as(non_trainable, weights.non_trainable),
    )

  def _pass(
    self, weights: FlatWeights, x: Any, training: bool
  ) -> extended_model.Pass:
    return extended_model.run_pass(
      self._model, self._packed(weights), x, training
    )

  def _forward(
    self, weights: FlatWeights, x: Any, y: Any, training: bool
  ) -> tuple[tff.learning.models.BatchOutput, tuple[tf.Tensor, ...]]:
    """Returns the loss and predictions, and the non-trainable weights."""
    output, added_loss, non_trainable = self._pass(weights, x, training)
    loss = self._loss(output=output, label=y)
    if added_loss is not None:
      loss += added_loss
    batch_output = tff.learning.models.BatchOutput(
      loss=loss,
      predictions=output,
      num_examples=tf.shape(tf.nest.flatten(output)[0])[0],
    )
    return batch_output, non_trainable

  def _gradients(
    self, weights: FlatWeights, x: Any, y: Any
  ) -> tuple[
    tuple[tf.Tensor, ...],
    tff.learning.models.BatchOutput,
    tuple[tf.Tensor, ...],
  ]:
    with tf.GradientTape() as tape:
      tape.watch(weights.trainable)
      output, non_trainable = self._forward(weights, x, y, training=True)
    gradients = _dense_gradients(tape, output.loss, weights.trainable)
    return gradients, output, non_trainable

  def initial_metrics(self) -> Any:
    return autograph.convert(self._model.initialize_metrics_state)()

  def training_gradients(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> TrainingGradients:
    x, y = split_batch(batch)
    gradients, output, non_trainable = self._gradients(weights, x, y)
    metrics_state = self._update_metrics(
      metrics_state, labels=y, batch_output=output
    )
    return TrainingGradients(
      gradients,
      non_trainable,
      metrics_state,
      tf.cast(output.num_examples, tf.int64),
    )

  def loss_gradients(
    self, weights: FlatWeights, x: Any, y: Any
  ) -> tuple[tf.Tensor, ...]:
    return self._gradients(weights, x, y)[0]

  def predictions(self, weights: FlatWeights, x: Any) -> Any:
    return self._pass(weights, x, training=True).output

  def evaluate_batch(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> tuple[Any, tf.Tensor]:
    x, y = split_batch(batch)
    output, _ = self._forward(weights, x, y, training=False)
    metrics_state = self._update_metrics(
      metrics_state, labels=y, batch_output=output
    )
    return metrics_state, tf.cast(output.num_examples, tf.int64)

  def unfinalized_metrics(self, metrics_state: Any) -> Any:
    return metrics_state


class _BoundVariableModel(BoundModel):
  """`BoundModel` of a `tff.learning.models.VariableModel`.

  The metrics live in the model's variables, so the metrics state is empty and
  the order of calls in the surrounding `tf.function` is the order of updates.
  """

  def __init__(self, model: tff.learning.models.VariableModel):
    self._model = model
    self._forward_pass = autograph.convert(model.forward_pass)
    self._trainable = tuple(tf.nest.flatten(model.trainable_variables))
    self._non_trainable = tuple(tf.nest.flatten(model.non_trainable_variables))

  def _assign(self, weights: FlatWeights) -> None:
    for variable, value in zip(self._trainable, weights.trainable):
      variable.assign(value)
    for variable, value in zip(self._non_trainable, weights.non_trainable):
      variable.assign(value)

  def _batch(self, x: Any, y: Any) -> Any:
    if isinstance(self._model.input_spec, Mapping):
      return collections.OrderedDict(x=x, y=y)
    return (x, y)

  def _gradients(
    self, weights: FlatWeights, batch: Any
  ) -> tuple[tuple[tf.Tensor, ...], tff.learning.models.BatchOutput]:
    self._assign(weights)
    with tf.GradientTape() as tape:
      output = self._forward_pass(batch, training=True)
    return _dense_gradients(tape, output.loss, self._trainable), output

  def initial_metrics(self) -> Any:
    # Each step assigns the weights first. Without zeros here, the initial values
    # that the model draws would enter the loop over batches, and so be drawn
    # for each client.
    for variable in (*self._trainable, *self._non_trainable):
      variable.assign(tf.zeros(variable.shape, variable.dtype))
    autograph.convert(self._model.reset_metrics)()
    return ()

  def training_gradients(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> TrainingGradients:
    gradients, output = self._gradients(weights, batch)
    return TrainingGradients(
      gradients,
      tuple(v.read_value() for v in self._non_trainable),
      metrics_state,
      tf.cast(output.num_examples, tf.int64),
    )

  def loss_gradients(
    self, weights: FlatWeights, x: Any, y: Any
  ) -> tuple[tf.Tensor, ...]:
    # The forward pass updates metrics, so their values are restored.
    metrics = [(v, v.read_value()) for v in self._model.local_variables]
    gradients, _ = self._gradients(weights, self._batch(x, y))
    for variable, value in metrics:
      variable.assign(value)
    return gradients

  def _gradient_sources(self, weights: FlatWeights) -> tuple[Any, ...]:
    return self._trainable

  def predictions(self, weights: FlatWeights, x: Any) -> Any:
    self._assign(weights)
    return autograph.convert(self._model.predict_on_batch)(x, training=True)

  def evaluate_batch(
    self, weights: FlatWeights, metrics_state: Any, batch: Any
  ) -> tuple[Any, tf.Tensor]:
    self._assign(weights)
    output = self._forward_pass(batch, training=False)
    return metrics_state, tf.cast(output.num_examples, tf.int64)

  def unfinalized_metrics(self, metrics_state: Any) -> Any:
    del metrics_state  # The metrics are in the model's variables.
    return autograph.convert(self._model.report_local_unfinalized_metrics)()


def bind_model(model: ModelFn) -> BoundModel:
  """Returns the model's `BoundModel` in the graph being built.

  Args:
    model: A functional model, or a function that returns a new variable model.
      Its variables are created here, so call this once per `tff.tensorflow`
      computation and outside any `tf.function`.
  """
  if is_functional(model):
    return _BoundFunctionalModel(model)
  return _BoundVariableModel(_new_variable_model(model))


def flatten_weights(weights: Any) -> FlatWeights:
  """Flattens a `tff.learning.models.ModelWeights`."""
  return FlatWeights(
    tuple(tf.nest.flatten(weights.trainable)),
    tuple(tf.nest.flatten(weights.non_trainable)),
  )


def weights_like(
  weights: Any, flat: FlatWeights
) -> tff.learning.models.ModelWeights:
  """Packs `flat` in the structure of a `tff.learning.models.ModelWeights`."""
  return tff.learning.models.ModelWeights(
    tf.nest.pack_sequence_as(weights.trainable, flat.trainable),
    tf.nest.pack_sequence_as(weights.non_trainable, flat.non_trainable),
  )


def with_weights(
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
) -> tff.learning.models.FunctionalModel:
  """Returns a model with other initial weights.

  Args:
    model: The model whose computations stay.
    weights: The weights, in the model's order, with its shapes and dtypes.
  """
  given, expected = (
    [list(map(np.asarray, tf.nest.flatten(ws))) for ws in pair]
    for pair in (weights, model.initial_weights)
  )
  found, wanted = (
    [[f'{w.dtype.name}{list(w.shape)}' for w in ws] for ws in pair]
    for pair in (given, expected)
  )
  if found != wanted:
    raise errors.InputError(
      'The weights to start from must be those of the model, trainable '
      f'{", ".join(wanted[0])} and others {", ".join(wanted[1]) or "none"}, '
      f'got {", ".join(found[0])} and {", ".join(found[1]) or "none"}.'
    )
  return extended_model.change_inputs(
    model,
    lambda weights, x, unused_training: (weights, x),
    tuple(map(tf.nest.pack_sequence_as, model.initial_weights, given)),
    same_tensors=True,
  )


def batch_type(model: ModelFn) -> tff.types.Type:
  """Returns the TFF type of one batch of the model."""
  if is_functional(model):
    return tff.types.tensorflow_to_type(model.input_spec)
  with tf.Graph().as_default():
    spec = _new_variable_model(model).input_spec
  return tff.types.tensorflow_to_type(spec)


def data_type(model: ModelFn) -> tff.types.SequenceType:
  """Returns the TFF type of one client's data: a sequence of batches."""
  return tff.types.SequenceType(batch_type(model))


def build_initial_weights(model: ModelFn) -> tff.Computation:
  """Returns a computation ( -> ModelWeights) of the weights to start from.

  Args:
    model: A functional model, or a function that returns a variable model. It
      must have trainable weights. A functional model's are constants, the same
      in every process, and must be finite.
  """
  initial_weights = _trace_weights(model)
  if not tff.structure.flatten(initial_weights.type_signature.result.trainable):
    raise errors.InputError(
      'A model must have trainable weights, got none; a Keras model has them '
      'once it was built or called on a batch.'
    )
  if is_functional(model):
    for i, weight in enumerate(tf.nest.flatten(model.initial_weights[0])):
      weight = np.asarray(weight)
      if weight.dtype.kind == 'f' and not np.all(np.isfinite(weight)):
        raise errors.InputError(
          f'Trainable tensor {i} of the model, of shape {weight.shape}, must '
          f'start from finite numbers, got {weight[~np.isfinite(weight)][0]}.'
        )
  return initial_weights


def weights_type(model: ModelFn) -> tff.types.StructWithPythonType:
  """Returns the TFF type of the model's `ModelWeights`."""
  return _trace_weights(model).type_signature.result


def _trace_weights(model: ModelFn) -> tff.Computation:
  is_constant = is_functional(model)

  @tff.tensorflow.computation
  def initial_weights():
    if not is_constant:
      return tff.learning.models.ModelWeights.from_model(
        _new_variable_model(model)
      )
    return tff.learning.models.ModelWeights(
      *(tuple(map(tf.convert_to_tensor, ws)) for ws in model.initial_weights)
    )

  return initial_weights


def metric_finalizers(model: ModelFn) -> Any:
  """Returns the argument of `tff.learning.metrics.sum_then_finalize`."""
  if is_functional(model):
    return model.finalize_metrics
  with tf.Graph().as_default():
    return _new_variable_model(model).metric_finalizers()


def build_metrics_finalizer(
  model: ModelFn,
) -> Callable[[Any], collections.OrderedDict[str, tf.Tensor]]:
  """Returns a function of the graph that finalizes metrics."""
  finalizers = metric_finalizers(model)
  if callable(finalizers):
    return finalizers

  def finalize(unfinalized: Any) -> collections.OrderedDict[str, tf.Tensor]:
    return collections.OrderedDict(
      (name, finalizer(unfinalized[name]))
      for name, finalizer in finalizers.items()
    )

  return finalize


def build_evaluation_pass(
  model: ModelFn,
) -> Callable[[Any, tf.data.Dataset], tuple[Any, tf.Tensor]]:
  """Returns a function of the graph that evaluates weights on a client's data.

  Call the result inside a `tff.tensorflow.computation`, once.

  Args:
    model: A functional model, or a function that returns a variable model.

  Returns:
    A function of (`tff.learning.models.ModelWeights`, `tf.data.Dataset` of
    batches) that returns (unfinalized metrics, int64 number of examples).
  """

  def evaluate(weights: Any, dataset: tf.data.Dataset) -> tuple[Any, tf.Tensor]:
    bound = bind_model(model)

    @autograph.graph_function
    def run(flat: FlatWeights, data: tf.data.Dataset) -> tuple[Any, tf.Tensor]:
      def reduce_fn(state, batch):
        metrics_state, num_examples = state
        metrics_state, batch_size = bound.evaluate_batch(
          flat, metrics_state, batch
        )
        return metrics_state, num_examples + batch_size

      metrics_state, num_examples = data.reduce(
        (bound.initial_metrics(), tf.constant(0, tf.int64)), reduce_fn
      )
      return bound.unfinalized_metrics(metrics_state), num_examples

    return run(flatten_weights(weights), dataset)

  return evaluate
