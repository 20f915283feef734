# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/coming_from.md print the same figures."""

import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys

from tests import fenced_code
from tests import repository
from tests import temporary_folders

from absl.testing import parameterized
import pytest

pytestmark = pytest.mark.thorough

_PAGE = repository.ROOT / 'docs' / 'coming_from.md'
_LIMIT_SECONDS = 600


def _read_program(heading: str) -> str:
  """Returns the first block of Python under a heading of the page."""
  _, _, part = _PAGE.read_text(encoding='utf-8').partition(f'\n{heading}\n')
  return fenced_code.pattern('python').findall(part)[0]


class ComingFromTest(temporary_folders.TestCase, parameterized.TestCase):
  @parameterized.parameters(
    ('FedFish-TFF', 'fedfish_tff'),
    ('FedJAX', 'fedjax'),
    ('pfl-research', 'pfl'),
    ('Flower', 'flwr'),
    ('TFF', 'tensorflow_federated'),
  )
  @pytest.mark.timeout(_LIMIT_SECONDS)
  def test_prints_what_the_page_shows(self, name, package):
    if not importlib.util.find_spec(package):
      self.skipTest(f'{package} is not installed')
    # TFF cannot be imported alone without this package, which it pins.
    if name == 'TFF' and not importlib.util.find_spec('tensorflow_estimator'):
      self.skipTest("TFF's own pins are not installed")
    data = self.folder / 'digits.py'
    data.write_text(_read_program('## One experiment'))
    program = self.folder / 'program.py'
    program.write_text(_read_program(f'### {name}'))
    code, output, error = self._run(program)
    self.assertEqual(code, 0, error)
    accuracy, norm = re.search(
      r'accuracy ([\d.]+), \|kernel\| ([\d.]+)', output
    ).groups()
    shown = fenced_code.read(_PAGE, 'text')[0]
    expected = re.findall(r'\d\.\d+', shown)
    # A unit of the last digit: another processor rounds otherwise.
    self.assertAlmostEqual(float(accuracy), float(expected[0]), delta=0.002)
    self.assertAlmostEqual(float(norm), float(expected[1]), delta=0.0002)

  def _run(self, program: pathlib.Path) -> tuple[int, str, str]:
    """Runs a program; returns its exit code and what it wrote.

    TFF's program leaves its worker, which a pipe would wait for.
    """
    written = [self.folder / name for name in ('stdout', 'stderr')]
    with contextlib.ExitStack() as stack:
      stdout, stderr = [stack.enter_context(p.open('w')) for p in written]
      process = subprocess.Popen(
        [sys.executable, program],
        cwd=self.folder,
        env={**os.environ, 'PYTHONPATH': str(repository.ROOT)},
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
      )
      try:
        code = process.wait(timeout=_LIMIT_SECONDS)
      finally:
        with contextlib.suppress(ProcessLookupError):
          os.killpg(process.pid, signal.SIGKILL)
    return code, *(path.read_text() for path in written)
