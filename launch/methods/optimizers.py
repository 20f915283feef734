# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimizers by their names in configs, and the fields that choose them.

This is plain Python; TensorFlow is imported only when an optimizer is built.
"""

from __future__ import annotations

from collections.abc import Mapping
import typing
from typing import Any
from typing import NamedTuple

from fedfish_tff import client_work
from fedfish_tff import fields
from launch.methods import config_fields

if typing.TYPE_CHECKING:
  import tensorflow_federated as tff

_MOMENTUM = 0.9


class _Optimizer(NamedTuple):
  """An optimizer of `tff.learning.optimizers` or `client_work`.

  Attributes:
    title: The name in labels.
    function: The name of the function that builds it.
    arguments: The function's arguments beside the learning rate.
    scale: The factor of the learning rate.
    is_adaptive: Whether the length of a step is that of the rate, whatever that
      of the gradient; else it is proportional to the gradient.
  """

  title: str
  function: str
  arguments: Mapping[str, Any] = {}
  scale: float = 1.0
  is_adaptive: bool = False


OPTIMIZERS: Mapping[str, _Optimizer] = {
  'adagrad': _Optimizer('Adagrad', 'build_adagrad', is_adaptive=True),
  'adam': _Optimizer('Adam', 'build_adam', is_adaptive=True),
  # TFF's default decay would not show in the config.
  'adamw': _Optimizer(
    'AdamW', 'build_adamw', {'weight_decay': 0.0}, is_adaptive=True
  ),
  # m <- momentum m + (1 - momentum) g, a mean of gradients, as in Karimireddy
  # et al. (2021): a step is as long as one without momentum.
  'mean_sgdm': _Optimizer(
    'SGD with mean momentum', 'build_sgdm', {'momentum': _MOMENTUM}, scale=0.1
  ),
  'nesterov': _Optimizer(
    'SGD with Nesterov momentum', 'build_nesterov', {'momentum': _MOMENTUM}
  ),
  'rmsprop': _Optimizer('RMSProp', 'build_rmsprop', is_adaptive=True),
  'sgd': _Optimizer('SGD', 'build_sgdm'),
  'sgdm': _Optimizer(
    'SGD with momentum', 'build_sgdm', {'momentum': _MOMENTUM}
  ),
  # Used in the code of LG-FedAvg, FedRep and SRPFL.
  'sgdm_half': _Optimizer(
    'SGD with momentum 0.5', 'build_sgdm', {'momentum': 0.5}
  ),
  'yogi': _Optimizer('Yogi', 'build_yogi', is_adaptive=True),
}

# The usual learning rate of an adaptive server.
ADAPTIVE_RATE = 0.01

_WEIGHTINGS = {
  'num_examples': 'clients weighted by examples',
  'uniform': 'clients weighted equally',
}

_ADAPTIVE = tuple(n for n, of in OPTIMIZERS.items() if of.is_adaptive)
_WITH_BETAS = ('adam', 'adamw', 'yogi')
_WITH_MOMENTUM = ('nesterov', 'sgdm')

# The defaults are those of Reddi et al. (ICLR 2021) for FedAdagrad, FedAdam and
# FedYogi, and of Hsu et al. (2019) for FedAvgM.
SERVER: Mapping[str, fields.Field] = {
  'server_optimizer': fields.Field(
    'sgd',
    fields.one_of(*OPTIMIZERS),
    'What the server applies to the aggregate; sgd of rate 1 takes it as it is.',
    label=lambda name: f'{OPTIMIZERS[name].title} at the server',
  ),
  'server_epsilon': fields.Field(
    1e-3,
    fields.number(positive=True),
    'tau, which is added to the root by which an adaptive server divides.',
    goes_with={'server_optimizer': _ADAPTIVE},
    label=lambda value: f'server epsilon of {fields.exact(value)}',
  ),
  'server_beta_1': fields.Field(
    0.9,
    fields.below_1,
    "The decay of an adaptive server's mean of aggregates.",
    goes_with={'server_optimizer': _WITH_BETAS},
    label=lambda value: f'server beta_1 of {fields.exact(value)}',
  ),
  'server_beta_2': fields.Field(
    0.99,
    fields.below_1,
    "The decay of an adaptive server's mean of squares.",
    goes_with={'server_optimizer': _WITH_BETAS},
    label=lambda value: f'server beta_2 of {fields.exact(value)}',
  ),
  'server_momentum': fields.Field(
    _MOMENTUM,
    fields.below_1,
    "The decay of the momentum of the server's sgdm or nesterov.",
    goes_with={'server_optimizer': _WITH_MOMENTUM},
    label=lambda value: f'server momentum of {fields.exact(value)}',
  ),
}
SERVER_FIELDS: Mapping[str, fields.Field] = {
  **SERVER,
  'client_weighting': fields.Field(
    'num_examples',
    fields.one_of(*_WEIGHTINGS),
    'How much a client counts.',
    label=_WEIGHTINGS.__getitem__,
  ),
}
# Of methods in whose papers all clients count alike.
UNIFORM: Mapping[str, fields.Field] = {
  'client_weighting': SERVER_FIELDS['client_weighting']._replace(
    default='uniform'
  )
}
FIELDS: Mapping[str, fields.Field] = {
  **SERVER_FIELDS,
  'client_optimizer': fields.Field(
    'sgd',
    fields.one_of(*OPTIMIZERS),
    'What clients take local steps with.',
    label=lambda name: f'clients with {OPTIMIZERS[name].title}',
  ),
}


def build(
  name: str,
  learning_rate: float,
  *,
  parameter: str,
  factor: str | None = None,
  **arguments: float,
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer.

  Args:
    name: One of OPTIMIZERS.
    learning_rate: The optimizer's learning rate.
    parameter: The name of the parameter that holds the rate, with the value of
      `scaled_rate`.
    factor: The name of the parameter by which a schedule multiplies the rate;
      None without a schedule.
    **arguments: The arguments of the optimizer's function beside the rate, in
      place of its usual ones.
  """
  import tensorflow_federated as tff  # pylint: disable=g-import-not-at-top

  optimizer = OPTIMIZERS[name]
  arguments = {**optimizer.arguments, **arguments}
  owner = tff.learning.optimizers
  if hasattr(client_work, optimizer.function):
    owner = client_work
  build_it = getattr(owner, optimizer.function)
  return client_work.build_rate_parameter_optimizer(
    build_it(scaled_rate(name, learning_rate), **arguments),
    parameter,
    factor_name=factor,
  )


def server_arguments(algorithm: config_fields.Values) -> dict[str, float]:
  """Returns the arguments of `build` for the server's optimizer.

  They are among the fields of the method, those of `SERVER`.
  """
  name, epsilon = algorithm.server_optimizer, algorithm.server_epsilon
  found = {}
  if name in _WITH_MOMENTUM:
    found['momentum'] = algorithm.server_momentum
  if name in _WITH_BETAS:
    found |= {
      'beta_1': algorithm.server_beta_1,
      'beta_2': algorithm.server_beta_2,
    }
  if name == 'adagrad':
    # TFF adds it to the sum below the root.
    found['epsilon'] = epsilon**2
  elif name in _ADAPTIVE:
    found['epsilon'] = epsilon
  if name in ('adagrad', 'yogi'):
    # The published v at first is at least tau squared.
    found['initial_preconditioner_value'] = epsilon**2
  return found


def scaled_rate(name: str, learning_rate: float) -> float:
  """Returns the learning rate that the optimizer's function takes."""
  return learning_rate * OPTIMIZERS[name].scale
