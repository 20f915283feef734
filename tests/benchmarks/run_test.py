# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's binary prints one table."""

import os
import sys
from unittest import mock

from benchmarks import measurement
from benchmarks import peer_rounds
from benchmarks import workloads
from tests.launch import binary_runner

from absl.testing import absltest


class RunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._requests = []

  def _run(self, *arguments):
    """Runs the binary; nothing is really measured."""

    def measure(**request):
      self._requests.append(request)
      return measurement.Result(
        seconds={name: 1.0 + i for i, name in enumerate(request['rows'])},
        first_round_seconds=3.0,
        general_path_reasons=(),
      )

    with (
      mock.patch.object(
        measurement, 'in_new_process', autospec=True, side_effect=measure
      ),
      mock.patch.object(
        os, 'sched_getaffinity', autospec=True, return_value={0, 1}
      ),
    ):
      return binary_runner.run_here('benchmarks.run', *arguments)

  def test_everything(self):
    outcome = self._run()
    self.assertEqual(outcome.code, 0, outcome.stderr)
    out = outcome.stdout
    for workload in workloads.WORKLOADS.values():
      self.assertIn(f'{workload.title}, {workload.num_clients:,} clients', out)
    for row, title in workloads.ROWS.items():
      number = sum(row in w.rows for w in workloads.WORKLOADS.values())
      self.assertGreater(number, 0)
      self.assertEqual(out.count(f'\n| {title} '), number)
    self.assertLen(outcome.stderr.splitlines(), len(self._requests))
    for cores in (1, 2):
      requests = [
        r
        for r in self._requests
        if (r['workload'], r['cores']) == ('cnn', cores)
      ]
      self.assertLen(requests, workloads.WORKLOADS['cnn'].processes)
      self.assertEqual(requests[0]['rows'], workloads.WORKLOADS['cnn'].rows)
      self.assertNotIn(workloads.MEASURED_ONCE_ROW, requests[1]['rows'])

  def test_flags_choose(self):
    outcome = self._run(
      *('--workloads=softmax_1000', '--cores=2', '--clients=3'),
      *('--repeats=7', '--processes=1'),
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEqual(
      self._requests,
      [
        dict(
          workload='softmax_1000',
          num_clients=3,
          rows=workloads.WORKLOADS['softmax_1000'].rows,
          repeats=7,
          cores=2,
          task_path=None,
        )
      ],
    )
    self.assertIn('3 clients', outcome.stdout)

  def test_peers(self):
    with mock.patch.object(peer_rounds, 'measure', autospec=True) as measured:
      measured.return_value = peer_rounds.PeerResult(2.5, 'pfl 1, PyTorch 2')
      outcome = self._run(
        '--workloads=cnn',
        '--workloads=cnn_fed_fish',
        '--cores=1',
        '--processes=1',
        f'--peer=pfl={sys.executable}',
      )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    # FedFish has none.
    task_path = self._requests[0]['task_path']
    measured.assert_called_once_with('pfl', sys.executable, task_path)
    self.assertRegex(outcome.stdout, r'\n\| pfl-research +\| +2\.50 \| +2\.50')
    self.assertIn('(pfl 1, PyTorch 2)', outcome.stdout)

  def test_more_cores_than_there_are(self):
    outcome = self._run('--cores=3')
    self.assertEqual((outcome.code, outcome.stdout), (2, ''))
    self.assertIn('--cores must be at most 2', outcome.stderr)
    self.assertEmpty(self._requests)
