# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Properties of SGD for methods that depend on the clients' steps.

They follow from the optimizer's steps on gradients of 1, so they hold with
rates that schedules and shared traces replace, and with weight decay.
"""

from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import proximal
from fedfish_tff.models import autograph

import tensorflow as tf
import tensorflow_federated as tff

_SPECS = (tf.TensorSpec([], tf.float32),)


def check_sgd(
  optimizer: tff.learning.optimizers.Optimizer, method: str
) -> None:
  """Raises InputError unless steps are linear in the gradients.

  The error names the method.
  """
  local_training.check_optimizer(optimizer, 'client_optimizer_fn')
  names = _hparam_names(optimizer)
  if not names <= {'learning_rate', 'momentum'}:
    raise errors.InputError(
      f'The client optimizer of {method} must be SGD, whose steps are linear in '
      f'the gradients, got one with {", ".join(sorted(names))}.'
    )


def check_plain_sgd(
  optimizer: tff.learning.optimizers.Optimizer, method: str
) -> None:
  """Raises InputError unless a step is the rate times a gradient.

  Weight decay is allowed. The error names the method.
  """
  check_sgd(optimizer, method)
  for found, has in (
    ('momentum', 'momentum' in _hparam_names(optimizer)),
    ('a proximal term', proximal.is_proximal(optimizer)),
  ):
    if has:
      raise errors.InputError(
        f'The client optimizer of {method} must be plain SGD, since its '
        'correction is the mean gradient of the steps, which the rate and the '
        f'number of steps must tell, got one with {found}.'
      )


def learning_rate(
  optimizer: tff.learning.optimizers.Optimizer,
) -> tf.Tensor:
  """Returns the learning rate of plain SGD in the graph, a float32 scalar."""
  _, (weight,) = _step(
    optimizer, optimizer.initialize(_SPECS), (tf.constant(0.0),)
  )
  return -weight


def distance_of_unit_gradients(
  optimizer: tff.learning.optimizers.Optimizer, num_steps: tf.Tensor
) -> tf.Tensor:
  """Returns the distance of SGD's steps from 0 on gradients of 1.

  Args:
    optimizer: SGD, with or without momentum and weight decay.
    num_steps: The number of steps, an int64 scalar.

  Returns:
    A float32 scalar, the rate times the sum of the gradients' coefficients.
  """
  _, _, (weight,) = tf.while_loop(
    lambda i, *_: i < num_steps,
    lambda i, state, weights: (i + 1, *_step(optimizer, state, weights)),
    (
      tf.constant(0, tf.int64),
      optimizer.initialize(_SPECS),
      (tf.constant(0.0),),
    ),
  )
  return -weight


def _step(
  optimizer: tff.learning.optimizers.Optimizer, state: Any, weights: Any
) -> tuple[Any, tuple[tf.Tensor]]:
  return autograph.convert(optimizer.next)(state, weights, (tf.constant(1.0),))


def _hparam_names(optimizer: tff.learning.optimizers.Optimizer) -> set[str]:
  with tf.Graph().as_default():
    return set(optimizer.get_hparams(optimizer.initialize(_SPECS)))
