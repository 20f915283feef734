# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A process whose clients keep something from one round to the next.

`tff.learning.templates.LearningProcess` has no place for that. Here the states
of a round's clients go in beside their data and come out again; where they are
in between is up to whoever runs the process, such as
`fedfish_tff.simulation.run_training` with its `ClientStateStore`.
"""

from typing import Any
from typing import NamedTuple

import tensorflow_federated as tff


class ClientStateOutput(NamedTuple):
  """A round's result, as `LearningProcessOutput` with client states.

  Attributes:
    state: The server's state.
    client_states: Those of the round's clients, in their order.
    metrics: What is measured.
  """

  state: Any
  client_states: Any
  metrics: Any


class ClientStateProcess:
  """A federated process with client states in and out.

  Types below are made of

  - S, what the server keeps from round to round: `model`, that is weights and
    whatever else a method sends, and the states of the round's parts,
    `aggregator` and `finalizer`, of which the last has the server optimizer's;
  - C, what a client keeps, such as its own layers: each method says which;
  - B*, a client's sequence of batches of all local epochs;
  - M, what the round measures: `client_work`, with `train`, the model's metrics
    over the clients, and `excluded_clients`, how many were left out; `aggregator`
    and `finalizer`.

  FedMA's S and M are others, see `build_fed_ma`.

  Attributes:
    initialize: A computation ( -> S@SERVER).
    initialize_client: A computation (S -> C), not placed: the state of a client
      that comes for the first time. The first-visit rule of whoever runs the
      process says of which S; `run_training` takes that before the round.
    next: A computation (<S@SERVER, {C}@CLIENTS, {B*}@CLIENTS> ->
      <state=S@SERVER, client_states={C}@CLIENTS, metrics=M@SERVER>), which
      returns a `ClientStateOutput`. A client that is left out of the round gets
      its state back as it was.
    get_model_weights: A computation (S -> ModelWeights), not placed: the
      server's model.
    client_model_weights: A computation (<S, C> -> ModelWeights), not placed:
      the client's own model, as it would begin to train it.
    next_without_client_states: A computation (<S@SERVER,
      {<client_state=C, data=B*>}@CLIENTS> -> <state=S@SERVER,
      metrics=M@SERVER>), a round of which the clients' new states are not
      asked for: what it sends is what a round sends, since states stay with
      the clients.
    local_training: See `FederatedProcess`; from weights of
      `client_model_weights`.
    update_is_finite: See `FederatedProcess`; likewise.
    extra_passes: See `FederatedProcess`.
    uses_weights: See `FederatedProcess`.
    sent_types: Only where a round is several computations, as in FedMA, and
      `next` a function around them: the types of what a client gets and of what
      it sends. `next_without_client_states` is not there then.
  """

  def __init__(
    self,
    *,
    initialize: tff.Computation,
    initialize_client: tff.Computation,
    next_fn: tff.Computation,
    next_without_client_states: tff.Computation,
    get_model_weights: tff.Computation,
    client_model_weights: tff.Computation,
    local_training: tff.Computation,
    update_is_finite: tff.Computation,
    extra_passes: int = 0,
    uses_weights: bool = True,
  ) -> None:
    """Checks that the computations fit together.

    Args:
      initialize: See the class.
      initialize_client: See the class.
      next_fn: The class's `next`.
      next_without_client_states: See the class.
      get_model_weights: See the class.
      client_model_weights: See the class.
      local_training: See the class.
      update_is_finite: See the class.
      extra_passes: See the class.
      uses_weights: See the class.

    Raises:
      TypeError: If the type of one does not fit those of the others.
    """
    server_type = initialize.type_signature.result
    client_type = tff.FederatedType(
      initialize_client.type_signature.result, tff.CLIENTS
    )
    next_type = next_fn.type_signature
    data_type = next_type.parameter[2]
    weights_type = get_model_weights.type_signature.result
    stateless_type = next_without_client_states.type_signature
    for what, expected, found in (
      (
        'initialize_client takes',
        server_type.member,
        initialize_client.type_signature.parameter,
      ),
      ('next takes', server_type, next_type.parameter[0]),
      ('next takes', client_type, next_type.parameter[1]),
      ('next returns', server_type, next_type.result['state']),
      ('next returns', client_type, next_type.result['client_states']),
      (
        'next_without_client_states takes',
        server_type,
        stateless_type.parameter[0],
      ),
      (
        'next_without_client_states takes',
        tff.FederatedType(
          tff.StructType(
            [
              ('client_state', client_type.member),
              ('data', data_type.member),
            ]
          ),
          tff.CLIENTS,
        ),
        stateless_type.parameter[1],
      ),
      (
        'get_model_weights takes',
        server_type.member,
        get_model_weights.type_signature.parameter,
      ),
      (
        'client_model_weights takes',
        tff.StructType([server_type.member, client_type.member]),
        tff.StructType(
          [
            element
            for _, element in tff.structure.iter_elements(
              client_model_weights.type_signature.parameter
            )
          ]
        ),
      ),
      (
        'client_model_weights returns',
        weights_type,
        client_model_weights.type_signature.result,
      ),
      (
        'local_training takes',
        weights_type,
        local_training.type_signature.parameter[0],
      ),
      (
        'update_is_finite takes',
        weights_type,
        update_is_finite.type_signature.parameter[0],
      ),
    ):
      if not expected.is_equivalent_to(found):
        raise TypeError(f'{what} {found}, but {expected} was expected.')
    self.initialize = initialize
    self.initialize_client = initialize_client
    self.next = next_fn
    self.next_without_client_states = next_without_client_states
    self.get_model_weights = get_model_weights
    self.client_model_weights = client_model_weights
    self.local_training = local_training
    self.update_is_finite = update_is_finite
    self.extra_passes = extra_passes
    self.uses_weights = uses_weights
