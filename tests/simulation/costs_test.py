# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the costs of rounds and runs."""

from fedfish_tff.datasets import batches
from fedfish_tff.simulation import costs

from absl.testing import absltest
import numpy as np


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
  def test_local_steps(self):
    self.assertEqual(
      costs.count_local_steps(_Process(), _cohort(), 0),
      {'compute/local_steps': (3 + 1) * (4 + 2)},
    )
    self.assertEqual(
      costs.count_local_steps(_Process(), _cohort(), 1),
      {'compute/local_steps': (3 + 1) * (4 + 3)},
    )
    # TFF's own processes tell no passes beside those of training.
    self.assertEqual(
      costs.count_local_steps(object(), _cohort(), 0),
      {'compute/local_steps': (3 + 1) * 4},
    )
    of_some = _Process()
    of_some.extra_passes = 4 / 3
    self.assertEqual(
      costs.count_local_steps(of_some, _cohort(), 0),
      # 3 * 5.33 and 5.33.
      {'compute/local_steps': 16 + 5},
    )
    closed_form = _Process()
    closed_form.uses_weights = False
    self.assertEqual(
      costs.count_local_steps(closed_form, _cohort(), 0),
      {'compute/local_steps': 0},
    )

  def test_totals_add_up(self):
    totals = costs.totals_of({})
    self.assertEqual(set(totals.values()), {0})
    rows = (
      {'communication/payload_bytes': 2**40, 'time/round_seconds': 0.25},
      {'communication/payload_bytes': 1, 'communication/wire_bytes': 6},
      {'train/excluded_clients': 2, 'compute/local_steps': 4},
    )
    for row in rows:
      totals = costs.add_round(totals, row)
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
    again = costs.totals_of(numbers)
    self.assertEqual(again, totals)
    for name, total in again.items():
      self.assertIs(type(total), type(totals[name]))

  def test_only_measured_payload_is_a_column(self):
    totals = costs.add_round(
      costs.totals_of({}), {'communication/payload_bytes': 5}
    )
    self.assertEqual(
      costs.total_columns(totals, {}),
      {'compute/local_steps_total': 0},
    )
    self.assertEqual(
      costs.total_columns(totals, {'communication/payload_bytes': 5}),
      {
        'compute/local_steps_total': 0,
        'communication/payload_bytes_total': 5,
      },
    )
