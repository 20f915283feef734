# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client optimizers that take steps on transformed gradients.

A term added to the loss adds a term to its gradient, whatever optimizer takes
the step.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import copy
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph

import tensorflow as tf
import tensorflow_federated as tff

# Maps the weights and their gradients to other gradients. The gradient of a
# weight on which the loss does not depend can be None.
GradientTransform = Callable[
  [list[tf.Tensor], list[tf.Tensor | None]], list[tf.Tensor | None]
]


class WrappedOptimizer(local_training.StartingOptimizer):
  """An optimizer that shares the state and hyper-parameters of an inner one."""

  def __init__(self, inner: tff.learning.optimizers.Optimizer) -> None:
    self._inner = inner

  def initialize(self, specs: Any) -> Any:
    return self._inner.initialize(specs)

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return autograph.convert(self._inner.next)(state, weights, gradients)

  def get_hparams(self, state: Any) -> Any:
    return self._inner.get_hparams(state)

  def set_hparams(self, state: Any, hparams: Any) -> Any:
    return self._inner.set_hparams(state, hparams)

  def started_at(
    self, weights: Sequence[tf.Tensor]
  ) -> tff.learning.optimizers.Optimizer:
    started = copy.copy(self)
    if isinstance(self._inner, local_training.StartingOptimizer):
      started._inner = self._inner.started_at(weights)
    return started


class _TransformingOptimizer(WrappedOptimizer):
  """An optimizer around another, on transformed gradients."""

  def __init__(
    self,
    inner: tff.learning.optimizers.Optimizer,
    transform: GradientTransform,
  ) -> None:
    super().__init__(inner)
    self._transform = transform

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return super().next(state, weights, self.changed(weights, gradients))

  def changed(self, weights: Any, gradients: Any) -> Any:
    """Returns the gradients given to the inner optimizer."""
    given = [
      g if g is None else tf.convert_to_tensor(g)
      for g in tf.nest.flatten(gradients)
    ]
    return tf.nest.pack_sequence_as(
      weights, self._transform(tf.nest.flatten(weights), given)
    )


def transform_gradients(
  optimizer: tff.learning.optimizers.Optimizer, transform: GradientTransform
) -> tff.learning.optimizers.Optimizer:
  """Returns an optimizer that takes its steps on transformed gradients.

  Args:
    optimizer: The optimizer that takes the steps. Its state and
      hyper-parameters are the result's.
    transform: The transformation of gradients, in the graph being built.
  """
  return _TransformingOptimizer(optimizer, transform)


def gradients_of_steps(
  optimizer: tff.learning.optimizers.Optimizer, weights: Any, gradients: Any
) -> Any:
  """Returns the gradients on which an optimizer takes its steps.

  Args:
    optimizer: One of TFF's optimizers. Gradients change only if it transforms
      them.
    weights: The weights at which the gradients were taken.
    gradients: The gradients of the loss without the optimizer's terms.
  """
  for one in unwrap_optimizer(optimizer):
    if isinstance(one, _TransformingOptimizer):
      gradients = one.changed(weights, gradients)
  return gradients


def unwrap_optimizer(
  optimizer: tff.learning.optimizers.Optimizer,
) -> Iterator[tff.learning.optimizers.Optimizer]:
  """Yields an optimizer and those that it wraps, the outermost first."""
  yield optimizer
  while isinstance(optimizer, WrappedOptimizer):
    optimizer = optimizer._inner
    yield optimizer


def build_weight_decay_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, weight_decay: float
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer of the loss plus weight_decay / 2 |w|^2.

  This equals SGD with weight decay in PyTorch, and Fed3R's official
  fine-tuning. TFF's adamw decays weights outside of the gradient instead, which
  differs for all optimizers but plain SGD.

  Args:
    optimizer: The optimizer that takes the steps, on the gradient with that of
      the added term.
    weight_decay: The decay, 0 or positive; 4e-5 in Fed3R's fine-tuning. With 0
      `optimizer` is returned unchanged.

  Returns:
    The optimizer. Its state and hyper-parameters are those of `optimizer`. A
    weight with gradient None, because the loss does not depend on it, does not
    decay, as in PyTorch.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  errors.check_range('weight_decay', weight_decay, least=0)

  def decay(weights, gradients):
    return [
      g if g is None else g + tf.cast(weight_decay, w.dtype) * w
      for g, w in zip(gradients, weights)
    ]

  return transform_gradients(optimizer, decay) if weight_decay else optimizer
