# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A process whose clients keep something from one round to the next.

`tff.learning.templates.LearningProcess` has no place for that. Here the states
of a round's clients go in beside their data and come out again; where they are
in between is up to whoever runs the process, such as
`fedfish_tff.simulation.run_training` with its `ClientStateStore`.
"""

import dataclasses
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


@dataclasses.dataclass(eq=False, kw_only=True)
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

  initialize: tff.Computation
  initialize_client: tff.Computation
  next: tff.Computation
  next_without_client_states: tff.Computation
  get_model_weights: tff.Computation
  client_model_weights: tff.Computation
  local_training: tff.Computation
  update_is_finite: tff.Computation
  extra_passes: int = 0
  uses_weights: bool = True
