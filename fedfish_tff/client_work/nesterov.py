# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SGD with Nesterov's momentum, which `tff.learning.optimizers` does not have."""

from typing import Any

from fedfish_tff.client_work import gradient_transforms

import tensorflow as tf
import tensorflow_federated as tff


class _NesterovOptimizer(gradient_transforms.WrappedOptimizer):
  """SGD with Nesterov's momentum, with the state of TFF's."""

  def __init__(self, learning_rate: float, momentum: float) -> None:
    super().__init__(
      tff.learning.optimizers.build_sgdm(learning_rate, momentum)
    )
    self._momentum = momentum

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    state, _ = super().next(state, weights, gradients)
    rate = state[tff.learning.optimizers.LEARNING_RATE_KEY]

    def step(w: tf.Tensor, g: Any, v: tf.Tensor) -> tf.Tensor:
      # The gradient is None for a weight on which the loss does not depend.
      if g is None:
        return w
      return w - rate * (tf.convert_to_tensor(g) + self._momentum * v)

    return state, tf.nest.map_structure(
      step, weights, gradients, state['accumulator']
    )


def build_nesterov(
  learning_rate: float, momentum: float = 0.9
) -> tff.learning.optimizers.Optimizer:
  """Builds SGD with Nesterov's momentum.

  v <- momentum v + g, w <- w - rate (g + momentum v): equations 3 and 4 of
  Sutskever et al. (ICML 2013), where w is the point of their gradient.

  Args:
    learning_rate: The rate, by which each step is multiplied.
    momentum: The momentum, above 0 and at most 1.

  Returns:
    The optimizer; state and hyper-parameters are those of `tff.learning`'s SGD
    with momentum.
  """
  return _NesterovOptimizer(learning_rate, momentum)
