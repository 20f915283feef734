# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores what each client would use itself, on test data of its own.

A client's model is what it would begin a round with: the server's, with the
weights of its own where clients keep some. It is tuned on the client's training
data and scored on the client's test data, as FedRep (Collins et al., 2021,
arXiv:2102.07078, section 5) and SRPFL (Tziotis et al., 2022, section 5) do; a
client that was never in a round begins as any new one does.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import datasets
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.evaluation import client_evaluation
from fedfish_tff.evaluation import client_model_evaluation
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import inputs
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow_federated as tff

_TENTHS = {'low_tenth': 0.1, 'median': 0.5, 'high_tenth': 0.9}


def build_own_data_evaluation(
  model: model_functions.ModelFn,
  tuning: tff.Computation,
  *,
  client_model_weights: tff.Computation | None = None,
) -> tff.Computation:
  """Builds the evaluation of clients' own models, before and after tuning.

  Args:
    model: A functional model, or a function that returns a variable model.
    tuning: What a client makes of its model, (<M, B*> -> M), not placed, such as
      a process's local training; without a batch it stays as it is.
    client_model_weights: What a client's model is, (<S, C> -> M), not placed,
      as of a `ClientStateProcess`. None where it is the server's: S is M then,
      and C an int32 that is not read.

  Returns:
    A computation `(<S@SERVER, {C}@CLIENTS, {<train=B*, test=B*>}@CLIENTS> ->
    {<before=metrics, after=metrics>}@CLIENTS)`; metrics are those of
    `client_evaluation.build_local_evaluation` on the `test` batches.
  """
  evaluate = client_evaluation.build_local_evaluation(model)
  client_weights = client_model_weights or _build_server_weights(model)
  server_type, client_type = client_weights.type_signature.parameter
  data_type = model_functions.data_type(model)

  @tff.federated_computation(
    tff.FederatedType(server_type, tff.SERVER),
    tff.FederatedType(client_type, tff.CLIENTS),
    tff.FederatedType(
      collections.OrderedDict(train=data_type, test=data_type), tff.CLIENTS
    ),
  )
  def own_data_evaluation(state, client_states, client_data):
    before = tff.federated_map(
      client_weights, (tff.federated_broadcast(state), client_states)
    )
    after = tff.federated_map(tuning, (before, client_data.train))
    return tff.federated_zip(
      collections.OrderedDict(
        before=tff.federated_map(evaluate, (before, client_data.test)),
        after=tff.federated_map(evaluate, (after, client_data.test)),
      )
    )

  return own_data_evaluation


class OwnDataEvaluation:
  """Metrics of clients' own models on their own test data, as columns."""

  def __init__(
    self,
    process: process_lib.FederatedProcess
    | client_state_process.ClientStateProcess,
    computation: tff.Computation,
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
      computation: Of `build_own_data_evaluation` for it.
      train: The clients to score, with what they tune on.
      test: What they are scored on, under the same ids; clients that have none
        there, or no example, are left out.
      tuning_spec: Batches and epochs of the tuning; None to do without.
      eval_batch_size: Examples a batch in evaluation.
      higher_is_better: The metrics to give, and whether more of them is better.
      seed: Decides the order of the batches.
    """
    self._process = process
    self._has_states = isinstance(
      process, client_state_process.ClientStateProcess
    )
    self._evaluate = computation
    self._train, self._test = train, test
    self._spec = tuning_spec
    self._eval_batch_size = eval_batch_size
    self._higher_is_better = dict(higher_is_better)
    self._seed = seed

  def __call__(
    self,
    state: Any,
    load_client_state: client_model_evaluation.LoadClientStateFn | None = None,
  ) -> dict[str, float]:
    """Returns `<metric>`, each the mean over clients, and what surrounds it.

    With the suffix `_before` the mean before tuning, without tuning there is
    none; of the values after tuning, `_client_std`, the standard deviation,
    `_worst_tenth`, the mean of the tenth of the clients that are served worst,
    and the quantiles `_low_tenth`, `_median` and `_high_tenth`. Each client
    counts alike; those whose model has diverged are left out and counted as
    `diverged_clients`.

    Args:
      state: The process' state.
      load_client_state: Loads clients' states after the same round; None for
        new clients', which have what a client begins with.
    """
    scores = list(self._score(state, load_client_state))
    columns = {'diverged_clients': 0}
    for name, higher_is_better in self._higher_is_better.items():
      values, sizes = client_statistics.metric_values(
        [s['after'] for s in scores], name
      )
      columns[name] = client_statistics.weighted_mean(values, sizes)
      if self._spec is not None:
        columns[f'{name}_before'] = client_statistics.mean_over_clients(
          [s['before'] for s in scores], name
        )
      columns[f'{name}_client_std'] = client_statistics.standard_deviation(
        values
      )
      columns[f'{name}_worst_tenth'] = client_statistics.worst_tenth(
        values, higher_is_better=higher_is_better
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
    self,
    state: Any,
    load_client_state: client_model_evaluation.LoadClientStateFn | None,
  ) -> Iterable[Mapping[str, Any]]:
    known = set(self._test.client_ids)
    client_ids = [c for c in self._train.client_ids if c in known]
    sent = self._process.get_model_weights(state)
    new_client = 0
    if self._has_states:
      sent, new_client = state, self._process.initialize_client(state)
    for chunk in inputs.chunk_clients(client_ids):
      client_states = [new_client] * len(chunk)
      if self._has_states and load_client_state is not None:
        loaded = (load_client_state(c, new_client) for c in chunk)
        client_states = [new_client if s is None else s for s in loaded]
      yield from self._evaluate(
        sent, client_states, [self._load(client_id) for client_id in chunk]
      )

  def _load(self, client_id: str) -> inputs.EvaluationInput:
    if self._spec is None:
      tuned = datasets.take_part(
        inputs.plan_whole_client(self._train, client_id, batch_size=1), _nothing
      )
    else:
      tuned = datasets.plan_client(
        self._train,
        self._spec,
        client_id=client_id,
        seed=self._seed,
        round_number=0,
        refers=datasets.takes_references(),
      )
    scored = inputs.plan_whole_client(
      self._test, client_id, batch_size=self._eval_batch_size
    )
    return collections.OrderedDict(
      train=datasets.to_client_input(tuned),
      test=datasets.to_client_input(scored),
    )


def _nothing(client: datasets.ClientBatches) -> datasets.ClientBatches:
  return dataclasses.replace(client, indices=client.indices[:0])


def _build_server_weights(model: model_functions.ModelFn) -> tff.Computation:
  @tff.tensorflow.computation(model_functions.weights_type(model), np.int32)
  def take_weights(weights, unused_client_state):
    return weights

  return take_weights
