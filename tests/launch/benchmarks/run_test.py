# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark's binary prints one table."""

import contextlib
import io
import pathlib
from unittest import mock

from launch import cli
from launch.benchmarks import markdown_file
from launch.benchmarks import measurement
from launch.benchmarks import plan
from launch.benchmarks import run

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver


def _measure(request):
  """Makes up a result."""
  return measurement.Result(
    seconds={name: 1.0 + i for i, name in enumerate(request.rows)},
    first_round_seconds=3.0,
    peak_bytes=request.num_clients * 10**6,
    general_path_reasons=(),
  )


class RunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    if not flags.FLAGS.is_parsed():
      flags.FLAGS.mark_as_parsed()
    self._requests = []

  def _call(self, **flag_values):
    """Returns (exit code, stdout, stderr); nothing is really measured."""

    def measure(request):
      self._requests.append(request)
      return _measure(request)

    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
      flagsaver.flagsaver(**flag_values),
      mock.patch.object(
        measurement, 'measure_in_child', autospec=True, side_effect=measure
      ),
      mock.patch.object(
        measurement, 'available_cores', autospec=True, return_value=[0, 1]
      ),
      contextlib.redirect_stdout(out),
      contextlib.redirect_stderr(err),
    ):
      try:
        cli.call(run.main, ['run'])
      except SystemExit as error:
        code = error.code
    return code, out.getvalue(), err.getvalue()

  def test_everything(self):
    code, out, err = self._call()
    self.assertEqual(code, 0, err)
    plans = [p for p in plan.PLANS.values() if p.by_default]
    for p in plans:
      self.assertIn(f'{p.title}, {p.num_clients:,} clients', out)
    for title in plan.ROWS.values():
      self.assertEqual(out.count(f'\n{title}  '), len(plans))
    self.assertIn('100 clients 100 MB, 1,000 clients 1,000 MB', out)
    self.assertLen(err.splitlines(), len(self._requests))
    for cores in (1, 2):
      requests = [
        r for r in self._requests if r.workload == 'cnn' and r.cores == cores
      ]
      self.assertLen(requests, plan.PLANS['cnn'].processes)
      self.assertEqual(requests[0].rows, tuple(plan.ROWS))
      self.assertNotIn(plan.MEASURED_ONCE_ROW, requests[1].rows)

  def test_flags_choose_and_markdown_is_written(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'speed.md')
    code, out, err = self._call(
      workloads=['softmax_1000'],
      cores=[2],
      clients=3,
      repeats=7,
      processes=1,
      markdown=str(path),
    )
    self.assertEqual(code, 0, err)
    (request,) = self._requests
    self.assertEqual((request.num_clients, request.repeats), (3, 7))
    self.assertEqual(request.cores, 2)
    self.assertIn('3 clients', out)
    self.assertIn('| cohort context |', path.read_text())

  def test_tokens(self):
    code, out, err = self._call(workloads=['transformer'], cores=[1])
    self.assertEqual(code, 0, err)
    p = plan.PLANS['transformer']
    for request in self._requests:
      self.assertEqual(request.num_examples, p.num_examples)
      self.assertNotIn('cohort_keras', request.rows)
    # The made-up yardstick takes one second.
    tokens = p.num_clients * p.num_examples * p.tokens_per_example
    self.assertRegex(out, rf'bare tf.function\s+loop\s+{tokens:,}\s+\(1 core\)')

  def test_bad_input(self):
    path = pathlib.Path(self.create_tempdir().full_path, 'mine.md')
    path.write_text('My own notes.\n')
    for name, flag_values in {
      'cores': dict(cores=[3]),
      markdown_file.END: dict(markdown=str(path)),
    }.items():
      code, out, err = self._call(**flag_values)
      self.assertEqual((code, out), (2, ''))
      self.assertLen(err.splitlines(), 1)
      self.assertIn(name, err)
    self.assertEmpty(self._requests)
    self.assertEqual(path.read_text(), 'My own notes.\n')


if __name__ == '__main__':
  absltest.main()
