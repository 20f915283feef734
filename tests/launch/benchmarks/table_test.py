# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The table's figures."""

# bazel: tags = ['smoke']

from launch.benchmarks import measurement
from launch.benchmarks import table

from absl.testing import absltest


def _result(first_round_seconds=None, reasons=(), **seconds):
  return measurement.Result(
    seconds=seconds,
    first_round_seconds=first_round_seconds,
    peak_bytes=0,
    general_path_reasons=reasons,
  )


def _results(**changes):
  fields = dict(
    title='FedAvg, something',
    num_clients=1000,
    by_cores={
      1: [
        _result(3.0, bare=1.0, cohort=0.5, stock=30.0),
        _result(5.0, bare=2.0, cohort=0.5),
        _result(4.0, bare=1.5, cohort=0.6),
      ],
      2: [_result(2.0, bare=0.5, cohort=0.25)],
    },
    peak_bytes={100: 500_000_000, 1000: 510_400_000},
  )
  return table.WorkloadResults(**{**fields, **changes})


class TableTest(absltest.TestCase):
  def test_medians_over_processes(self):
    self.assertEqual(
      table.table_lines([_results()]),
      [
        ['seconds a round', '1 core', 'ratio', '2 cores', 'ratio']
        + ['first round'],
        ['FedAvg, something, 1,000 clients', '', '', '', '', ''],
        ['bare tf.function loop', '1.50', '1.00', '0.500', '1.00', ''],
        # The median of ratios, 0.5, 0.25 and 0.4, not the ratio of medians.
        ['cohort context', '0.500', '0.40', '0.250', '0.50', '4.00'],
        ["TFF's own runtime", '30.0', '30.00', '', '', ''],
      ],
    )

  def test_notes_say_peak_memory_and_fallbacks(self):
    by_cores = {1: [_result(reasons=('string maps',), bare=1.0)] * 2}
    notes = table.notes([_results(), _results(by_cores=by_cores)])
    peaks = [note for note in notes if '100 clients 500 MB' in note]
    self.assertIn('1,000 clients 510 MB', peaks[0])
    self.assertLen([note for note in notes if 'string maps' in note], 1)
    self.assertFalse(
      any('client by client' in n for n in table.notes([_results()]))
    )

  def test_notes_say_tokens_a_second(self):
    notes = table.notes([_results(tokens_per_client=30)])
    (rates,) = (note for note in notes if note.startswith('Tokens'))
    self.assertIn(
      'bare tf.function loop 20,000 (1 core), 60,000 (2 cores); cohort context '
      "60,000 (1 core), 120,000 (2 cores); TFF's own runtime 1,000 (1 core).",
      rates,
    )
    self.assertFalse(any('Tokens' in n for n in table.notes([_results()])))

  def test_formats(self):
    lines = table.table_lines([_results()])
    text = table.format_text(lines, ['A note.'])
    header, empty, title, bare, *_ = text.splitlines()
    self.assertEqual(empty, '')
    self.assertEqual(title, 'FedAvg, something, 1,000 clients')
    self.assertEqual(bare.index('1.50') + 4, header.index('1 core') + 6)
    self.assertTrue(text.endswith('\n\nA note.'))
    markdown = table.format_markdown(lines, ['A note.'], 'make it')
    rows = [line for line in markdown.splitlines() if line.startswith('|')]
    self.assertLen({row.count('|') for row in rows}, 1)
    self.assertIn('`make it`', markdown)
    self.assertIn('| **FedAvg, something, 1,000 clients** |', markdown)
    self.assertTrue(markdown.endswith('\n\nA note.'))


if __name__ == '__main__':
  absltest.main()
