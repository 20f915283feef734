# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the scripts that run tests many times and change modules."""

import os
import pathlib
import re
import subprocess
import sys

from tests import processes
from tests import repository

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest
from scipy import stats

# Passes, then fails, then hangs; `runs` is a file beside it.
_TEST = """
import pathlib, time

def test_now_and_then():
  runs = pathlib.Path(__file__).with_name('runs')
  with runs.open('a') as file:
    file.write('.')
  number = runs.stat().st_size
  assert number != 2, 'the second'
  time.sleep(600 * (number == 3))
"""


@pytest.mark.thorough
class TestFlakyTest(absltest.TestCase):
  def _run(self, *arguments, **variables):
    folder = self.create_tempdir().full_path
    return subprocess.run(
      [sys.executable, repository.ROOT / '.ci' / 'test_flaky.py', *arguments],
      env=os.environ
      | {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'TMPDIR': folder}
      | variables,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      timeout=processes.HANG_SECONDS,
    )

  def test_failures_and_hangs_are_told_and_kept(self):
    test = self.create_tempfile('x_test.py', _TEST).full_path
    result = self._run(test, TIMES='3', LIMIT='15')
    self.assertEqual(result.returncode, 1)
    self.assertEndsWith(result.stdout, '2 of 3 runs failed.\n')
    logs = re.findall(r'Run (\d) failed: (.*)', result.stdout)
    self.assertEqual([number for number, _ in logs], ['2', '3'])
    second, third = (pathlib.Path(path).read_text() for _, path in logs)
    self.assertIn('AssertionError: the second', second)
    self.assertIn('in test_now_and_then', third)  # Where it hung.
    self.assertEndsWith(third, 'Not done within 15 seconds.\n')

  def test_asks_for_tests(self):
    self.assertEqual(self._run().returncode, 2)


_MODULE = """
def clip(value: float, low: float = 0.0) -> float:
  if value < low:
    return low
  return value


def unused(value):
  return value * 2
"""

_TESTS = """
from toy import clipping

def test_low():
  assert clipping.clip(-1.0) == 0

def test_within():
  assert clipping.clip(0.5) == 0.5
"""

_LOW, _WITHIN = (
  f'  tests/toy/clipping_test.py::test_{name}' for name in ('low', 'within')
)

_EXPECTED = f"""\
toy/clipping.py:2: 0.0 -> 1.0: killed by 2
{_LOW}
{_WITHIN}
toy/clipping.py:3: value < low -> value <= low: SURVIVES 2
toy/clipping.py:4: return low -> return None: killed by 1
{_LOW}
toy/clipping.py:5: return value -> return None: killed by 1
{_WITHIN}
toy/clipping.py:9: 2 -> 3: met by no test
toy/clipping.py:9: return value * 2 -> return None: met by no test
toy/clipping.py:9: value * 2 -> value / 2: met by no test
toy/clipping.py: 7 of 7 mutants, 3 killed, 4 survive
"""


@pytest.mark.thorough
class MutateTest(absltest.TestCase):
  def test_mutants_are_told_with_the_tests_that_kill_them(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    module = root / 'toy' / 'clipping.py'
    tests = root / 'tests' / 'toy' / 'clipping_test.py'
    for path, text in ((module, _MODULE), (tests, _TESTS)):
      path.parent.mkdir(parents=True)
      path.write_text(text)
    script = repository.ROOT / '.ci' / 'mutate.py'
    result = subprocess.run(
      [sys.executable, script, 'toy/clipping.py'],
      cwd=root,
      env=os.environ | {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1'},
      capture_output=True,
      text=True,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(result.stdout, _EXPECTED, result.stderr)
    self.assertEqual(module.read_text(), _MODULE)


compare_commits = repository.load_script('.ci/compare_commits.py')


def _processes(factor):
  """Makes four pairs of processes, the second of each `factor` times as slow."""
  rng = np.random.default_rng(0)
  return [
    rng.uniform(0.99, 1.01, size=[5, 2, 2]) * [[1.0, 1.0], [factor, 1.0]]
    for _ in range(4)
  ]


class CompareCommitsTest(parameterized.TestCase):
  def test_interval_is_students(self):
    ratios = [1.1, 1.3, 0.9, 1.2]
    logs = np.log(ratios)
    low, high = stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs))
    np.testing.assert_allclose(
      compare_commits.interval(ratios),
      [stats.gmean(ratios), np.exp(low), np.exp(high)],
    )

  @parameterized.parameters((1.85, 'slower'), (1.0, ''), (0.7, 'faster'))
  def test_verdict(self, factor, verdict):
    cells = compare_commits.describe('CNN', _processes(factor)).split(' | ')
    self.assertAlmostEqual(float(cells[2].split()[0]), factor, delta=0.03)
    self.assertAlmostEqual(float(cells[3].split()[0]), 1.0, delta=0.03)
    self.assertEqual(cells[4].rstrip(' |'), verdict)
