# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of models on clients' own test data.

A client's own model is the one with which it would begin a round: the server's
with the client's own weights. After fine-tuning it is tuned on the client's
training data, as in FedRep (Collins et al., 2021, arXiv:2102.07078, section 5)
and SRPFL (Tziotis et al., 2022, section 5). A client that was never in a round
begins like any new one.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.algorithms import process as process_lib
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs

import tensorflow_federated as tff

_Scores = list[Mapping[str, Any]]

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
    process: The process, whose `client_model_weights` make the models.
    state: The process' state after the round.
    client_ids: The clients, in the order of the models.
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
  """Metrics of models on clients' own test data, as columns.

  A group of columns scores one model: `own_global` the server's model; `own`
  each client's own model as it is, if clients keep some; and `own_fine_tuned`
  the client's own model, or the server's, after fine-tuning, if there is any.
  For held-out clients the groups are `new_global` and `new_fine_tuned`.
  """

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
    own_models: bool = False,
    new_clients: bool = False,
  ) -> None:
    """Prepares the evaluation.

    Args:
      process: The process, which may keep states of clients.
      computations: The computations of its model and local training.
      train: The clients to score, with the data that they tune on.
      test: The data that they are scored on, under the same ids, of one client
        at least; clients without examples there are left out.
      tuning_spec: The batches and epochs of the fine-tuning; None for none.
      eval_batch_size: The number of examples per batch in evaluation.
      higher_is_better: The metrics to return, each with whether a higher value
        is better.
      seed: The seed of the order of the batches.
      own_models: Whether the clients' states hold models or layers of theirs.
      new_clients: Whether the clients are held out, so that none has a state.
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
    prefix = 'new' if new_clients else 'own'
    groups = {f'{prefix}_global': 'global_model'}
    if own_models and not new_clients:
      groups['own'] = 'own_models'
    if tuning_spec is not None:
      groups[f'{prefix}_fine_tuned'] = 'tuned_own_models'
    self._scorers = groups
    if not self.client_ids:
      raise errors.InputError(
        f'test must have a client of train, got none of its '
        f'{len(train.client_ids)} among {len(test.client_ids)}.'
      )

  @property
  def groups(self) -> tuple[str, ...]:
    """The groups of columns."""
    return tuple(self._scorers)

  @property
  def client_ids(self) -> list[str]:
    """The clients with test data of their own."""
    known = set(self._test.client_ids)
    return [c for c in self._train.client_ids if c in known]

  def __call__(
    self,
    state: Any,
    load_client_state: LoadClientStateFn | None = None,
    *,
    groups: Sequence[str] | None = None,
  ) -> dict[str, float]:
    """Returns `<group>/<metric>`, means over clients, and their spread.

    Suffixes of the spread are `_client_std` (the standard deviation),
    `_worst_tenth` (the mean over the tenth of the clients with the worst
    values), `_jain_index` (Jain's fairness index), and the quantiles
    `_low_tenth`, `_median` and `_high_tenth`. Each client counts alike. Clients
    with a diverged model are counted as `<group>/diverged_clients`; all other
    columns of the group are then NaN.

    Args:
      state: The process's state after a round.
      load_client_state: The function that loads clients' states after the same
        round; None to use the states of new clients.
      groups: The groups of columns, such as `own`; None for all.
    """
    scores = self.score_clients(state, load_client_state, groups=groups)
    columns = {}
    for group, of_group in scores.items():
      for name, higher_is_better in self._higher_is_better.items():
        values, sizes = client_statistics.metric_values(of_group, name)
        column = f'{group}/{name}'
        columns[column] = client_statistics.weighted_mean(values, sizes)
        columns |= client_statistics.spread(
          column, values, higher_is_better=higher_is_better
        )
        columns |= client_statistics.quantiles(column, values)
      columns[f'{group}/diverged_clients'] = (
        client_statistics.count_diverged_clients(of_group)
      )
    return columns

  def score_clients(
    self,
    state: Any,
    load_client_state: LoadClientStateFn | None = None,
    *,
    groups: Sequence[str] | None = None,
  ) -> dict[str, _Scores]:
    """Returns `num_examples` and the metrics of `client_ids`, by group.

    The arguments are those of `__call__`.
    """
    groups = groups or self.groups
    for group in groups:
      errors.check_member('group', group, self.groups)
    weights = self._process.get_model_weights(state)
    sent = state if self._has_states else weights
    client_ids = self.client_ids
    states = _load_states(self._process, state, client_ids, load_client_state)

    def load(client_id: str) -> client_scorer.ClientInput:
      client = self._load(client_id)
      if self._has_states:
        client['state'] = next(states)
      return client

    names = [self._scorers[group] for group in groups]
    scores = client_scorer.score_models(
      [
        (
          getattr(self._computations, name),
          weights if name == 'global_model' else sent,
        )
        for name in names
      ],
      scorer_inputs.chunk_inputs(client_ids, load),
    )
    return {
      group: found.per_client
      for group, found in zip(groups, scores, strict=True)
    }

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
