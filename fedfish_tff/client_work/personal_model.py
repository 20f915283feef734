# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ditto's client work: training of the server's model and of the client's own.

Li, Hu, Beirami and Smith, ICML 2021 (arXiv:2012.04221), Algorithm 1.
"""

import collections

from fedfish_tff.client_work import client_work_process
from fedfish_tff.client_work import local_training
from fedfish_tff.client_work import model_delta
from fedfish_tff.client_work import proximal
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_personal_model_update(
  client_optimizer_fn: tff.learning.optimizers.Optimizer,
  *,
  personal_strength: float,
  client_weighting: tff.learning.ClientWeighting = (
    tff.learning.ClientWeighting.NUM_EXAMPLES
  ),
) -> client_work_process.ClientStateUpdateFn:
  """Builds one client's update for Ditto.

  Args:
    client_optimizer_fn: The client optimizer, initialized anew for each of the
      two models.
    personal_strength: lambda, the strength of the pull of the client's own
      model towards the server's weights.
    client_weighting: The clients' weights: |D_i| (times local epochs), or
      uniform.

  Returns:
    A function for `build_client_state_work`, where the server sends the model's
    ModelWeights, and the state is <personal>, the trainable tensors of the
    client's own model. The update is FedAvg's model delta, with the metrics of
    that training.

  Raises:
    TypeError: If `client_optimizer_fn` is not one of TFF's optimizers.
  """
  delta_update = model_delta.build_model_delta_update(
    client_optimizer_fn, client_weighting=client_weighting
  )

  def client_update(bound, sent, client_state, dataset):
    weights = model_functions.flatten_weights(sent)
    update = delta_update(bound, weights, dataset, ())
    personal = local_training.train_locally(
      bound,
      proximal.pull_to(
        client_optimizer_fn, personal_strength, weights.trainable
      ),
      weights._replace(trainable=tuple(client_state['personal'])),
      dataset,
    ).weights.trainable
    return (
      update._replace(also_finite=personal),
      collections.OrderedDict(personal=personal),
    )

  return client_update
