# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizers by the names that configs have, and the fields of methods with them.

Plain Python, without TensorFlow, which is imported when one is built.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import client_work
from launch.methods import fields

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

_MOMENTUM = 0.9


class _Optimizer(NamedTuple):
  """One of `tff.learning.optimizers`, or of `client_work`.

  Attributes:
    title: In labels.
    function: That builds it, by name.
    arguments: Beside the learning rate.
    scale: Of the learning rate.
  """

  title: str
  function: str
  arguments: Mapping[str, Any] = {}
  scale: float = 1.0


OPTIMIZERS: Mapping[str, _Optimizer] = {
  'adagrad': _Optimizer('Adagrad', 'build_adagrad'),
  'adam': _Optimizer('Adam', 'build_adam'),
  # Without a decay that the config does not show.
  'adamw': _Optimizer('AdamW', 'build_adamw', {'weight_decay': 0.0}),
  # m <- momentum m + (1 - momentum) g, a mean of gradients, as Karimireddy et
  # al. (2021) have it: a step is as long as one without momentum.
  'mean_sgdm': _Optimizer(
    'SGD with mean momentum',
    'build_sgdm',
    {'momentum': _MOMENTUM},
    scale=0.1,
  ),
  'nesterov': _Optimizer(
    'SGD with Nesterov momentum', 'build_nesterov', {'momentum': _MOMENTUM}
  ),
  'rmsprop': _Optimizer('RMSProp', 'build_rmsprop'),
  'sgd': _Optimizer('SGD', 'build_sgdm'),
  'sgdm': _Optimizer(
    'SGD with momentum', 'build_sgdm', {'momentum': _MOMENTUM}
  ),
  # Of the codes of LG-FedAvg, FedRep and SRPFL.
  'sgdm_half': _Optimizer(
    'SGD with momentum 0.5', 'build_sgdm', {'momentum': 0.5}
  ),
  'yogi': _Optimizer('Yogi', 'build_yogi'),
}

SERVER_FIELDS: Mapping[str, fields.Field] = {
  'server_optimizer': fields.Field(
    'adam',
    fields.one_of(*OPTIMIZERS),
    'What the server applies to the aggregate; sgd takes it as it is.',
  ),
  'client_weighting': fields.Field(
    'num_examples',
    fields.one_of('num_examples', 'uniform'),
    'How much a client counts.',
  ),
}
FIELDS: Mapping[str, fields.Field] = {
  'client_optimizer': fields.Field(
    'sgd', fields.one_of(*OPTIMIZERS), 'What clients take local steps with.'
  ),
  **SERVER_FIELDS,
}


def build(
  name: str,
  learning_rate: float,
  *,
  parameter: str,
  factor: str | None = None,
  weight_decay: float | None = None,
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer.

  Args:
    name: One of OPTIMIZERS.
    learning_rate: Its learning rate.
    parameter: Name of the parameter that its rate is (see
      `fedfish_tff.parameters`), which has the value of `scaled_rate`.
    factor: Name of the parameter by which a schedule multiplies the rate; None
      without a schedule.
    weight_decay: That of adamw; None for none.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  optimizer = OPTIMIZERS[name]
  arguments = dict(optimizer.arguments)
  if weight_decay is not None:
    arguments['weight_decay'] = weight_decay
  owner = tff.learning.optimizers
  if hasattr(client_work, optimizer.function):
    owner = client_work
  build_it = getattr(owner, optimizer.function)
  return client_work.build_rate_parameter_optimizer(
    build_it(scaled_rate(name, learning_rate), **arguments),
    parameter,
    factor_name=factor,
  )


def scaled_rate(name: str, learning_rate: float) -> float:
  """Returns the rate as the optimizer of a name takes it."""
  return learning_rate * OPTIMIZERS[name].scale
