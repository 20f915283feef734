# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A LaTeX document with a table compiles, and its columns fit a page."""

import re
import shutil
import subprocess
import textwrap

from launch.results import result_table
from launch.results import text_table
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps

import pytest

pytestmark = pytest.mark.thorough

_DOCUMENT = r"""
\documentclass{article}
\usepackage{booktabs}
\begin{document}
\begin{table}
\centering
\input{table}
\caption{A caption.}
\end{table}
\end{document}
"""


class LatexTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    if shutil.which('pdflatex') is None:
      self.skipTest('There is no pdflatex; texlive-latex-base has it.')

  def _compile(self, table):
    """Returns the log of a document with the table."""
    text = text_table.to_latex('A title & more', table)
    (self.folder / 'table.tex').write_text(text, encoding='utf-8')
    (self.folder / 'a.tex').write_text(_DOCUMENT)
    done = subprocess.run(
      ['pdflatex', '-interaction=nonstopmode', '-halt-on-error', 'a.tex'],
      cwd=self.folder,
      capture_output=True,
      text=True,
      timeout=120,
    )
    self.assertEqual(done.returncode, 0, textwrap.indent(done.stdout, '  '))
    self.assertTrue((self.folder / 'a.pdf').exists())
    return done.stdout

  def test_a_table_of_a_sweep(self):
    runs = fake_sweeps.grid(
      ['fed_avg', 'fed_fish', 'scaffold'], local_epochs=(1, 8), seed=range(3)
    )
    values = [0.1 + 0.01 * i for i in range(len(runs))]
    values[-3:] = [None, None, 0.5]
    each = [
      {
        'test': value,
        'more_test': {
          'global/accuracy_worst_tenth': value,
          'personalized/accuracy': value,
        },
      }
      for value in values
    ]
    _, found = fake_sweeps.write_results(self, runs, values, each)
    table = result_table.of_sweep(found)
    self.assertLen(table.rows, 7)
    log = self._compile(table)
    # It is not wider than the text of a page.
    self.assertEmpty(re.findall('Overfull .hbox', log), log)

  def test_names_of_a_stranger(self):
    evil = r'\input{/etc/passwd} $ & % # _ { } ~ ^ < > | [x] * ä é ± –'
    rows = [['Method', 'A'], [evil, '0.5 ± 0.1'], ['[a]', '1']]
    log = self._compile(text_table.Table([evil], rows, [(1, 1)], num_left=1))
    self.assertNotIn('passwd', log)
