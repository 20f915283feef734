# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of each client's own model on its own test data.

A client's own model is the one with which it would begin a round: the server's,
with the client's own weights if clients keep some. It is tuned on the client's
training data and scored on its test data, as in FedRep (Collins et al., 2021,
arXiv:2102.07078, section 5) and SRPFL (Tziotis et al., 2022, section 5). A
client that was never in a round begins like any new one.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from fedfish_tff import datasets
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs

import numpy as np
import tensorflow_federated as tff

_TENTHS = {'low_tenth': 0.1, 'median': 0.5, 'high_tenth': 0.9}

# Maps (client id, a state of the same structure) to the client's state; None
# for a client that was never in a round.
LoadClientStateFn = Callable[[str, Any], Any | None]


def own_models(
  process: client_state_process.ClientStateProcess,
  state: Any,
  client_ids: Iterable[str],
  load_client_state: LoadClientStateFn,
) -> Iterator[tff.learning.models.ModelWeights]:
  """Yields each client's own model after a round.

  Args:
    process: The process.
    state: The process' state after the round.
    client_ids: The clients.
    load_client_state: The function that loads their states after the round,
      such as `load` of a `ClientStateStore`. A client without a state has that
      of a new client.
  """
  for client_state in _load_states(
    process, state, client_ids, load_client_state
  ):
    yield process.client_model_weights(state, client_state)


def _load_states(
  process: client_state_process.ClientStateProcess,
  state: Any,
  client_ids: Iterable[str],
  load_client_state: LoadClientStateFn | None,
) -> Iterator[Any]:
  new_client = process.initialize_client(state)
  for client_id in client_ids:
    loaded = load_client_state and load_client_state(client_id, new_client)
    yield new_client if loaded is None else loaded


class OwnDataEvaluation:
  """Metrics of clients' own models on their own test data, as columns."""

  def __init__(
    self,
    process: process_lib.FederatedProcess
    | client_state_process.ClientStateProcess,
    computations: round_evaluation.SharedComputations,
    *,
    train: datasets.ClientData,
    test: datasets.ClientData,
    tuning_spec: datasets.BatchSpec | None,
    eval_batch_size: int,
    higher_is_better: Mapping[str, bool],
    seed: int,
  ) -> None:
    """Prepares the evaluation.

    Args:
      process: The process.
      computations: The computations of its model and local training.
      train: The clients to score, with the data that they tune on.
      test: The data that they are scored on, under the same ids; clients
        without examples there are left out.
      tuning_spec: The batches and epochs of the tuning; None for no tuning.
      eval_batch_size: The number of examples per batch in evaluation.
      higher_is_better: The metrics to return, each with whether a higher value
        is better.
      seed: The seed of the order of the batches.
    """
    self._process = process
    self._has_states = isinstance(
      process, client_state_process.ClientStateProcess
    )
    self._computations = computations
    self._train, self._test = train, test
    self._spec = tuning_spec
    self._eval_batch_size = eval_batch_size
    self._higher_is_better = dict(higher_is_better)
    self._seed = seed

  def __call__(
    self,
    state: Any,
    load_client_state: LoadClientStateFn | None = None,
  ) -> dict[str, float]:
    """Returns each `<metric>`'s mean over clients and its spread.

    The suffix `_before` marks the mean before tuning, if there is tuning. The
    suffixes of the values after tuning are `_client_std` (the standard
    deviation), `_worst_tenth` (the mean over the tenth of the clients with the
    worst values), and the quantiles `_low_tenth`, `_median` and `_high_tenth`.
    Each client counts alike. Clients with a diverged model are left out and
    counted as `diverged_clients`.

    Args:
      state: The process's state.
      load_client_state: The function that loads clients' states after the same
        round; None to use the states of new clients.
    """
    before, after = self._score(state, load_client_state)
    columns = {
      'diverged_clients': client_statistics.count_diverged_clients(after)
    }
    for name, higher_is_better in self._higher_is_better.items():
      values, sizes = client_statistics.metric_values(after, name)
      columns[name] = client_statistics.weighted_mean(values, sizes)
      if self._spec is not None:
        columns[f'{name}_before'] = client_statistics.mean_over_clients(
          before, name
        )
      columns |= client_statistics.spread(
        name, values, higher_is_better=higher_is_better
      )
      finite = values[np.isfinite(values)]
      for suffix, share in _TENTHS.items():
        columns[f'{name}_{suffix}'] = (
          float(np.quantile(finite, share)) if finite.size else float('nan')
        )
    return columns

  def _score(
    self, state: Any, load_client_state: LoadClientStateFn | None
  ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Returns each client's scores before and after tuning, if there is any."""
    known = set(self._test.client_ids)
    client_ids = [c for c in self._train.client_ids if c in known]
    sent = state if self._has_states else self._process.get_model_weights(state)
    before, after = [], []
    for chunk in scorer_inputs.chunk_clients(client_ids):
      clients = [self._load(client_id) for client_id in chunk]
      if self._has_states:
        states = _load_states(self._process, state, chunk, load_client_state)
        for client, client_state in zip(clients, states, strict=True):
          client['state'] = client_state
      before += self._computations.own_models.score_group(sent, clients)
      if self._spec is not None:
        after += self._computations.tuned_own_models.score_group(sent, clients)
      # Frees the group before the next one is made.
      del clients
    return before, before if self._spec is None else after

  def _load(self, client_id: str) -> dict[str, Any]:
    scored = scorer_inputs.plan_whole_client(
      self._test, client_id, batch_size=self._eval_batch_size
    )
    client = {'test': datasets.to_client_input(scored)}
    if self._spec is not None:
      tuned = datasets.plan_client(
        self._train,
        self._spec,
        client_id=client_id,
        seed=self._seed,
        round_number=0,
        refers=datasets.takes_references(),
      )
      client['train'] = datasets.to_client_input(tuned)
    return client
