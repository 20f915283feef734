# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that measures how fast text is grouped."""

from launch.benchmarks import grouping_measurement
from launch.benchmarks import grouping_throughput
from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class GroupingThroughputTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._runner = binary_runner.BinaryRunner(
      'launch.benchmarks.grouping_throughput'
    )
    self.addCleanup(self._runner.close)

  # Four processes import Beam and TensorFlow.
  @pytest.mark.slow
  def test_table(self):
    outcome = self._runner.run('--megabytes=1', '--repeats=1')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    rows = {
      line[:30].strip(): line[30:].split()
      for line in outcome.stdout.splitlines()
    }
    self.assertEqual(rows['pipeline'], ['grouping', 'GroupByKey'])
    for title in ('clients', 'examples'):
      ours, plain = rows[title]
      self.assertEqual(ours, plain)
    self.assertLen(rows['MB a second'], 2)
    self.assertEqual(rows['time by that of GroupByKey'][1], '1.00')

  def test_bad_input(self):
    for arguments, message in (
      (('--megabytes=0',), '--megabytes=0'),
      (('--input=no/such/*',), 'matches no local file'),
      (('more',), 'Unexpected argument'),
    ):
      outcome = self._runner.run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertEqual(outcome.stdout, '')
      self.assertLen(outcome.stderr.splitlines(), 1)
      self.assertIn(message, outcome.stderr)


def _results(*seconds, peak_bytes=0, clients=1, examples=1):
  return [
    grouping_measurement.Result(
      seconds=value, peak_bytes=peak_bytes, clients=clients, examples=examples
    )
    for value in seconds
  ]


class TableTest(absltest.TestCase):
  def test_figures(self):
    ours = (
      _results(9.0, 5.0, 6.0, peak_bytes=2 * 10**9, examples=1234),
      _results(1.0, 2.0, 1.0),
    )
    plain = (_results(3.0, 3.5, 2.0, clients=7), _results(0.5, 0.5, 1.0))
    lines = grouping_throughput.table_lines(
      {False: ours, True: plain}, 30_000_000
    )
    self.assertEqual(
      lines,
      [
        ['pipeline', 'grouping', 'GroupByKey'],
        ['clients', '1', '7'],
        ['examples', '1,234', '1'],
        ['seconds', '6.0', '3.0'],
        ['of these, to start', '1.0', '0.5'],
        ['MB a second', '5.00', '10.00'],
        ['MB a second without the start', '6.00', '12.00'],
        ['time by that of GroupByKey', '2.00', '1.00'],
        ['the same without the start', '2.00', '1.00'],
        ['peak memory, MB', '2,000', '0'],
      ],
    )

  def test_nothing_but_the_start(self):
    cells = dict(
      grouping_throughput.table_lines(
        {True: (_results(1.0), _results(2.0))}, 10**6
      )
    )
    self.assertEqual(cells['MB a second'], '1.00')
    self.assertEqual(cells['MB a second without the start'], '')
    self.assertEqual(cells['the same without the start'], '')
