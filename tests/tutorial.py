# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/, which are the parts of docs/tutorial.md.

  python -m tests.tutorial [NAME ...]

runs parts, all by default, and writes them with their outputs.
"""

from collections.abc import Sequence
import pathlib
import re
import sys
import tempfile

from tests import fenced_code
from tests import notebooks
from tests import repository

import nbformat

# By notebook, the heading of its part.
PARTS = {
  'own_model': 'Your own model',
  'own_data': 'Your own data',
  'own_method': 'Your own method',
}
_TUTORIAL = repository.ROOT / 'docs' / 'tutorial.md'
_SETUP = """\
import pathlib
import sys

# The repository, of which this is examples/; the kernel is that of its .venv.
sys.path.insert(0, str(pathlib.Path.cwd().parent))"""
_CODE = fenced_code.pattern('python')


def path_of(name: str) -> pathlib.Path:
  """Returns where a part's notebook is."""
  return repository.ROOT / 'examples' / f'{name}.ipynb'


def create_notebook(name: str) -> nbformat.NotebookNode:
  """Returns a part of the tutorial as a notebook without outputs."""
  heading = PARTS[name]
  (part,) = re.findall(
    rf'^## {heading}\n(.*?)(?=^## |\Z)', _TUTORIAL.read_text(), re.S | re.M
  )
  cells = [
    nbformat.v4.new_markdown_cell(
      f'# {heading}\n\nA part of [docs/tutorial.md](../docs/tutorial.md).'
    ),
    nbformat.v4.new_code_cell(_SETUP),
  ]
  # Texts and code in turns.
  for number, source in enumerate(_CODE.split(part)):
    if source.strip():
      create = (
        nbformat.v4.new_code_cell
        if number % 2
        else (nbformat.v4.new_markdown_cell)
      )
      cells.append(create(source.strip()))
  for number, cell in enumerate(cells):
    cell.id = f'{name}-{number}'  # Not a random one.
  return nbformat.v4.new_notebook(
    cells=cells,
    metadata={
      'kernelspec': {
        'display_name': 'Python 3',
        'language': 'python',
        'name': 'python3',
      }
    },
  )


def is_kept(output: nbformat.NotebookNode) -> bool:
  """Returns whether an output is saved: warnings name files of this machine."""
  return output.get('name') == 'stdout' and 'WARNING:' not in output.text


def main(names: Sequence[str]) -> None:
  for name in names:
    with tempfile.TemporaryDirectory(prefix='tutorial') as folder:
      notebook = notebooks.execute(create_notebook(name), pathlib.Path(folder))
    for cell in notebook.cells:
      cell.metadata.clear()  # When it ran.
      if cell.cell_type == 'code':
        cell.outputs = [o for o in cell.outputs if is_kept(o)]
    notebook.metadata.pop('language_info')
    nbformat.write(notebook, path_of(name))


if __name__ == '__main__':
  main(sys.argv[1:] or list(PARTS))
