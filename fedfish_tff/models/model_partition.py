# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Partition of a model's tensors into trained and frozen ones.

A partitioned model is a model: its weights are the trained tensors, and the
frozen ones are constants. So any client work, aggregator and process takes it,
and frozen tensors are neither trained nor sent. `bind_part` does the same
inside a graph, where the frozen tensors may change from call to call.
"""

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.models import extended_model
from fedfish_tff.models import model_functions
from fedfish_tff.models import ridge_classifier

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartitionedModel:
  """A model of which some tensors are trained.

  Attributes:
    model: The model. Its trainable weights are the trained tensors, in order.
      Its non-trainable weights are those of the whole model.
    trained: Whether each trainable tensor of the whole model is trained.
    start: The whole model's initial weights; frozen tensors keep them.
  """

  model: tff.learning.models.FunctionalModel
  trained: tuple[bool, ...]
  start: tff.learning.models.ModelWeights

  def split(self, weights: Any) -> tff.learning.models.ModelWeights:
    """Returns the weights of `model` from those of the whole model."""
    flat = model_functions.flatten_weights(weights)
    return tff.learning.models.ModelWeights(
      split_tensors(flat.trainable, self.trained)[0], flat.non_trainable
    )

  def merge(self, weights: Any) -> tff.learning.models.ModelWeights:
    """Returns the whole model's weights from those of `model`."""
    flat = model_functions.flatten_weights(weights)
    _, frozen = split_tensors(self.start.trainable, self.trained)
    return tff.learning.models.ModelWeights(
      join_tensors(flat.trainable, frozen, self.trained), flat.non_trainable
    )


