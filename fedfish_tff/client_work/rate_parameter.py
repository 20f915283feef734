# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizers with a parameter of the traced computation as learning rate."""

import collections
from typing import Any

from fedfish_tff import parameters
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import local_training

import tensorflow as tf
import tensorflow_federated as tff

_RATE_KEY = tff.learning.optimizers.LEARNING_RATE_KEY


class _RateParameterOptimizer(gradient_transforms.WrappedOptimizer):
  """An optimizer around another, with a rate that a parameter gives."""

  def __init__(
    self,
    inner: tff.learning.optimizers.Optimizer,
    name: str,
    factor_name: str | None,
  ) -> None:
    super().__init__(inner)
    self._name = name
    self._factor_name = factor_name

  @tf.autograph.experimental.do_not_convert
  def initialize(self, specs: Any) -> Any:
    state = super().initialize(specs)
    rate = self._inner.get_hparams(state)[_RATE_KEY]
    return self._with_rate(state, parameters.create(self._name, rate))

  @tf.autograph.experimental.do_not_convert
  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    if self._factor_name is None:
      return super().next(state, weights, gradients)
    rate = self._inner.get_hparams(state)[_RATE_KEY]
    factor = parameters.create(self._factor_name, 1.0)
    state, weights = super().next(
      self._with_rate(state, rate * factor), weights, gradients
    )
    # The next factor must not multiply this one's result.
    return self._with_rate(state, rate), weights

  def _with_rate(self, state: Any, rate: Any) -> Any:
    hparams = collections.OrderedDict(self._inner.get_hparams(state))
    hparams[_RATE_KEY] = rate
    return self._inner.set_hparams(state, hparams)


def build_rate_parameter_optimizer(
  optimizer: tff.learning.optimizers.Optimizer,
  name: str,
  *,
  factor_name: str | None = None,
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer with a rate that `fedfish_tff.parameters` can replace.

  Args:
    optimizer: One of `tff.learning.optimizers` with a number as its rate.
    name: The name of the parameter. Its default is the optimizer's rate. An
      optimizer's state keeps the rate it starts with.
    factor_name: The name of another parameter, 1 by default, that multiplies
      the rate in each step, as schedules do; None for no such parameter.

  Returns:
    The optimizer; its state and hyper-parameters are those of `optimizer`.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  return _RateParameterOptimizer(optimizer, name, factor_name)
