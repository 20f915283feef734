# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run costs: of a round, and in total since its beginning."""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import client_speeds
from fedfish_tff.simulation import communication
from fedfish_tff.simulation import round_problems

import numpy as np

Totals = collections.OrderedDict[str, np.int64 | np.float64]

EXCLUDED_COLUMN = 'train/excluded_clients'
_STEPS_COLUMN = 'compute/local_steps'
_WIRE_BYTES_COLUMN = 'communication/wire_bytes'
# Only processes whose clients choose what they send have it.
_PAYLOAD_BYTES_COLUMN = 'communication/payload_bytes'
_SIMULATED_COLUMN = 'simulated/seconds'
_SIMULATED_TOTAL = 'simulated_seconds'

# The column that each total sums up.
_COLUMNS = collections.OrderedDict(
  wire_bytes=_WIRE_BYTES_COLUMN,
  payload_bytes=_PAYLOAD_BYTES_COLUMN,
  local_steps=_STEPS_COLUMN,
  excluded_clients=EXCLUDED_COLUMN,
  round_seconds='time/round_seconds',
)


def initial_totals() -> Totals:
  """Returns the totals of a run without rounds."""
  return collections.OrderedDict(
    (name, np.float64(0) if name == 'round_seconds' else np.int64(0))
    for name in _COLUMNS
  )


def totals_of(numbers: Mapping[str, int | float]) -> Totals:
  """Returns the totals of a run that begins where another has led.

  Args:
    numbers: The other's, by name. What it has not counted is 0.
  """
  return collections.OrderedDict(
    (name, type(zero)(numbers.get(name, 0)))
    for name, zero in initial_totals().items()
  )


def add_round(totals: Totals, row: Mapping[str, Any]) -> Totals:
  """Returns the totals after one more round.

  Args:
    totals: Those before it.
    row: Its row, which need not have all columns.
  """
  return collections.OrderedDict(
    (name, total + type(total)(row.get(_COLUMNS[name], 0)))
    for name, total in totals.items()
  )


def round_costs(
  process: round_problems.AnyProcess,
  cohort: Sequence[batches_lib.ClientBatches],
  wire_bytes: communication.WireBytes | None,
  costs_per_client: Mapping[str, int],
  *,
  further_passes: int = 0,
) -> dict[str, Any]:
  """Returns what a round costs, as columns.

  Args:
    process: The process.
    cohort: The round's clients.
    wire_bytes: Bytes per client and round, if they are measured.
    costs_per_client: What else a client costs, by column.
    further_passes: Over its data, beside those of the process.
  """
  extra_passes = getattr(process, 'extra_passes', 0) + further_passes
  steps = sum(
    round(client.batches_per_epoch * (client.epochs + extra_passes))
    for client in cohort
  )
  # Closed-form methods take no gradients.
  takes_steps = getattr(process, 'uses_weights', True)
  costs = {_STEPS_COLUMN: steps if takes_steps else 0}
  if wire_bytes is not None:
    costs[_WIRE_BYTES_COLUMN] = len(cohort) * wire_bytes.total
  for name, cost in costs_per_client.items():
    costs[name] = len(cohort) * cost
  return costs


def total_columns(
  totals: Totals,
  row: Mapping[str, Any],
  wire_bytes: communication.WireBytes | None,
) -> dict[str, Any]:
  """Returns the running totals that are columns of a row.

  Args:
    totals: After the round.
    row: Its row so far.
    wire_bytes: Bytes per client and round, if they are measured.
  """
  columns = {f'{_STEPS_COLUMN}_total': totals['local_steps']}
  if wire_bytes is not None:
    columns[f'{_WIRE_BYTES_COLUMN}_total'] = totals['wire_bytes']
  if _PAYLOAD_BYTES_COLUMN in row:
    columns[f'{_PAYLOAD_BYTES_COLUMN}_total'] = totals['payload_bytes']
  return columns


class SimulatedTime:
  """What the rounds of a run would last together, if it has a wall clock.

  No checkpoint holds it: rounds last what they lasted, whoever asks again.
  """

  def __init__(
    self,
    wall_clock: client_speeds.WallClock | None,
    start_totals: Mapping[str, int | float],
  ) -> None:
    """Begins with no round.

    Args:
      wall_clock: The seconds of a round; None to count nothing.
      start_totals: The totals of where the run starts.
    """
    self._wall_clock = wall_clock
    self._seconds = float(start_totals.get(_SIMULATED_TOTAL, 0))

  def add_round(self, round_number: int, client_ids: Sequence[str]) -> None:
    """Counts a round and its cohort; rounds come in their order."""
    if self._wall_clock is not None:
      self._seconds += self._wall_clock(round_number, client_ids)

  def columns(self) -> dict[str, float]:
    """Returns the time since the run's beginning, as a column."""
    if self._wall_clock is None:
      return {}
    return {_SIMULATED_COLUMN: self._seconds}

  def totals(self) -> dict[str, float]:
    """Returns it as a total."""
    if self._wall_clock is None:
      return {}
    return {_SIMULATED_TOTAL: self._seconds}