def fine_tuned_tensors(
  model: tff.learning.models.FunctionalModel, strategy: choices.FineTuning
) -> tuple[bool, ...]:
  """Returns which tensors of a feature classifier a strategy trains.

  Args:
    model: A model by `create_feature_classifier`.
    strategy: The strategy FT, FT-LP, or FT-FEAT, for a feature extractor with
      weights.

  Returns:
    Whether each trainable tensor is trained.
  """
  errors.check_choice('strategy', strategy, choices.FineTuning)
  total = len(tf.nest.flatten(model.initial_weights[0]))
  num_extractor = total - ridge_classifier.NUM_CLASSIFIER_TENSORS
  if strategy is choices.FineTuning.FT_FEAT and not num_extractor:
    raise errors.InputError(
      'FT-FEAT must have a feature extractor with weights to train, got one '
      'without; FT and FT-LP need none.'
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
    model: The whole model, whose trainable tensors are divided.
    trained: Whether each of its trainable tensors is trained; at least one is.
    start: The weights of the whole model to start from and to freeze, such as
      Fed3R's; its initial ones by default.

  Returns:
    The model with the trained tensors as its weights, and the conversions
    between these and the whole model's.
  """
  if start is not None:
    model = model_functions.with_weights(model, start)
  initial = tuple(map(np.asarray, tf.nest.flatten(model.initial_weights[0])))
  trained = check_flags('trained', trained)
  if len(trained) != len(initial) or not any(trained):
    raise errors.InputError(
      'The trained tensors must be given by True or False for each of '
      f'{len(initial)} tensors, with one True at least, got {trained}.'
    )
  non_trainable = model.initial_weights[1]

  part_initial, frozen = split_tensors(initial, trained)

  def join(
    model_weights: Any, x: Any, unused_training: bool
  ) -> tuple[Any, Any]:
    part, other = model_weights
    # Lifted out of this function, since its gradient would hold a second copy.
    with tf.init_scope():
      constants = tuple(map(tf.constant, frozen))
    whole = tf.nest.pack_sequence_as(
      model.initial_weights[0],
      join_tensors(tf.nest.flatten(part), constants, trained),
    )
    return (whole, other), x

  return PartitionedModel(
    model=extended_model.change_inputs(
      model, join, (part_initial, non_trainable)
    ),
    trained=trained,
    start=tff.learning.models.ModelWeights(
      initial, tuple(tf.nest.flatten(non_trainable))
    ),
  )


def check_flags(name: str, values: Sequence[bool]) -> tuple[bool, ...]:
  """Returns True or False for each tensor as a tuple.

  Names and numbers of tensors, which count as true, raise an InputError.

  Args:
    name: The argument's name, for the message.
    values: The flags, of Python's or NumPy's type.
  """
  if not all(isinstance(value, (bool, np.bool_)) for value in values):
    raise errors.unexpected(
      name, values, 'True or False for each trainable tensor'
    )
  return tuple(map(bool, values))


def split_tensors(
  tensors: Sequence[Any], chosen: Sequence[bool]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
  """Returns the chosen ones of a model's tensors, and the others.

  Args:
    tensors: One tensor for each of the model's trainable tensors.
    chosen: Whether each of them is chosen.
  """
  if len(chosen) != len(tensors):
    raise errors.InputError(
      'The chosen tensors must be given by True or False for each of the '
      f'{len(tensors)} trainable tensors of the model, got {tuple(chosen)}.'
    )
  return (
    tuple(t for t, c in zip(tensors, chosen) if c),
    tuple(t for t, c in zip(tensors, chosen) if not c),
  )


def join_tensors(
  part: Sequence[Any], others: Sequence[Any], chosen: Sequence[bool]
) -> tuple[Any, ...]:
  """Returns all tensors in the model's order; the inverse of `split_tensors`.

  Args:
    part: The chosen tensors, in the model's order.
    others: The other tensors, in the model's order.
    chosen: Whether each trainable tensor of the model is chosen.
  """
  both = {True: iter(part), False: iter(others)}
  return tuple(next(both[bool(c)]) for c in chosen)


def select_tensors(
  tensor_names: Sequence[str],
  select: Sequence[str] | Callable[[str], bool],
) -> tuple[bool, ...]:
  """Chooses some of a model's tensors by their names.

  Args:
    tensor_names: A name for each trainable tensor, with slashes, such as
      'hidden_0/kernel'.
    select: The names of layers or tensors, or whole parts of names from the
      left: 'encoder' or 'encoder/layer_0' for 'encoder/layer_0/kernel'. Or a
      function from a name to whether its tensor is chosen. Each name must match
      a tensor, and some tensors, not all, must be chosen.

  Returns:
    Whether each tensor is chosen.
  """
  there_are = f'there are: {", ".join(tensor_names)}'
  if callable(select):
    chosen = tuple(bool(select(name)) for name in tensor_names)
  else:
    for part in select:
      if not any(_is_of(name, part) for name in tensor_names):
        raise errors.InputError(
          f'No tensor of the model is called {part!r}, or begins with '
          f'{part + "/"!r}; {there_are}.'
        )
    chosen = tuple(
      any(_is_of(name, part) for part in select) for name in tensor_names
    )
  if all(chosen) or not any(chosen):
    raise errors.InputError(
      f'Some of the {len(chosen)} tensors of the model must be chosen, not '
      f'all, got {"all" if any(chosen) else "none"}; {there_are}.'
    )
  return chosen


def last_layer(tensor_names: Sequence[str]) -> str:
  """Returns the name of the last layer, such as a classifier's output layer."""
  layer, _, tensor = tensor_names[-1].rpartition('/')
  return layer or tensor


def _is_of(name: str, part: str) -> bool:
  return name == part or name.startswith(f'{part}/')


def bind_part(
  bound: model_functions.BoundModel,
  trained: Sequence[bool],
  frozen: Sequence[tf.Tensor],
) -> model_functions.BoundModel:
  """Returns a model that has a part of another's trainable weights.

  Gradients of the other tensors are not computed: TensorFlow leaves out unused
  values.

  Args:
    bound: The whole model, bound to the graph being built.
    trained: Whether each of its trainable tensors belongs to the part.
    frozen: The other tensors.
  """
  return _PartOfModel(bound, tuple(trained), tuple(frozen))


@dataclasses.dataclass(frozen=True, eq=False)
class _PartOfModel(model_functions.BoundModel):
  """A model that has a part of another's trainable weights."""

  _whole: model_functions.BoundModel
  _trained: tuple[bool, ...]
  _frozen: tuple[tf.Tensor, ...]

  def _join(
    self, weights: model_functions.FlatWeights
  ) -> model_functions.FlatWeights:
    return weights._replace(
      trainable=join_tensors(weights.trainable, self._frozen, self._trained)
    )

  def initial_metrics(self) -> Any:
    return self._whole.initial_metrics()

  def training_gradients(
    self, weights: model_functions.FlatWeights, metrics_state: Any, batch: Any
  ) -> model_functions.TrainingGradients:
    result = self._whole.training_gradients(
      self._join(weights), metrics_state, batch
    )
    return result._replace(
      gradients=split_tensors(result.gradients, self._trained)[0]
    )

  def loss_gradients(
    self, weights: model_functions.FlatWeights, x: Any, y: Any
  ) -> tuple[tf.Tensor, ...]:
    gradients = self._whole.loss_gradients(self._join(weights), x, y)
    return split_tensors(gradients, self._trained)[0]

  def hessian_product(
    self,
    weights: model_functions.FlatWeights,
    x: Any,
    y: Any,
    vector: tuple[tf.Tensor, ...],
  ) -> tuple[tf.Tensor, ...]:
    still = tuple(map(tf.zeros_like, self._frozen))
    product = self._whole.hessian_product(
      self._join(weights), x, y, join_tensors(vector, still, self._trained)
    )
    return split_tensors(product, self._trained)[0]

  def predictions(self, weights: model_functions.FlatWeights, x: Any) -> Any:
    return self._whole.predictions(self._join(weights), x)

  def evaluate_batch(
    self, weights: model_functions.FlatWeights, metrics_state: Any, batch: Any
  ) -> tuple[Any, tf.Tensor]:
    return self._whole.evaluate_batch(self._join(weights), metrics_state, batch)

  def unfinalized_metrics(self, metrics_state: Any) -> Any:
    return self._whole.unfinalized_metrics(metrics_state)
