# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One round of a process, with or without client states."""

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
from fedfish_tff.simulation import progress
from fedfish_tff.simulation import round_problems

from absl import logging

# The prefixes of columns that are averages over clients.
_AVERAGES = ('train/', 'aggregator/sent/')
NON_FINITE_COLUMN = 'finalizer/update_non_finite'


class RoundResult(NamedTuple):
  """The result of a round of training.

  Attributes:
    state: The process' state after the round.
    row: The process' measurements, as columns.
    old_client_states: The clients' states before the round, in the order of the
      cohort; None if clients have no states.
  """

  state: Any
  row: dict[str, Any]
  old_client_states: Sequence[Any] | None


def has_client_states(process: round_problems.AnyProcess) -> bool:
  """Returns whether a process' clients keep states between their rounds."""
  return isinstance(process, client_state_process.ClientStateProcess)


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

  The first-visit rule: a client that takes part for the first time starts from
  `process.initialize_client` of the server's state before this round, not of
  the initial one.

  Args:
    process: A process with or without client states.
    state: The process' state before the round.
    cohort: The round's clients, those with states once each.
    round_number: The round, from 1 on.
    client_states: The store of the clients' states, whose `flush` writes what
      this saves; None if they have none.
    kept_rounds: The rounds that the run may resume from. With None, the
      clients' new states are not saved.
  """
  # Discards the costs that the context's runner, if it counts them, has counted
  # before this round.
  take_columns = getattr(batches_lib.current_runner(), 'take_columns', dict)
  take_columns()
  inputs = [batches_lib.to_client_input(client) for client in cohort]
  if client_states is None:
    with round_problems.input_errors(cohort):
      output = process.next(state, inputs)
    old_states = None
  else:
    client_ids = [client.client_id for client in cohort]
    counts = collections.Counter(client_ids)
    twice = sorted(c for c, count in counts.items() if count > 1)
    if twice:
      raise errors.InputError(
        'Each client must be once in a cohort of a process whose clients have '
        f'states, got client {twice[0]!r} more than once in round '
        f'{round_number}.'
      )
    new_client = None
    old_states = []
    for client_id in client_ids:
      old = client_states.load(
        client_id, process.client_state_template, round_number=round_number - 1
      )
      if old is None:
        # Most rounds of a long run are without a first visit.
        if new_client is None:
          new_client = process.initialize_client(state)
        old = new_client
      old_states.append(old)
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
  """Reports excluded clients and what was not finite, in one line on stderr.

  In a round without clients, or with excluded clients only, the row's
  averages become NaN.

  Args:
    process: The process that has run the round.
    state: The process' state before the round.
    cohort: The round's clients.
    round_number: The round, which the line names.
    result: The round's result, whose row may change.
  """
  row = result.row
  if not cohort:
    logging.info('Round %d: no client came.', round_number)
    _forget_averages(row)
    if NON_FINITE_COLUMN in row:
      # The mean over no clients is NaN, but no client has diverged.
      row[NON_FINITE_COLUMN] = 0
    return
  told, cause = [], row.get(round_problems.DIVERGED_COLUMN)
  num_excluded = row.get(costs.EXCLUDED_COLUMN)
  if num_excluded:
    told.append(
      round_problems.name_excluded_clients(
        process,
        state,
        cohort,
        num_excluded,
        client_states=result.old_client_states,
      )
    )
  if num_excluded == len(cohort):
    _forget_averages(row)
    told.append('the server keeps what it had')
  elif row.get(NON_FINITE_COLUMN):
    told.append(
      'the aggregated update was not finite; the server keeps what it had'
    )
  elif cause == round_problems.Cause.LOSS:
    told.append(f'the training loss was {row["train/loss"]:.3g}')
  elif cause == round_problems.Cause.MODEL:
    told.append("the model is not finite after the server's step")
  if told:
    progress.report_line(f'Round {round_number}: {"; ".join(told)}.')


def _forget_averages(row: dict[str, Any]) -> None:
  """Sets a row's averages over no clients to NaN.

  Without clients, the process reports averages of 0, such as a perfect loss.
  Counts, which are integers, are right.
  """
  for name, value in row.items():
    if name.startswith(_AVERAGES) and isinstance(value, float):
      row[name] = math.nan
