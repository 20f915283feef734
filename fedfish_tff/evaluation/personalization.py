# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Personalises a global model on each client and scores what comes of it.

The global model is fine-tuned on one part of a held-out client's data and
scored on the part it has not seen. The number of epochs and the few-shot
fraction are in the data: `fedfish_tff.datasets.batches` splits a client and
repeats the fine-tuning part, and the scored part stays the same for all
fractions (FedFish, arXiv 2311.10291, evaluation protocol).
"""

import collections

from fedfish_tff.evaluation import client_evaluation
from fedfish_tff.models import model_functions

import tensorflow_federated as tff


def build_personalization_totals(
  model: model_functions.ModelFn, local_training: tff.Computation
) -> tff.Computation:
  """Builds the evaluation after fine-tuning with the sums over all clients.

  The counterpart of `client_evaluation.build_metric_totals` for clients that
  have weights of their own.

  Args:
    model: A functional model, or a function that returns a variable model.
    local_training: A process's local training, `(<M, B*> -> M)`. Each client
      runs it from the global weights on its `train` batches, as often as they
      are repeated there; without any batch the weights stay as they are.

  Returns:
    A computation `(<M@SERVER, {<train=B*, test=B*>}@CLIENTS> ->
    <clients={OrderedDict(num_examples=int64, <metric>...)}@CLIENTS,
    total=T@SERVER>)` of the scores on the `test` batches. T does not hold the
    clients whose fine-tuning has diverged.
  """
  evaluate = client_evaluation.build_local_totals(model, without_diverged=True)
  data_type = model_functions.data_type(model)

  @tff.federated_computation(
    tff.FederatedType(model_functions.weights_type(model), tff.SERVER),
    tff.FederatedType(
      collections.OrderedDict(train=data_type, test=data_type), tff.CLIENTS
    ),
  )
  def personalization_totals(weights, client_data):
    own_weights = tff.federated_map(
      local_training, (tff.federated_broadcast(weights), client_data.train)
    )
    per_client = tff.federated_map(evaluate, (own_weights, client_data.test))
    return collections.OrderedDict(
      clients=per_client.client, total=tff.federated_sum(per_client.total)
    )

  return personalization_totals
