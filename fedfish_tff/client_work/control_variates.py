# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""SCAFFOLD's client work: SGD steps corrected by control variates.

Karimireddy et al., ICML 2020 (arXiv:1910.06378), Algorithm 1. A client's
control variate estimates the gradient of its own loss, the server's that of the
mean of all clients' losses. Their difference corrects a client's steps for the
drift to its own optimum.
"""

import collections
import math

from fedfish_tff import choices
from fedfish_tff import errors
from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import gradient_transforms
from fedfish_tff.client_work import gradient_update
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.models import model_functions

import tensorflow as tf
import tensorflow_federated as tff


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
    control_update: The rule for the client's new control variate.
    local_epochs: The number of epochs in the client's sequence of batches, one
      after another. Only `ControlUpdate.GRADIENT` uses it: its gradient takes
      the first epoch.
    client_weighting: The client's weight: |D_i| (times local epochs), or one. A
      client without examples has weight 0 either way.

  Returns:
    A function for `build_client_state_work`, where the server sends <weights,
    control> and the state is <control>, tuples of the trainable tensors'
    shapes. `delta` is the weights before training minus those after it, and
    `control` the client's new control variate minus its old one. Both are 0 for
    a client without data.

  Raises:
    InputError: If `client_learning_rate` is not positive and finite,
      `control_update` is invalid, or `local_epochs` below 1.
  """
  # A member's bare value would be taken for the other member.
  if not isinstance(control_update, choices.ControlUpdate):
    raise errors.InputError(
      'control_update must be a member of client_work.ControlUpdate, got '
      f'{control_update!r}.'
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
    corrected = gradient_transforms.transform_gradients(
      sgd, lambda _, gradients: list(map(tf.add, gradients, correction))
    )
    trained = local_training.train_locally(bound, corrected, weights, dataset)
    update = model_delta.delta_update(bound, weights, trained, client_weighting)
    has_data = trained.num_examples > 0
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
        for d, c in zip(update.update['delta'], correction)
      )
    control = tuple(
      tf.where(has_data, new, old)
      for new, old in zip(control, client_state['control'])
    )
    change = tuple(
      new - old for new, old in zip(control, client_state['control'])
    )
    return update._replace(
      update=collections.OrderedDict(update.update, control=change)
    ), collections.OrderedDict(control=control)

  return client_update
