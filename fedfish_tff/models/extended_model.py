# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functional models whose pass gives more than predictions.

The pass of a `tff.learning.models.FunctionalModel` returns predictions, and its
loss is one of predictions and labels. That leaves out regularisers, other added
losses, and what training changes beside the trainable weights, such as the
statistics of batch normalisation.
"""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import supervised

import tensorflow as tf
import tensorflow_federated as tff


class Pass(NamedTuple):
  """The result of a model's pass over a batch.

  Attributes:
    output: The predictions.
    added_loss: The sum of the losses beside that of predictions, a float32
      scalar; None for a model without.
    non_trainable: The non-trainable weights after the pass, a flat tuple.
  """

  output: Any
  added_loss: tf.Tensor | None
  non_trainable: tuple[tf.Tensor, ...]


# Maps (weights, x, training) to the pass.
PassFn = Callable[[Any, Any, bool], Pass]
# Maps (weights, x, training) to the weights and x of another model.
ChangeFn = Callable[[Any, Any, bool], tuple[Any, Any]]


class ExtendedModel(tff.learning.models.FunctionalModel):
  """A functional model whose pass gives more than predictions.

  This package's algorithms and evaluations take it as the model that it is.
  Those of TFF would leave out what the pass gives beside predictions, so its
  `predict_on_batch` refuses training where there is such.

  Attributes:
    run_pass: The pass, a function of (weights, x, training).
    adds_loss: Whether the pass adds losses.
    has_statistics: Whether training changes non-trainable weights.
    tensor_names: The names of the trainable weights.
    normalization_tensors: Whether batch normalisation has each of them.
  """

  def __init__(
    self,
    *,
    initial_weights: Any,
    run_pass: PassFn,
    loss_fn: Callable[..., tf.Tensor],
    metrics_fns: Any,
    input_spec: Any,
    adds_loss: bool,
    has_statistics: bool,
    tensor_names: Sequence[str] = (),
    normalization_tensors: Sequence[bool] = (),
  ) -> None:
    """Initializes the model, by the attributes of the class.

    Args:
      initial_weights: The weights to start from, (trainable, non-trainable).
      run_pass: The pass, a function of (weights, x, training) that returns a
        `Pass`.
      loss_fn: The loss of predictions, as in
        `tff.learning.models.FunctionalModel`.
      metrics_fns: The functions that begin, update and finalise the metrics.
      input_spec: The specs (x, y) of a batch.
      adds_loss: Whether the pass adds losses.
      has_statistics: Whether training changes non-trainable weights.
      tensor_names: The names of the trainable weights; none by default.
      normalization_tensors: Whether batch normalisation has each of them.
    """

    @autograph.graph_function
    def predict_on_batch(model_weights: Any, x: Any, training: bool) -> Any:
      if training and (adds_loss or has_statistics):
        raise errors.InputError(
          'A model with added losses or with statistics of batches must be '
          'trained by the algorithms of fedfish_tff, since others, got one of '
          'them, leave both out.'
        )
      return run_pass(model_weights, x, training).output

    super().__init__(
      initial_weights=initial_weights,
      predict_on_batch_fn=predict_on_batch,
      loss_fn=loss_fn,
      metrics_fns=metrics_fns,
      input_spec=input_spec,
    )
    self.run_pass = autograph.graph_function(run_pass)
    self.adds_loss = adds_loss
    self.has_statistics = has_statistics
    self.tensor_names = tuple(tensor_names)
    self.normalization_tensors = tuple(normalization_tensors)


def adds_loss(model: Any) -> bool:
  """Returns whether a functional model is known to add losses."""
  return isinstance(model, ExtendedModel) and model.adds_loss


def changes_statistics(model: Any) -> bool:
  """Returns whether training changes a functional model's other weights."""
  return isinstance(model, ExtendedModel) and model.has_statistics


def run_pass(
  model: tff.learning.models.FunctionalModel,
  model_weights: Any,
  x: Any,
  training: bool,
) -> Pass:
  """Returns the pass of any functional model over a batch.

  Args:
    model: Any functional model. Only the pass of an `ExtendedModel` gives more
      than predictions.
    model_weights: The weights, in the structure of the model's initial ones.
    x: The batch's inputs.
    training: Whether it is a pass in training.
  """
  if isinstance(model, ExtendedModel):
    return model.run_pass(model_weights, x, training)
  output = model.predict_on_batch(model_weights, x, training=training)
  return Pass(output, None, tuple(tf.nest.flatten(model_weights[1])))


def change_inputs(
  model: tff.learning.models.FunctionalModel,
  change: ChangeFn,
  initial_weights: Any,
  *,
  same_tensors: bool = False,
) -> tff.learning.models.FunctionalModel:
  """Returns a model with other weights or other inputs for the same pass.

  Args:
    model: The model, whose pass, loss, metrics and examples stay.
    change: A function from the new model's (weights, x, training) to the
      weights and x of `model`.
    initial_weights: The new model's initial weights.
    same_tensors: Whether its trainable weights are those of `model`.
  """
  if isinstance(model, ExtendedModel):
    return ExtendedModel(
      initial_weights=initial_weights,
      run_pass=lambda weights, x, training: model.run_pass(
        *change(weights, x, training), training
      ),
      loss_fn=model.loss,
      metrics_fns=supervised.metrics_of(model),
      input_spec=model.input_spec,
      adds_loss=model.adds_loss,
      has_statistics=model.has_statistics,
      tensor_names=model.tensor_names if same_tensors else (),
      normalization_tensors=(
        model.normalization_tensors if same_tensors else ()
      ),
    )

  @autograph.graph_function
  def predict_on_batch(model_weights: Any, x: Any, training: bool) -> Any:
    return model.predict_on_batch(
      *change(model_weights, x, training), training=training
    )

  return supervised.replace_pass(model, predict_on_batch, initial_weights)
