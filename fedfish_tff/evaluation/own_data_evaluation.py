# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores what each client would use itself, on test data of its own.

A client's model is what it would begin a round with: the server's, with the
weights of its own where clients keep some. It is tuned on the client's training
data and scored on the client's test data, as FedRep (Collins et al., 2021,
arXiv:2102.07078, section 5) and SRPFL (Tziotis et al., 2022, section 5) do; a
client that was never in a round begins as any new one does.
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
from fedfish_tff.evaluation import inputs
from fedfish_tff.evaluation import round_evaluation

import numpy as np
import tensorflow_federated as tff

_TENTHS = {'low_tenth': 0.1, 'median': 0.5, 'high_tenth': 0.9}

# Takes (client id, a state of the same structure), returns the client's state,
# or None for a client that never came.
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
    state: Its state after the round.
    client_ids: The clients.
    load_client_state: Loads their states after the round, such as `load` of a
      `ClientStateStore`. A client that has none has what a new one begins with.
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
      train: The clients to score, with what they tune on.
      test: What they are scored on, under the same ids; clients that have none
        there, or no example, are left out.
      tuning_spec: Batches and epochs of the tuning; None to do without.
      eval_batch_size: Examples per batch in evaluation.
      higher_is_better: The metrics to give, and whether more of them is better.
      seed: Decides the order of the batches.
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
    """Returns `<metric>`, each the mean over clients, and what surrounds it.

    With the suffix `_before` the mean before tuning, without tuning there is
    none; of the values after tuning, `_client_std`, the standard deviation,
    `_worst_tenth`, the mean of the tenth of the clients that are served worst,
    and the quantiles `_low_tenth`, `_median` and `_high_tenth`. Each client
    counts alike; those whose model has diverged are left out and counted as
    `diverged_clients`.

    Args:
      state: The process's state.
      load_client_state: Loads clients' states after the same round; None for
        new clients', which have what a client begins with.
    """
    before, after = self._score(state, load_client_state)
    columns = {'diverged_clients': 0}
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
      columns['diverged_clients'] = max(
        columns['diverged_clients'], client_statistics.count_diverged(values)
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
    for chunk in inputs.chunk_clients(client_ids):
      clients = [self._load(client_id) for client_id in chunk]
      if self._has_states:
        states = _load_states(self._process, state, chunk, load_client_state)
        for client, client_state in zip(clients, states, strict=True):
          client['state'] = client_state
      before += self._computations.own_models.score_group(sent, clients)
      if self._spec is not None:
        after += self._computations.tuned_own_models.score_group(sent, clients)
      # Or it would be in memory while the next group is made.
      del clients
    return before, before if self._spec is None else after

  def _load(self, client_id: str) -> dict[str, Any]:
    scored = inputs.plan_whole_client(
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
