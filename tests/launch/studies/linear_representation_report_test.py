# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables, CSV and figure of linear representations, from results made here."""

import csv
import io

from launch.studies import linear_representation as study
from launch.studies import linear_representation_report as report

from absl.testing import absltest
import numpy as np


def _runs(distances, seconds):
  return [study.Trace(np.array(seconds), np.array(distances))]


_RESULTS = study.Results(
  traces={
    'FedRep': _runs([0.5, 1e-3], [0.0, 4.0]),
    'SRPFL': _runs([0.5, 0.1], [0.0, 1.0]),
  },
  # 0.5 / sqrt(n), so that 0.15 is to be reached with 16 clients.
  limits={4: [0.2, 0.3], 16: [0.125, 0.125]},
  runs={
    16: {
      'FedRep': _runs([0.5, 0.2, 0.1], [0.0, 4.0, 8.0]),
      'SRPFL': _runs([0.5, 0.14], [0.0, 2.0]),
    },
    64: {
      'FedRep': _runs([0.5, 0.4], [0.0, 4.0]),
      'SRPFL': _runs([0.5, 0.01], [0.0, 2.0]),
    },
  },
)


class LinearRepresentationReportTest(absltest.TestCase):
  def test_tables_have_times_limits_and_shares(self):
    contraction, floor, speed_up = (
      table.splitlines()
      for table in report.format_tables(_RESULTS).split('\n\n')
    )
    self.assertEqual(contraction[1].split(), ['FedRep', '4.0', '0.001'])
    self.assertEqual(contraction[2].split(), ['SRPFL', 'never', '0.1'])
    self.assertEqual(floor[1].split(), ['4', '0.2500', '0.500'])
    self.assertIn('8.0 s, 2 rounds  2.0 s, 1 rounds  0.250', speed_up[1])
    self.assertIn('not reached', speed_up[2])
    self.assertIn(' nan ', speed_up[2])
    self.assertEqual(speed_up[4].split()[:2], ['1024', '0.248'])

  def test_csv_holds_every_round_and_what_is_derived(self):
    rows = list(csv.DictReader(io.StringIO(report.to_csv(_RESULTS).decode())))
    parts = [row['part'] for row in rows]
    counts = {part: parts.count(part) for part in parts}
    self.assertEqual(
      counts, {'contraction': 4, 'floor': 4, 'speed_up': 9, 'derived': 10}
    )
    self.assertEqual(
      list(rows[1].values()),
      ['contraction', 'FedRep', '64', '0', '1', '4.0', '0.001'],
    )
    self.assertEqual(rows[4]['distance'], '0.2')

  def test_panels_hold_runs_limits_and_shares(self):
    left, middle, right = report.plot(_RESULTS).axes
    # Without the start, at no time.
    self.assertEqual(
      [list(line.get_ydata()) for line in left.lines], [[1e-3], [0.1]]
    )
    self.assertEqual(
      [t.get_text() for t in left.get_legend().get_texts()], ['FedRep', 'SRPFL']
    )
    np.testing.assert_allclose(middle.lines[0].get_ydata(), [0.25, 0.125])
    np.testing.assert_array_equal(
      middle.collections[0].get_offsets(), [[4, 0.2], [4, 0.3]]
    )
    # The other shares are tested with the study.
    self.assertAlmostEqual(right.lines[0].get_ydata()[3], 0.248, places=3)
    np.testing.assert_array_equal(
      right.collections[0].get_offsets()[0], [16, 0.25]
    )
