# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tutorial's code runs, and its notebooks are what it says."""

import pathlib
import tempfile

from tests import notebooks
from tests import repository
from tests import tutorial

from absl.testing import parameterized
import nbformat
import pytest


def _code_cells(notebook):
  return [cell for cell in notebook.cells if cell.cell_type == 'code']


class NotebookTest(parameterized.TestCase):
  @parameterized.parameters(*tutorial.PARTS)
  def test_it_is_the_tutorial_with_outputs(self, name):
    notebook = nbformat.read(tutorial.path_of(name), as_version=4)
    nbformat.validate(notebook)
    expected = tutorial.create_notebook(name)
    self.assertEqual(
      [(cell.cell_type, cell.source) for cell in notebook.cells],
      [(cell.cell_type, cell.source) for cell in expected.cells],
      'python -m tests.tutorial writes the notebooks.',
    )
    outputs = [o for cell in _code_cells(notebook) for o in cell.outputs]
    self.assertNotEmpty(outputs)
    for output in outputs:
      self.assertEqual((output.output_type, output.name), ('stream', 'stdout'))
      self.assertNotIn(str(repository.ROOT), output.text)

  def test_lines_of_code_fit(self):
    for name in tutorial.PARTS:
      for cell in _code_cells(tutorial.create_notebook(name)):
        for line in cell.source.splitlines():
          self.assertLessEqual(len(line), 80, line)


@pytest.mark.slow
class ExecutionTest(parameterized.TestCase):
  @parameterized.parameters(*tutorial.PARTS)
  def test_it_runs_from_start_to_end_and_prints_the_same(self, name):
    with tempfile.TemporaryDirectory(prefix='tutorial') as folder:
      ran = notebooks.execute(
        tutorial.create_notebook(name), pathlib.Path(folder)
      )
    saved = nbformat.read(tutorial.path_of(name), as_version=4)
    for cell, expected in zip(
      _code_cells(ran), _code_cells(saved), strict=True
    ):
      # Another processor rounds otherwise: as many lines, not the same figures.
      self.assertEqual(_num_lines(cell), _num_lines(expected), cell.source)


def _num_lines(cell):
  return sum(o.text.count('\n') for o in cell.outputs if tutorial.is_kept(o))
