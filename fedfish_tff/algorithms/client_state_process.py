# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Federated processes with client states.

`tff.learning.templates.LearningProcess` has no place for these states. Here the
states of a round's clients go in with their data and come out again. The
program that runs the process keeps them between rounds, for example
`fedfish_tff.simulation.run_training` in its `ClientStateStore`.
"""

from collections.abc import Callable
import dataclasses
import functools
from typing import Any
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class ClientStateOutput(NamedTuple):
  """A round's result: `LearningProcessOutput` with client states.

  Attributes:
    state: The server's state.
    client_states: The states of the round's clients, in their order.
    metrics: The round's metrics.
  """

  state: Any
  client_states: Any
  metrics: Any


@dataclasses.dataclass(eq=False, kw_only=True)
class ClientStateProcess:
  """A federated process with client states in and out.

  Types below are made of

  - S, the server's state, as in `FederatedProcess`;
  - C, a client's state, such as its own layers; each method describes its own;
  - B*, a client's sequence of batches of all local epochs;
  - M, the round's metrics: `client_work`, with `train`, the model's metrics
    over the clients, and `excluded_clients`, the number of clients left out;
    `aggregator` and `finalizer`.

  FedMA has the S and M that `build_fed_ma` describes.

  Attributes:
    initialize: A computation ( -> S@SERVER).
    initialize_client: A computation (S -> C), not placed: the state of a client
      that takes part for the first time. The program that runs the process
      chooses S; `run_training` takes the one before the round.
    next: A computation (<S@SERVER, {C}@CLIENTS, {B*}@CLIENTS> ->
      <state=S@SERVER, client_states={C}@CLIENTS, metrics=M@SERVER>), which
      returns a `ClientStateOutput`. A client that is left out of the round gets
      its state back as it was.
    get_model_weights: A computation (S -> ModelWeights), not placed: the
      server's model.
    set_model_weights: A computation (<S, ModelWeights> -> S), not placed: from
      the state before the first round, that with other initial weights. FedMA
      has none.
    client_model_weights: A computation (<S, C> -> ModelWeights), not placed:
      the client's own model, from which it would start its training.
    next_without_client_states: A computation (<S@SERVER, {<client_state=C,
      data=B*>}@CLIENTS> -> <state=S@SERVER, metrics=M@SERVER>): a round that
      does not return the clients' new states. Its communication is that of a
      round, since states stay at the clients.
    get_training_weights: A function (S -> ModelWeights) to the weights of
      `get_model_weights` that runs no computation; None where they are not a
      part of S.
    build_local_training: A function that builds `local_training`, a computation
      (<ModelWeights, B*> -> ModelWeights): one client's local training outside
      of a round, from weights of `client_model_weights`.
    build_update_is_finite: A function that builds `update_is_finite`, a
      computation (<ModelWeights, B*> -> bool), from the same weights: whether
      the client's update would be accepted.
    extra_passes: The number of passes over a client's data per round besides
      its training epochs; fractions are possible.
    uses_weights: Whether clients start from the model's weights, as all but
      closed-form methods do.
    exchanged_types: The types of what a client receives and sends. They are set
      only where a round is several computations and `next` a Python function
      around them, as in FedMA; `next_without_client_states` is then absent.
    received_type: The type of what a client receives, if that is only a part of
      the broadcast, as one of several models; None for all of it.
  """

  initialize: tff.Computation
  initialize_client: tff.Computation
  next: tff.Computation
  next_without_client_states: tff.Computation
  get_model_weights: tff.Computation
  set_model_weights: tff.Computation
  client_model_weights: tff.Computation
  build_local_training: Callable[[], tff.Computation]
  build_update_is_finite: Callable[[], tff.Computation]
  get_training_weights: (
    Callable[[Any], tff.learning.models.ModelWeights] | None
  ) = None
  extra_passes: int = 0
  uses_weights: bool = True
  received_type: tff.Type | None = None

  @functools.cached_property
  def local_training(self) -> tff.Computation:
    """The computation of `build_local_training`, built at its first use."""
    return self.build_local_training()

  @functools.cached_property
  def update_is_finite(self) -> tff.Computation:
    """The computation of `build_update_is_finite`, built at its first use."""
    return self.build_update_is_finite()

  @functools.cached_property
  def client_state_template(self) -> Any:
    """A state of a client, with zeros for its values."""
    return tf.nest.map_structure(
      lambda spec: np.zeros(spec.shape, spec.dtype.as_numpy_dtype),
      tff.types.type_to_tf_tensor_specs(
        self.initialize_client.type_signature.result
      ),
    )
