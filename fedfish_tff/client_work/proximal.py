# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client optimizers that are pulled towards given weights.

These weights are the start of the training, or, for Ditto, any others. FedProx
(Li et al., MLSys 2020, arXiv:1812.06127), equation 2: a client minimises F_i(w)
+ (mu / 2) |w - w_start|^2. Such an optimizer fits client work that initializes
it anew in every round, FedFish's included, but not Mime Lite's, where the
optimizer's state is the server's.

In TFF 0.87's FedProx clients add mu (w_start - w) to their gradients instead of
mu (w - w_start), so they are pushed away from the start.
"""

import collections
from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import local_training

import tensorflow as tf
import tensorflow_federated as tff


class _ProximalOptimizer(gradient_transforms.WrappedOptimizer):
  """An optimizer around another, which pulls towards a center."""

  def __init__(
    self, inner: tff.learning.optimizers.Optimizer, strength: float
  ) -> None:
    super().__init__(inner)
    self._strength = strength

  def initialize(self, specs: Any) -> Any:
    return collections.OrderedDict(
      inner=super().initialize(specs),
      started=False,
      start=tf.nest.map_structure(lambda s: tf.zeros(s.shape, s.dtype), specs),
    )

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    current = tf.nest.flatten(weights)
    kept = tf.nest.flatten(state['start'])
    # tf.where would copy the model in every step.
    start = tf.cond(
      tf.convert_to_tensor(state['started']),
      lambda: [tf.identity(t) for t in kept],
      lambda: [tf.identity(t) for t in current],
    )
    inner, weights = pull_to(self._inner, self._strength, start).next(
      state['inner'], weights, gradients
    )
    return (
      collections.OrderedDict(
        inner=inner,
        started=tf.constant(True),
        start=tf.nest.pack_sequence_as(state['start'], start),
      ),
      weights,
    )

  def started_at(
    self, weights: Sequence[tf.Tensor]
  ) -> tff.learning.optimizers.Optimizer:
    # A branch in each step would keep the loop from running in a fixed order.
    inner = super().started_at(weights)._inner
    return pull_to(inner, self._strength, weights)

  def get_hparams(self, state: Any) -> Any:
    return super().get_hparams(state['inner'])

  def set_hparams(self, state: Any, hparams: Any) -> Any:
    return collections.OrderedDict(
      state, inner=super().set_hparams(state['inner'], hparams)
    )


def build_proximal_optimizer(
  optimizer: tff.learning.optimizers.Optimizer, strength: float
) -> tff.learning.optimizers.Optimizer:
  """Builds an optimizer of the loss plus strength / 2 |w - w_start|^2.

  w_start are the weights of the first step since `initialize`. At a client,
  with a new optimizer in every round, they are the global weights.

  Args:
    optimizer: The optimizer that takes the steps, on the gradient with that of
      the added term.
    strength: mu, the strength of the pull, 0 or positive. With 0 `optimizer` is
      returned unchanged. With SGD, its product with the learning rate should be
      below 1: from 2 on, the added term alone makes steps diverge.

  Returns:
    The optimizer, for which `is_proximal` is true. Its hyper-parameters are
    those of `optimizer`.
  """
  local_training.check_optimizer(optimizer, 'optimizer')
  errors.check_range('The proximal strength', strength, least=0)
  return _ProximalOptimizer(optimizer, strength) if strength else optimizer


def pull_to(
  optimizer: tff.learning.optimizers.Optimizer,
  strength: float,
  center: Sequence[tf.Tensor],
) -> tff.learning.optimizers.Optimizer:
  """Returns an optimizer of the loss plus strength / 2 |w - center|^2.

  It is `build_proximal_optimizer` with any center.

  Args:
    optimizer: The optimizer that takes the steps, on the gradient with that of
      the added term.
    strength: lambda, the strength of the pull, 0 or positive.
    center: The center, tensors of the weights' shapes in the graph being built.
  """

  def pull(weights, gradients):
    return [
      (tf.zeros_like(w) if g is None else g)
      + tf.cast(strength, w.dtype) * (w - c)
      for g, w, c in zip(gradients, weights, center)
    ]

  if not strength:
    return optimizer
  return gradient_transforms.transform_gradients(optimizer, pull)


def is_proximal(optimizer: tff.learning.optimizers.Optimizer) -> bool:
  """Returns whether an optimizer is pulled towards the start of its steps."""
  return any(
    isinstance(one, _ProximalOptimizer)
    for one in gradient_transforms.unwrap_optimizer(optimizer)
  )
