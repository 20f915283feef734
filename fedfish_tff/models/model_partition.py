# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which of a model's tensors are trained, and which stay as they are.

A partitioned model is a model: its weights are those that are trained, and the
others are constants. So any client work, aggregator and process takes it, and
what is frozen is neither trained nor sent in a round.
"""

from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions
from fedfish_tff.models import ridge_classifier

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartitionedModel:
  """A model of which some tensors are trained.

  Attributes:
    model: The model whose trainable weights are the trained tensors, in their
      order; what is not trainable is as in the whole model.
    trained: For each trainable tensor of the whole model whether it is trained.
    start: The whole model's weights to start from; those of frozen tensors stay.
  """

  model: tff.learning.models.FunctionalModel
  trained: tuple[bool, ...]
  start: tff.learning.models.ModelWeights

  def split(self, weights: Any) -> tff.learning.models.ModelWeights:
    """Returns the weights of `model` among those of the whole model."""
    flat = model_functions.flatten_weights(weights)
    return tff.learning.models.ModelWeights(
      tuple(w for w, t in zip(flat.trainable, self.trained) if t),
      flat.non_trainable,
    )

  def merge(self, weights: Any) -> tff.learning.models.ModelWeights:
    """Returns the whole model's weights, given those of `model`."""
    flat = model_functions.flatten_weights(weights)
    return tff.learning.models.ModelWeights(
      _merge(flat.trainable, self.start.trainable, self.trained),
      flat.non_trainable,
    )


def fine_tuned_tensors(
  model: tff.learning.models.FunctionalModel, strategy: choices.FineTuning
) -> tuple[bool, ...]:
  """Returns which tensors of a feature classifier a strategy trains.

  Args:
    model: Of `create_feature_classifier`.
    strategy: FT, FT-LP or FT-FEAT.

  Returns:
    For each trainable tensor whether it is trained.

  Raises:
    errors.InputError: For FT-FEAT, if the feature extractor has no weights.
  """
  total = len(tf.nest.flatten(model.initial_weights[0]))
  num_extractor = total - ridge_classifier.NUM_CLASSIFIER_TENSORS
  if strategy is choices.FineTuning.FT_FEAT and not num_extractor:
    raise errors.InputError(
      'FT-FEAT trains the feature extractor, but that of this model has no '
      'weights; FT or FT-LP, or an extractor with weights, was expected.'
    )
  return (strategy is not choices.FineTuning.FT_LP,) * num_extractor + (
    strategy is not choices.FineTuning.FT_FEAT,
  ) * ridge_classifier.NUM_CLASSIFIER_TENSORS


def partition_model(
  model: tff.learning.models.FunctionalModel,
  trained: Sequence[bool],
  *,
  start: tff.learning.models.ModelWeights | None = None,
) -> PartitionedModel:
  """Divides a model's trainable tensors into trained and frozen ones.

  Args:
    model: The whole model.
    trained: For each of its trainable tensors whether it is trained; one at
      least is.
    start: Weights of the whole model to start from and to freeze, such as
      Fed3R's; its initial ones by default.

  Returns:
    The model with the trained tensors as its weights, and how they go with the
    whole model's.

  Raises:
    errors.InputError: If `trained` does not fit, or weights are of another
      shape.
  """
  initial = tuple(map(np.asarray, tf.nest.flatten(model.initial_weights[0])))
  trained = tuple(map(bool, trained))
  if len(trained) != len(initial) or not any(trained):
    raise errors.InputError(
      f'Which tensors are trained is said by {trained}; True or False for each '
      f'of {len(initial)} tensors was expected, with one True at least.'
    )
  non_trainable = model.initial_weights[1]
  if start is not None:
    flat = model_functions.flatten_weights(start)
    given = tuple(map(np.asarray, flat.trainable))
    _check_shapes(given, initial)
    initial = given
    non_trainable = tf.nest.pack_sequence_as(
      non_trainable, [np.asarray(w) for w in flat.non_trainable]
    )

  @autograph.graph_function
  def predict_on_batch(model_weights: Any, x: Any, training: bool) -> Any:
    part, other = model_weights
    whole = tf.nest.pack_sequence_as(
      model.initial_weights[0],
      _merge(tf.nest.flatten(part), initial, trained),
    )
    return model.predict_on_batch((whole, other), x, training)

  return PartitionedModel(
    model=tff.learning.models.FunctionalModel(
      initial_weights=(
        tuple(w for w, t in zip(initial, trained) if t),
        non_trainable,
      ),
      predict_on_batch_fn=predict_on_batch,
      loss_fn=model.loss,
      metrics_fns=(
        model.initialize_metrics_state,
        model.update_metrics_state,
        model.finalize_metrics,
      ),
      input_spec=model.input_spec,
    ),
    trained=trained,
    start=tff.learning.models.ModelWeights(
      initial, tuple(tf.nest.flatten(non_trainable))
    ),
  )


def _merge(
  part: Sequence[Any], whole: Sequence[Any], trained: Sequence[bool]
) -> tuple[Any, ...]:
  """Returns `whole` with its trained tensors replaced by those of `part`."""
  remaining = iter(part)
  return tuple(next(remaining) if t else w for w, t in zip(whole, trained))


def _check_shapes(
  given: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> None:
  shapes = [w.shape for w in given]
  expected_shapes = [w.shape for w in expected]
  if shapes != expected_shapes:
    raise errors.InputError(
      f'The weights to start from have the shapes {shapes}; those of the model, '
      f'{expected_shapes}, were expected.'
    )
