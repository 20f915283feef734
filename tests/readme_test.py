# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The README does what it says: its Python, its commands and its links."""

from collections.abc import Sequence
import contextlib
import io
import re

from tests import fenced_code
from tests import repository
from tests.launch import binary_runner

from absl.testing import absltest
import pytest

_README = repository.ROOT / 'README.md'
_TEXT = _README.read_text(encoding='utf-8')
# At most this many lines, so that it is read.
_MAX_LINES = 130
# What `make install` does not install.
_NEEDS_MORE = ('--context=pjrt', '--context=ray')
# What takes more than ten CPU seconds.
_LONG = ('ag_news:', 'c4:', 'fed3r_digits', 'fed_ma_digits', 'keyboard:')


_COMMANDS = fenced_code.read_commands(_README)


def _has(words: list[str], parts: Sequence[str]) -> bool:
  return any(part in word for part in parts for word in words)


def _is_read(words: list[str]) -> bool:
  """Returns whether a command but trainings reads what this one writes."""
  readers = ' '.join(w for c in _COMMANDS if c[0] != 'launch.train' for w in c)
  return words[-1].partition('=')[2] in re.split('[ ,=]', readers)


class ReadmeTest(absltest.TestCase):
  def test_it_is_short(self):
    self.assertLessEqual(_TEXT.count('\n'), _MAX_LINES)

  def test_python_prints_what_it_says(self):
    self._check_python('README.md')

  @pytest.mark.thorough
  def test_the_librarys_loop_prints_what_it_says(self):
    self._check_python('docs/first_run.md')

  def _check_python(self, page):
    (code,) = fenced_code.read(repository.ROOT / page, 'python')
    expected = re.findall(r'\b0\.\d\d\b', ''.join(re.findall('#.*', code)))
    with (
      contextlib.chdir(self.create_tempdir().full_path),
      contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
      exec(code, {})
    found = re.findall(r'(?m)^0\.\d\d$', printed.getvalue())
    # Another processor rounds otherwise.
    for number, accuracy in zip(found, expected, strict=True):
      self.assertAlmostEqual(float(number), float(accuracy), delta=0.03)

  def test_targets_of_make_exist(self):
    makefile = (repository.ROOT / 'Makefile').read_text(encoding='utf-8')
    targets = re.findall(r'(?:^|`)make ([a-z-]+)', _TEXT, re.MULTILINE)
    self.assertContainsSubset(['demo', 'test', 'bench'], targets)
    for target in targets:
      self.assertRegex(makefile, rf'(?m)^{target}:')

  def test_links_lead_somewhere(self):
    for page, anchor in re.findall(r'\]\((?!https:)([^)#]*)#?([^)]*)\)', _TEXT):
      path = repository.ROOT / page if page else _README
      self.assertTrue(path.is_file(), page)
      if anchor:
        headings = re.findall(r'^#+ (.*)$', path.read_text(), re.MULTILINE)
        anchors = [
          re.sub(r'[^\w -]', '', heading).lower().replace(' ', '-')
          for heading in headings
        ]
        self.assertIn(anchor, anchors)


class CommandsTest(absltest.TestCase):
  def _run(self, commands):
    folder = self.create_tempdir().full_path
    with contextlib.chdir(folder):
      for words in commands:
        outcome = binary_runner.run_here(*words)
        self.assertEqual(outcome.code, 0, f'{words}: {outcome.stderr}')

  @pytest.mark.thorough
  def test_short_ones_run(self):
    """As far as the first evaluation; at night to their end.

    Trainings that nothing reads differ in variants, each of which trains in
    another test; `pages_test` parses their commands.
    """
    self._run(
      [*c, '--config.rounds=5'] if c[0] == 'launch.train' else c
      for c in _COMMANDS
      if not _has(c, (*_LONG, *_NEEDS_MORE))
      and (c[0] != 'launch.train' or _is_read(c))
    )

  @pytest.mark.slow
  def test_all_run(self):
    self._run(c for c in _COMMANDS if not _has(c, _NEEDS_MORE))
