# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's binary prints one table."""

import pathlib
import sys
from unittest import mock

from launch.benchmarks import markdown_file
from launch.benchmarks import measurement
from launch.benchmarks import peer_rounds
from launch.benchmarks import workloads
from tests.launch import binary_runner

from absl.testing import absltest


def _measure(name, *, num_clients, rows, **unused_kwargs):
  """Makes up a result."""
  return measurement.Result(
    seconds={name: 1.0 + i for i, name in enumerate(rows)},
    first_round_seconds=3.0,
    peak_bytes=num_clients * 10**6,
    general_path_reasons=(),
  )


class RunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._requests = []

  def _run(self, *arguments):
    """Runs the binary; nothing is really measured."""

    def measure(name, **kwargs):
      self._requests.append({'name': name, **kwargs})
      return _measure(name, **kwargs)

    with (
      mock.patch.object(
        measurement, 'measure_in_child', autospec=True, side_effect=measure
      ),
      mock.patch.object(
        measurement, 'available_cores', autospec=True, return_value=[0, 1]
      ),
    ):
      return binary_runner.run_here('launch.benchmarks.run', *arguments)

  def test_everything(self):
    outcome = self._run()
    self.assertEqual(outcome.code, 0, outcome.stderr)
    out = outcome.stdout
    measured = [w for w in workloads.WORKLOADS.values() if w.by_default]
    for workload in measured:
      self.assertIn(f'{workload.title}, {workload.num_clients:,} clients', out)
    for title in workloads.ROWS.values():
      self.assertEqual(out.count(f'\n{title}  '), len(measured))
    self.assertIn('100 clients 100 MB, 1,000 clients 1,000 MB', out)
    self.assertLen(outcome.stderr.splitlines(), len(self._requests))
    for cores in (1, 2):
      requests = [
        r for r in self._requests if (r['name'], r['cores']) == ('cnn', cores)
      ]
      self.assertLen(requests, workloads.WORKLOADS['cnn'].processes)
      self.assertEqual(requests[0]['rows'], list(workloads.ROWS))
      self.assertNotIn(workloads.MEASURED_ONCE_ROW, requests[1]['rows'])

  def test_a_language_model_has_tokens_and_no_keras_row(self):
    out = self._run('--workloads=transformer', '--cores=1').stdout
    self.assertNotIn(workloads.ROWS['cohort_keras'], out.split('\n\n')[0])
    # 8 clients of 16 examples of 128 tokens, in 1 second.
    self.assertIn('bare tf.function loop 16,384 (1 core)', out)

  def test_flags_choose_and_markdown_is_written(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'speed.md')
    arguments = '--workloads=softmax_1000', '--cores=2', '--clients=3'
    arguments += '--repeats=7', '--processes=1'
    outcome = self._run(*arguments, f'--markdown={path}')
    self.assertEqual(outcome.code, 0, outcome.stderr)
    (request,) = self._requests
    self.assertEqual(
      request,
      dict(
        name='softmax_1000',
        num_clients=3,
        rows=list(workloads.ROWS),
        repeats=7,
        cores=2,
        task_path='',
      ),
    )
    self.assertIn('3 clients', outcome.stdout)
    text = path.read_text()
    self.assertIn('| cohort context |', text)
    self.assertIn(f"`make bench ARGS='{' '.join(arguments)}'` printed:", text)

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
    self.assertRegex(outcome.stdout, r'\npfl-research +2\.50 +2\.50')
    self.assertIn('(pfl 1, PyTorch 2)', outcome.stdout)

  def test_bad_input(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'mine.md')
    path.write_text('My own notes.\n')
    for argument, message in (
      ('--cores=3', 'cores'),
      (f'--markdown={path}', markdown_file.END),
    ):
      outcome = self._run(argument)
      self.assertEqual((outcome.code, outcome.stdout), (2, ''))
      self.assertLen(outcome.stderr.splitlines(), 1)
      self.assertIn(message, outcome.stderr)
    self.assertEmpty(self._requests)
    self.assertEqual(path.read_text(), 'My own notes.\n')
