# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A benchmark's table is Markdown, aligned for a terminal."""

from benchmarks import measurement
from benchmarks import report
from benchmarks import workloads

from absl.testing import absltest


def _result(first_round_seconds, reasons=(), **seconds):
  return measurement.Result(
    seconds={'cohort_keras': 8.0, 'cohort_datasets': 9.0, **seconds},
    first_round_seconds=first_round_seconds,
    general_path_reasons=reasons,
  )


def _results(**changes):
  fields = dict(
    workload=workloads.Workload(
      title='FedAvg, something', network='cnn', num_clients=1000
    ),
    by_cores={
      1: [
        _result(3.0, bare=1.0, cohort=0.5, stock=30.0),
        _result(5.0, bare=2.0, cohort=0.5),
        _result(4.0, bare=1.5, cohort=0.6),
      ],
      2: [_result(2.0, bare=0.5, cohort=0.25, stock=20.0)],
    },
  )
  return report.WorkloadResults(**{**fields, **changes})


class ReportTest(absltest.TestCase):
  def test_table(self):
    lines = [
      ['seconds', '1 core', 'ratio'],
      ['Something, 10 clients', '', ''],
      ['loop', '1.50', '1.00'],
    ]
    self.assertEqual(
      report.format_table(lines, ['A note.']),
      '| seconds                   | 1 core | ratio |\n'
      '|---------------------------|-------:|------:|\n'
      '| **Something, 10 clients** |        |       |\n'
      '| loop                      |   1.50 |  1.00 |\n'
      '\nA note.',
    )

  def test_medians_over_processes(self):
    self.assertEqual(
      report.table_lines([_results()]),
      [
        ['seconds a round', '1 core', 'ratio', '2 cores', 'ratio']
        + ['first round'],
        ['FedAvg, something, 1,000 clients', '', '', '', '', ''],
        ['bare tf.function loop', '1.50', '1.00', '0.500', '1.00', ''],
        # The median of ratios, 0.5, 0.25 and 0.4, not the ratio of medians.
        ['cohort context', '0.500', '0.40', '0.250', '0.50', '4.00'],
        ['cohort context, Keras model', '8.00', '5.33', '8.00', '16.00', ''],
        ['cohort context, new datasets', '9.00', '6.00', '9.00', '18.00', ''],
        # Measured in one process only.
        ["TFF's own runtime", '30.0', '30.00', '20.0', '40.00', ''],
      ],
    )

  def test_notes_say_fallbacks(self):
    by_cores = {1: [_result(1.0, reasons=('string maps',), bare=1.0)] * 2}
    notes = report.notes([_results(), _results(by_cores=by_cores)])
    self.assertLen([note for note in notes if 'string maps' in note], 1)
    self.assertFalse(
      any('client by client' in n for n in report.notes([_results()]))
    )
