# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The figures of grouping in a table."""

from launch.benchmarks import grouping_measurement
from launch.benchmarks import grouping_table

from absl.testing import absltest


def _results(*seconds, peak_bytes=0, clients=1, examples=1):
  return [
    grouping_measurement.Result(
      seconds=value, peak_bytes=peak_bytes, clients=clients, examples=examples
    )
    for value in seconds
  ]


class GroupingTableTest(absltest.TestCase):
  def test_figures(self):
    ours = grouping_table.Figures(
      results=_results(9.0, 5.0, 6.0, peak_bytes=2 * 10**9, examples=1234),
      starts=_results(1.0, 2.0, 1.0),
    )
    plain = grouping_table.Figures(
      results=_results(3.0, 3.5, 2.0, clients=7), starts=_results(0.5, 0.5, 1.0)
    )
    lines = grouping_table.table_lines(
      {
        grouping_table.Way(2, False): ours,
        grouping_table.Way(2, True): plain,
      },
      30_000_000,
    )
    self.assertEqual(
      lines,
      [
        ['processes that work', '2', '2'],
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
    figures = grouping_table.Figures(
      results=_results(1.0), starts=_results(2.0)
    )
    _, *rows = grouping_table.table_lines(
      {grouping_table.Way(1, True): figures}, 10**6
    )
    cells = dict(rows)
    self.assertEqual(cells['MB a second'], '1.00')
    self.assertEqual(cells['MB a second without the start'], '')
    self.assertEqual(cells['the same without the start'], '')


if __name__ == '__main__':
  absltest.main()
