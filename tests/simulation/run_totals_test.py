# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what rounds and runs cost."""

from fedfish_tff.datasets import batches
from fedfish_tff.simulation import communication
from fedfish_tff.simulation import run_totals

from absl.testing import absltest
import numpy as np

_WIRE_BYTES = communication.WireBytes(download=10, upload=1)


class _Process:
  extra_passes = 2
  uses_weights = True


def _cohort():
  # 3 batches and 1 batch an epoch.
  return [
    batches.ClientBatches(
      client_id=c,
      examples=np.zeros(n),
      indices=np.tile(np.arange(n), 4),
      epochs=4,
      batch_size=2,
    )
    for c, n in (('a', 5), ('b', 2))
  ]


class RunTotalsTest(absltest.TestCase):
  def test_costs(self):
    costs = run_totals.round_costs(
      _Process(), _cohort(), _WIRE_BYTES, {'other': 7}
    )
    self.assertEqual(
      costs,
      {
        'compute/local_steps': (3 + 1) * (4 + 2),
        'communication/wire_bytes': 22,
        'other': 14,
      },
    )
    of_some = _Process()
    of_some.extra_passes = 4 / 3
    self.assertEqual(
      run_totals.round_costs(of_some, _cohort(), None, {}),
      # 3 * 5.33 and 5.33.
      {'compute/local_steps': 16 + 5},
    )
    closed_form = _Process()
    closed_form.uses_weights = False
    self.assertEqual(
      run_totals.round_costs(closed_form, _cohort(), None, {}),
      {'compute/local_steps': 0},
    )

  def test_totals_add_up(self):
    totals = run_totals.initial_totals()
    self.assertEqual(set(totals.values()), {0})
    rows = (
      {'communication/payload_bytes': 2**40, 'time/round_seconds': 0.25},
      {'communication/payload_bytes': 1, 'communication/wire_bytes': 6},
      {'train/excluded_clients': 2, 'compute/local_steps': 4},
    )
    for row in rows:
      totals = run_totals.add_round(totals, row)
    numbers = {name: total.item() for name, total in totals.items()}
    self.assertEqual(
      numbers,
      {
        'wire_bytes': 6,
        'payload_bytes': 2**40 + 1,
        'local_steps': 4,
        'excluded_clients': 2,
        'round_seconds': 0.25,
      },
    )
    again = run_totals.totals_of(numbers)
    self.assertEqual(again, totals)
    for name, total in again.items():
      self.assertIs(type(total), type(totals[name]))

  def test_only_measured_bytes_are_columns(self):
    totals = run_totals.add_round(
      run_totals.initial_totals(), {'communication/payload_bytes': 5}
    )
    self.assertEqual(
      run_totals.total_columns(totals, {}, None),
      {'compute/local_steps_total': 0},
    )
    self.assertEqual(
      run_totals.total_columns(
        totals, {'communication/payload_bytes': 5}, _WIRE_BYTES
      ),
      {
        'compute/local_steps_total': 0,
        'communication/wire_bytes_total': 0,
        'communication/payload_bytes_total': 5,
      },
    )
