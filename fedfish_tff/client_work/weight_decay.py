# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client optimizer whose gradients include an L2 penalty on the weights.

The loss plus decay / 2 |w|^2, as SGD with weight decay has it in PyTorch and so
in Fed3R's official fine-tuning; adamw, in TFF, decays weights aside from the
gradient instead, which for other optimizers than plain SGD is not the same.
"""

import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph

import tensorflow as tf
import tensorflow_federated as tff


class _DecayingOptimizer(tff.learning.optimizers.Optimizer):
  """See `build_weight_decay_optimizer`."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, weight_decay: float
  ) -> None:
    self._inner = inner
    self._weight_decay = weight_decay

  def initialize(self, specs: Any) -> Any:
    return self._inner.initialize(specs)

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return autograph.convert(self._inner.next)(
      state, weights, self.add_decay(weights, gradients)
    )

  def add_decay(self, weights: Any, gradients: Any) -> Any:
    decayed = [
      # None is the gradient of a weight that the loss does not depend on, which
      # PyTorch leaves as it is.
      None
      if g is None
      else tf.convert_to_tensor(g) + tf.cast(self._weight_decay, w.dtype) * w
      for g, w in zip(tf.nest.flatten(gradients), tf.nest.flatten(weights))
    ]
    return tf.nest.pack_sequence_as(weights, decayed)

  def get_hparams(self, state: Any) -> Any:
    return self._inner.get_hparams(state)

  def set_hparams(self, state: Any, hparams: Any) -> Any:
    return self._inner.set_hparams(state, hparams)


def build_weight_decay_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, weight_decay: float
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer of the loss plus weight_decay / 2 |w|^2.

  Args:
    optimizer: Takes the steps, on the gradient with that of the added term.
    weight_decay: 0 or positive; 4e-5 in Fed3R's fine-tuning. With 0 `optimizer`
      is returned as it is.

  Returns:
    The optimizer. Its state and hyper-parameters are those of `optimizer`. A
    weight whose gradient is None, as the loss does not depend on it, does not
    decay either, as in PyTorch.

  Raises:
    InputError: If `weight_decay` is negative or not finite.
    TypeError: If `optimizer` is not one of TFF's.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  if not 0 <= weight_decay < math.inf:
    raise errors.InputError(
      f'weight_decay is {weight_decay}; a finite number that is 0 or positive '
      'was expected.'
    )
  return (
    _DecayingOptimizer(optimizer, weight_decay) if weight_decay else optimizer
  )


def add_weight_decay(
  optimizer: tff.learning.optimizers.Optimizer, weights: Any, gradients: Any
) -> Any:
  """Returns gradients of the loss that an optimizer takes steps on.

  Args:
    optimizer: Any of TFF's; without weight decay, the gradients stay.
    weights: Where the gradients were taken.
    gradients: Of the loss without the added term.
  """
  if isinstance(optimizer, _DecayingOptimizer):
    return optimizer.add_decay(weights, gradients)
  return gradients
