# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/first_day.md does what it says: its files and commands, elsewhere."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from launch.results import seed_table
from tests import repository

from absl.testing import absltest
import numpy as np
import pytest

pytestmark = pytest.mark.slow

_DOC = repository.ROOT / 'docs' / 'first_day.md'
# To install and to run; the runs take two minutes.
_LIMIT_SECONDS = 3000
# The files that build the wheel, beside the packages.
_SOURCES = (
  'CITATION.cff',
  'LICENSE',
  'README.md',
  'fedfish_tff_first.py',
  'pyproject.toml',
  'setup.py',
)
# What every run has of a metric, in words of summary.json and of a table.
_COLUMN = r'\shortstack[r]{Test accuracy, \\ global model}'


def _read_doc() -> tuple[dict[str, str], str, list[str]]:
  """Returns the document's files by name, its commands, and their outputs."""
  files, commands, shown = {}, [], []
  text = _DOC.read_text(encoding='utf-8')
  for before, kind, block in re.findall(
    r'(?:(\S+)\n\n)?^```(\w+)\n(.*?)^```$', text, re.M | re.S
  ):
    if kind == 'python':
      files[re.fullmatch(r'`(\w+\.py)`:', before)[1]] = block
    elif kind == 'sh':
      commands.append(block)
    else:
      shown.append(block)
  return files, ''.join(commands), shown


def _without_numbers(text: str) -> str:
  """Returns a text of which another processor prints the same."""
  return re.sub(r'\d+\.\d+', '0.0', text)


def _environment(folder: pathlib.Path) -> dict[str, str]:
  """Returns one that has this CPython, and nothing of this repository."""
  python = folder / 'bin' / 'python3'
  python.parent.mkdir()
  python.symlink_to(sys._base_executable)
  kept = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(('PYTHON', 'VIRTUAL_ENV'))
  }
  return kept | {'PATH': f'{python.parent}{os.pathsep}{os.environ["PATH"]}'}


@pytest.mark.timeout(3600)
class FirstDayTest(absltest.TestCase):
  def test_it_goes_as_it_is_written(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    # setuptools writes into the tree it builds: build a copy.
    checkout = root / 'checkout'
    checkout.mkdir()
    for name in _SOURCES:
      shutil.copy(repository.ROOT / name, checkout)
    for name in ('examples', 'fedfish_tff', 'launch', 'tasks'):
      shutil.copytree(repository.ROOT / name, checkout / name)
    day = root / 'day'
    day.mkdir()
    for name in ('build.lock', 'today.lock'):
      shutil.copy(repository.ROOT / 'requirements' / name, day)
    environment = _environment(root)
    subprocess.run(
      ['python3', '-m', 'pip', 'wheel', '--no-deps', f'--wheel-dir={day}']
      + ['.'],
      cwd=checkout,
      env=environment,
      check=True,
      timeout=_LIMIT_SECONDS,
    )
    shutil.rmtree(checkout)
    files, commands, shown = _read_doc()
    self.assertLen(files, 3)
    for name, text in files.items():
      (day / name).write_text(text, encoding='utf-8')
    out = subprocess.run(
      ['bash', '-euc', commands],
      cwd=day,
      env=environment,
      stdout=subprocess.PIPE,
      text=True,
      check=True,
      timeout=_LIMIT_SECONDS,
    ).stdout
    for block in shown:
      self.assertIn(_without_numbers(block), _without_numbers(out))
    self._check_first_runs(day / 'runs' / 'digits', day / 'runs' / 'warm')
    self._check_table(day / 'runs' / 'comparison')
    self.assertTrue((day / 'runs/bounded/evaluation/clients.csv').exists())
    captions = (day / 'paper' / 'captions.txt').read_text(encoding='utf-8')
    self.assertIn('8 seeds: lines are their means', captions)
    figures = list((day / 'figures').glob('*.pdf'))
    self.assertIn(
      'eval_global_accuracy_by_round.pdf', [f.name for f in figures]
    )
    for figure in figures:
      self.assertStartsWith(figure.read_bytes(), b'%PDF-')

  def _check_first_runs(self, run: pathlib.Path, warm: pathlib.Path) -> None:
    """Checks that a run went on, and that another began with its model."""
    rows = []
    for workdir in (run, warm):
      with open(workdir / 'metrics.csv', encoding='utf-8') as file:
        rows.append(list(csv.DictReader(file)))
    self.assertEqual(
      [row['round'] for row in rows[0]], list(map(str, range(11)))
    )
    column = 'eval/global/accuracy'
    self.assertEqual(rows[1][0][column], rows[0][-1][column])

  def _check_table(self, sweep: pathlib.Path) -> None:
    """Compares table.tex with the runs, and those with their metrics.csv."""
    scores = {}
    for workdir in (sweep / 'runs').iterdir():
      summary = json.loads((workdir / 'summary.json').read_text())
      config = json.loads((workdir / 'config.json').read_text())
      with open(workdir / 'metrics.csv', encoding='utf-8') as file:
        *_, last = csv.DictReader(file)
      self.assertEqual(last['round'], str(config['rounds']))
      self.assertEqual(
        float(last['eval/global/accuracy']),
        summary['final']['eval/global/accuracy'],
      )
      bound = config['algorithm'].get('bound')
      row = 'FedAvg' if bound is None else f'Bounded FedAvg {bound:g}'
      scores.setdefault(row, []).append(summary['test']['global/accuracy'])
    self.assertLen(scores, 3)
    lines = (sweep / 'table.tex').read_text(encoding='utf-8').splitlines()
    head, *rows = (
      [cell.strip() for cell in line.removesuffix(r' \\').split(' & ')]
      for line in lines
      if line.endswith(r' \\')
    )
    shown = {
      f'{row[0]} {row[1]}'.strip().replace(r'\_', '_'): row[head.index(_COLUMN)]
      for row in rows
    }
    self.assertEqual(
      shown,
      {
        row: seed_table.format_number(np.mean(s), np.std(s, ddof=1)).replace(
          '±', r'$\pm$'
        )
        for row, s in scores.items()
      },
    )
