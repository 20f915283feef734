# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the script that changes modules and tells which tests notice."""

import os
import pathlib
import subprocess
import sys

from tests import processes
from tests import repository

from absl.testing import absltest
import pytest

pytestmark = pytest.mark.thorough

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
toy/clipping.py:9: 2 -> 3: SURVIVES 0
toy/clipping.py:9: return value * 2 -> return None: SURVIVES 0
toy/clipping.py:9: value * 2 -> value / 2: SURVIVES 0
toy/clipping.py: 7 of 7 mutants, 3 killed, 4 survive
"""


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
