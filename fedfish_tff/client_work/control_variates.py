# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD's client work: SGD steps corrected by control variates.

Karimireddy et al., ICML 2020 (arXiv:1910.06378), Algorithm 1. A client's control
variate estimates the gradient of its own loss, the server's that of the mean of
all clients' losses; their difference takes the drift to its own optimum out of
a client's steps.
"""

import collections
import math
from typing import Any

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.models import autograph
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


class _CorrectedOptimizer(tff.learning.optimizers.Optimizer):
  """See `add_to_gradients`."""

  def __init__(
    self,
    inner: tff.learning.optimizers.Optimizer,
    correction: tuple[tf.Tensor, ...],
  ) -> None:
    self._inner = inner
    self._correction = correction

  def initialize(self, specs: Any) -> Any:
    return self._inner.initialize(specs)

  def next(self, state: Any, weights: Any, gradients: Any) -> tuple[Any, Any]:
    corrected = tuple(g + c for g, c in zip(gradients, self._correction))
    return autograph.convert(self._inner.next)(state, weights, corrected)


def add_to_gradients(
  optimizer: tff.learning.optimizers.Optimizer,
  correction: tuple[tf.Tensor, ...],
) -> tff.learning.optimizers.Optimizer:
  """Returns an optimizer of the loss plus <correction, w>.

  Args:
    optimizer: Takes the steps, on the gradient with that of the added term.
    correction: In the graph being built, of the weights' shapes.
  """
  return _CorrectedOptimizer(optimizer, correction)


def build_control_variate_update(
  client_learning_rate: float,
  *,
  control_update: choices.ControlUpdate = choices.ControlUpdate.LOCAL_STEPS,
  local_epochs: int = 1,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.UNIFORM
  ),
) -> client_work_process.ClientStateUpdateFn:
  """Builds one client's <delta, control> update for SCAFFOLD.

  Args:
    client_learning_rate: eta_l, the rate of the client's plain SGD.
    control_update: What the client's control variate becomes.
    local_epochs: How many epochs the client's sequence of batches holds, one
      after another; the gradient of `ControlUpdate.GRADIENT` takes the first of
      them. Only there it matters.
    client_weighting: |D_i| (times local epochs), or one. A client without
      examples weighs nothing either way.

  Returns:
    A function for `build_client_state_work`, where the server sends <weights,
    control> and the state is <control>, tuples of the trainable tensors'
    shapes. `delta` is the weights before training less those after it, and
    `control` the client's new control variate less its old one, both 0 for a
    client without data.

  Raises:
    InputError: If `client_learning_rate` is not positive and finite,
      `control_update` none, or `local_epochs` below 1.
  """
  # Its value would be no member, and so be taken for the other one.
  if not isinstance(control_update, choices.ControlUpdate):
    raise errors.InputError(
      f'control_update is {control_update!r}; a member of '
      'client_work.ControlUpdate was expected.'
    )
  if not 0 < client_learning_rate < math.inf:
    raise errors.InputError(
      'client_learning_rate must be positive and finite, got '
      f'{client_learning_rate}.'
    )
  if local_epochs < 1:
    raise errors.InputError(
      f'local_epochs must be 1 or more, got {local_epochs}.'
    )
  sgd = tff.learning.optimizers.build_sgdm(client_learning_rate)

  def client_update(bound, sent, client_state, dataset):
    weights = model_functions.flatten_weights(sent['weights'])
    correction = tuple(
      c - own for c, own in zip(sent['control'], client_state['control'])
    )
    initial_metrics = bound.unfinalized_metrics(bound.initial_metrics())
    trained = local_training.train_locally(
      bound, add_to_gradients(sgd, correction), weights, dataset
    )
    # Read before the next pass, which updates a variable model's metrics.
    metrics = bound.unfinalized_metrics(trained.metrics_state)
    has_data = trained.num_examples > 0
    delta = tuple(
      start - end
      for start, end in zip(weights.trainable, trained.weights.trainable)
    )
    if control_update is choices.ControlUpdate.GRADIENT:
      batches_per_epoch = local_training.count_batches_of_an_epoch(
        trained.num_batches, local_epochs, method='SCAFFOLD'
      )
      mean = gradient_update.mean_gradient(
        bound, weights, dataset.take(batches_per_epoch)
      )
      control = mean.gradient
      epoch_examples = local_training.check_whole_epochs(
        mean.num_examples, trained.num_examples, local_epochs, method='SCAFFOLD'
      )
      has_data = epoch_examples > 0
    else:
      control = tuple(
        d / (tf.cast(trained.num_batches, d.dtype) * client_learning_rate) - c
        for d, c in zip(delta, correction)
      )
    control = tuple(
      tf.where(has_data, new, old)
      for new, old in zip(control, client_state['control'])
    )
    weight = client_work_process.client_weight(
      trained.num_examples, client_weighting
    )
    weight = tf.where(has_data, weight, 0.0)
    update = client_work_process.ClientUpdate(
      update=collections.OrderedDict(
        delta=delta,
        control=tuple(
          new - old for new, old in zip(control, client_state['control'])
        ),
      ),
      weight=weight,
      metrics=metrics,
      initial_metrics=initial_metrics,
      also_finite=client_work_process.weigh_update(delta, weight),
    )
    return update, collections.OrderedDict(control=control)

  return client_update
