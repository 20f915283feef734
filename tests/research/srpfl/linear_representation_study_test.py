# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The study of linear representations against figures made without it."""

import csv
import io

from research.srpfl import linear_representation_study as study

from absl.testing import parameterized
import numpy as np
import pytest


def _trace(distances, seconds):
  return study.Trace(np.array(seconds), np.array(distances))


_RESULTS = study.Results(
  traces={
    'FedRep': [_trace([0.5, 1e-3], [0.0, 4.0])],
    'SRPFL': [_trace([0.5, 0.1], [0.0, 1.0])],
  },
  # 0.5 / sqrt(n), so that 0.15 is to be reached with 16 clients.
  limits={4: [0.2, 0.3], 16: [0.125, 0.125]},
  runs={
    16: {
      'FedRep': [_trace([0.5, 0.2, 0.1], [0.0, 4.0, 8.0])],
      'SRPFL': [_trace([0.5, 0.14], [0.0, 2.0])],
    },
    64: {
      'FedRep': [_trace([0.5, 0.4], [0.0, 4.0])],
      'SRPFL': [_trace([0.5, 0.01], [0.0, 2.0])],
    },
  },
)


class LinearRepresentationStudyTest(parameterized.TestCase):
  # Computed independently of the code, for n0 = 4, a = 0.1, c = 1.2.
  @parameterized.parameters(
    (64, 0.406), (256, 0.313), (1024, 0.248), (4096, 0.208)
  )
  def test_derives_the_time_saved(self, num_clients, saved):
    costs = study.expected_costs(num_clients)
    self.assertAlmostEqual(
      costs['SRPFL'].seconds / costs['FedRep'].seconds, saved, places=3
    )

  def test_one_round_of_fed_rep_takes_the_slowest_of_all(self):
    cost = study.expected_costs(16)['FedRep']
    # The harmonic number of 16.
    self.assertAlmostEqual(cost.seconds / cost.rounds, 3.380729, places=6)

  def test_cost_is_of_the_mean_distance(self):
    traces = [
      _trace([1.0, 0.1, 0.4], [0.0, 1.0, 2.0]),
      _trace([1.0, 0.9, 0.2], [0.0, 3.0, 6.0]),
    ]
    self.assertEqual(study.measure_cost(traces, 0.4), (2, 4.0))
    self.assertEqual(study.measure_cost(traces[:1], 0.4), (1, 1.0))
    self.assertIsNone(study.measure_cost(traces, 0.1))

  @pytest.mark.thorough
  def test_srpfl_is_many_times_faster_at_first(self):
    """A simulation in NumPy of the same sizes took 2.3 to 5.6 s and 37 to 39 s.

    Its speeds and clients were others; here, with five seeds, 1.3 to 2.5 s and
    31 to 75 s.
    """
    traces = study.trace_methods(study.LinearRuns(0.5), seed=2)
    seconds = {
      method: study.measure_cost([trace], 2e-3).seconds
      for method, trace in traces.items()
    }
    self.assertBetween(seconds['SRPFL'], 1, 8)
    self.assertBetween(seconds['FedRep'], 20, 100)
    starts, ends = (
      [trace.distances[i] for trace in traces.values()] for i in (0, -1)
    )
    self.assertEqual(starts[0], starts[1])
    # One floor, of all clients; a single distance differs from it by 0.15.
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.6)

  @pytest.mark.thorough
  def test_limit_falls_as_the_root_of_clients(self):
    runs = study.LinearRuns(1 - 0.9**0.5)
    few, many = (study.measure_limit(runs, n, seed=0) for n in (4, 64))
    # 16 ** -0.5, as sixty distances in a row, which depend on each other, tell.
    np.testing.assert_allclose(many / few, 0.25, rtol=0.3)


class ReportTest(parameterized.TestCase):
  def test_tables_have_times_limits_and_shares(self):
    contraction, floor, speed_up = (
      table.splitlines()
      for table in study.format_tables(_RESULTS).split('\n\n')
    )
    self.assertEqual(contraction[1].split(), ['FedRep', '4.0', '0.001'])
    self.assertEqual(contraction[2].split(), ['SRPFL', 'never', '0.1'])
    self.assertEqual(floor[1].split(), ['4', '0.2500', '0.500'])
    self.assertIn('8.0 s, 2 rounds  2.0 s, 1 rounds  0.250', speed_up[1])
    self.assertIn('not reached', speed_up[2])
    self.assertIn(' nan ', speed_up[2])
    self.assertEqual(speed_up[4].split()[:2], ['1024', '0.248'])

  def test_csv_holds_every_round_and_what_is_derived(self):
    rows = list(csv.DictReader(io.StringIO(study.to_csv(_RESULTS).decode())))
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
    left, middle, right = study.plot(_RESULTS).axes
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
