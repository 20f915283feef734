# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Costs of a run, per round and in total."""

import collections
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.datasets import batches as batches_lib
from fedfish_tff.simulation import round_problems

import numpy as np

Totals = collections.OrderedDict[str, np.int64 | np.float64]

EXCLUDED_COLUMN = 'train/excluded_clients'
WIRE_BYTES_COLUMN = 'communication/wire_bytes'
_STEPS_COLUMN = 'compute/local_steps'
# A column only of processes in which clients choose the values that they send.
_PAYLOAD_BYTES_COLUMN = 'communication/payload_bytes'

# The column that each total sums up.
_COLUMNS = collections.OrderedDict(
  wire_bytes=WIRE_BYTES_COLUMN,
  payload_bytes=_PAYLOAD_BYTES_COLUMN,
  local_steps=_STEPS_COLUMN,
  excluded_clients=EXCLUDED_COLUMN,
  round_seconds='time/round_seconds',
)


def totals_of(numbers: Mapping[str, int | float]) -> Totals:
  """Returns the first totals of a run that starts from another run's end.

  Args:
    numbers: The other run's totals by name; missing ones are 0.
  """
  return collections.OrderedDict(
    (
      name,
      (np.float64 if name == 'round_seconds' else np.int64)(
        numbers.get(name, 0)
      ),
    )
    for name in _COLUMNS
  )


def add_round(totals: Totals, row: Mapping[str, Any]) -> Totals:
  """Returns the totals after one more round.

  Args:
    totals: The totals of the rounds before it, by name.
    row: The round's row, which need not have all columns.
  """
  return collections.OrderedDict(
    (name, total + type(total)(row.get(_COLUMNS[name], 0)))
    for name, total in totals.items()
  )


def count_local_steps(
  process: round_problems.AnyProcess,
  cohort: Sequence[batches_lib.ClientBatches],
  further_passes: int,
) -> dict[str, int]:
  """Returns the number of a round's batch gradients, as a column.

  Args:
    process: The process, with its `extra_passes`.
    cohort: The clients of the round, with their batches.
    further_passes: The passes over their data in addition to the process' own.
  """
  extra_passes = getattr(process, 'extra_passes', 0) + further_passes
  steps = sum(
    round(client.batches_per_epoch * (client.epochs + extra_passes))
    for client in cohort
  )
  # Closed-form methods take no gradients.
  takes_steps = getattr(process, 'uses_weights', True)
  return {_STEPS_COLUMN: steps if takes_steps else 0}


def total_columns(totals: Totals, row: Mapping[str, Any]) -> dict[str, Any]:
  """Returns the running totals that are columns of every row."""
  columns = {f'{_STEPS_COLUMN}_total': totals['local_steps']}
  if _PAYLOAD_BYTES_COLUMN in row:
    columns[f'{_PAYLOAD_BYTES_COLUMN}_total'] = totals['payload_bytes']
  return columns
