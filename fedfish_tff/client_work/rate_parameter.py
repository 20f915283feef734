# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose learning rate is a parameter of what is traced with it."""

import collections
from typing import Any

from fedfish_tff import parameters
from fedfish_tff.client_work import local_training

import tensorflow_federated as tff

_RATE_KEY = tff.learning.optimizers.LEARNING_RATE_KEY


class _RateParameterOptimizer(tff.learning.optimizers.Optimizer):
  """See `build_rate_parameter_optimizer`."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, name: str
  ) -> None:
    self._inner = inner
    self._name = name

  def initialize(self, specs: Any) -> Any:
    state = self._inner.initialize(specs)
    hparams = collections.OrderedDict(self._inner.get_hparams(state))
    hparams[_RATE_KEY] = parameters.create(self._name, hparams[_RATE_KEY])
    return self._inner.set_hparams(state, hparams)

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    return self._inner.next(state, weights, gradients)

  def get_hparams(self, state: Any) -> Any:
    return self._inner.get_hparams(state)

  def set_hparams(self, state: Any, hparams: Any) -> Any:
    return self._inner.set_hparams(state, hparams)


def build_rate_parameter_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, name: str
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer whose rate `fedfish_tff.parameters` can replace.

  Args:
    optimizer: One of `tff.learning.optimizers` whose rate is a number.
    name: Of the parameter; its default is the optimizer's rate.

  Returns:
    The optimizer; its state and hyper-parameters are those of `optimizer`.

  Raises:
    TypeError: If `optimizer` is not one of TFF's.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  return _RateParameterOptimizer(optimizer, name)
