# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One round of a process, whether its clients have states or not."""

import collections
from collections.abc import Collection
from collections.abc import Sequence
import math
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import client_state_store
from fedfish_tff.simulation import costs
from fedfish_tff.simulation import metrics_flattening
from fedfish_tff.simulation import round_problems

from absl import logging
import tensorflow_federated as tff

# Beginnings of the names of averages over clients.
_AVERAGES = ('train/', 'aggregator/sent/')
_NON_FINITE_COLUMN = 'finalizer/update_non_finite'


class RoundResult(NamedTuple):
  """What a round of training leaves.

  Attributes:
    state: The process' state after it.
    row: What the process measured, as columns.
    old_client_states: The clients' states before it, in the order of the
      cohort; None if they have none.
  """

  state: Any
  row: dict[str, Any]
  old_client_states: Sequence[Any] | None


def has_client_states(process: round_problems.AnyProcess) -> bool:
  """Whether clients of a process keep states between their rounds."""
  return isinstance(process, client_state_process.ClientStateProcess)


def check_client_states(
  process: round_problems.AnyProcess,
  client_states: client_state_store.ClientStateStore | None,
) -> client_state_store.ClientStateStore | None:
  """Returns the store that rounds of a process need, None if they need none.

  Args:
    process: The process.
    client_states: Where its clients' states would be.

  Raises:
    errors.InputError: If there is none and the clients have states.
  """
  if not has_client_states(process):
    return None
  if client_states is None:
    raise errors.InputError(
      'The clients of this process have states, but client_states is None; a '
      'ClientStateStore was expected.'
    )
  return client_states


def run_round(
  process: round_problems.AnyProcess,
  state: Any,
  cohort: Sequence[batches_lib.ClientBatches],
  round_number: int,
  client_states: client_state_store.ClientStateStore | None,
  *,
  kept_rounds: Collection[int] | None = None,
) -> RoundResult:
  """Trains for one round.

  The first-visit rule: a client that comes for the first time has
  `process.initialize_client` of the server's state before this round, not of
  the initial one.

  Args:
    process: The process.
    state: Its state before the round.
    cohort: The round's clients.
    round_number: The round.
    client_states: Of `check_client_states`.
    kept_rounds: The rounds that the run may be resumed from; None not to save
      the clients' new states.

  Raises:
    errors.InputError: If a client's data or state cannot be used, its new state
      cannot be written, or a client with a state is in the cohort twice.
  """
  context = tff.framework.get_context_stack().current
  # What a round costs, where the context says that; not what came before it.
  take_columns = getattr(context, 'take_columns', dict)
  take_columns()
  inputs = [batches_lib.to_client_input(client) for client in cohort]
  if client_states is None:
    with round_problems.input_errors(cohort):
      output = process.next(state, inputs)
    old_states = None
  else:
    client_ids = [client.client_id for client in cohort]
    _check_distinct(client_ids, round_number)
    # By the first-visit rule; and the structure of all states.
    new_client = process.initialize_client(state)
    old_states = []
    for client_id in client_ids:
      old = client_states.load(
        client_id, new_client, round_number=round_number - 1
      )
      old_states.append(new_client if old is None else old)
    with round_problems.input_errors(cohort):
      output = process.next(state, old_states, inputs)
    if kept_rounds is not None:
      client_states.save(
        round_number,
        dict(zip(client_ids, output.client_states, strict=True)),
        kept_rounds=kept_rounds,
      )
  row = metrics_flattening.flatten_metrics(output.metrics)
  return RoundResult(output.state, row | take_columns(), old_states)


def report_problems(
  process: round_problems.AnyProcess,
  state: Any,
  cohort: Sequence[batches_lib.ClientBatches],
  round_number: int,
  result: RoundResult,
) -> None:
  """Warns of clients that were left out, and of a round that changed nothing.

  Averages over clients that were all left out, or over nobody where no client
  came, become NaN in the row.

  Args:
    process: The process.
    state: Its state before the round.
    cohort: The round's clients.
    round_number: The round.
    result: What the round has left.
  """
  row = result.row
  if not cohort:
    logging.info('Round %d: no client came.', round_number)
    _forget_averages(row)
    if _NON_FINITE_COLUMN in row:
      # The mean of nobody is no number, but nobody has diverged.
      row[_NON_FINITE_COLUMN] = 0
    return
  num_excluded = row.get(costs.EXCLUDED_COLUMN)
  if num_excluded:
    round_problems.name_excluded_clients(
      process,
      state,
      cohort,
      num_excluded,
      round_number,
      client_states=result.old_client_states,
    )
    if num_excluded == len(cohort):
      _forget_averages(row)
  if row.get(_NON_FINITE_COLUMN):
    logging.warning(
      'Round %d: the aggregated update was not finite; the server '
      'keeps what it had.',
      round_number,
    )


def _check_distinct(client_ids: Sequence[str], round_number: int) -> None:
  counts = collections.Counter(client_ids)
  twice = sorted(c for c, count in counts.items() if count > 1)
  if twice:
    raise errors.InputError(
      f'Client {twice[0]!r} is in the cohort of round {round_number} more than '
      'once; of a process whose clients have states, each was expected once.'
    )


def _forget_averages(row: dict[str, Any]) -> None:
  """Makes a row's averages over nobody NaN.

  The process divides sums over nobody and reports 0, a perfect loss, or that
  nothing is sent. Counts, which are integers, are right.
  """
  for name, value in row.items():
    if name.startswith(_AVERAGES) and isinstance(value, float):
      row[name] = math.nan
