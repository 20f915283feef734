# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tables and the figure of docs/frames.md."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

from tests import fenced_code
from tests import repository
from tests import temporary_folders
from tests.launch.results import fake_runs

import numpy as np
import pytest

_PAGE = repository.ROOT / 'docs' / 'frames.md'
_LIMIT_SECONDS = 1800


def _numbers(text: str) -> list[float]:
  return [float(number) for number in re.findall(r'\d\.\d+', text)]


class FramesPageTest(temporary_folders.TestCase):
  def _execute(self) -> tuple[dict, str]:
    """Returns the variables of the page's Python, and what it prints."""
    code = '\n'.join(fenced_code.read(_PAGE, 'python'))
    variables = {}
    with (
      contextlib.chdir(self.folder),
      contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
      exec(code, variables)
    return variables, printed.getvalue()

  def test_it_computes_what_its_heads_say(self):
    accuracies = np.random.default_rng(0).uniform(0.1, 1, (2, 2, 23))
    for i, algorithm in enumerate(('fed_avg', 'fed_fish')):
      for seed in (0, 1):
        workdir = self.folder / 'runs/fairness' / f'{algorithm}_{seed}'
        fake_runs.write_workdir(workdir, algorithm, seed)
        clients = {
          f'client_{j}': {'global/accuracy': accuracy}
          for j, accuracy in enumerate(accuracies[i, seed])
        }
        fake_runs.write_clients(workdir, clients, fake_runs.ROUNDS[-1])
    variables, printed = self._execute()
    squares = (accuracies**2).mean(axis=-1)
    # Of 23 clients, three are the worst tenth.
    expected = {
      'deviation': accuracies.std(axis=-1),
      'worst_tenth': np.sort(accuracies, axis=-1)[..., :3].mean(axis=-1),
      'jain': accuracies.mean(axis=-1) ** 2 / squares,
    }
    for name, values in expected.items():
      found = variables['fairness'][name].to_numpy()
      np.testing.assert_allclose(found, values.ravel(), err_msg=name)
    self.assertTrue((self.folder / 'runs' / 'accuracy.pdf').exists())
    curves = variables['curves']['mean'].unstack('label').round(12)
    self.assertEqual(list(curves.index), list(fake_runs.ROUNDS))
    for label, algorithm in (('FedAvg', 'fed_avg'), ('FedFish', 'fed_fish')):
      columns = [
        fake_runs.make_run(algorithm, seed).columns['eval/global/accuracy']
        for seed in (0, 1)
      ]
      np.testing.assert_allclose(curves[label], np.mean(columns, axis=0))
    shown = '\n'.join(fenced_code.read(_PAGE, 'text'))
    self.assertEqual(
      re.findall(r'[A-Za-z_]+', printed), re.findall(r'[A-Za-z_]+', shown)
    )

  @pytest.mark.slow
  @pytest.mark.timeout(_LIMIT_SECONDS)
  def test_its_commands_give_its_numbers(self):
    (commands,) = fenced_code.read(_PAGE, 'sh')
    python = pathlib.Path(sys.executable)
    subprocess.run(
      ['bash', '-euc', commands.replace('python -m', f'{python} -m')],
      cwd=self.folder,
      env={**os.environ, 'PYTHONPATH': str(repository.ROOT)},
      check=True,
      timeout=_LIMIT_SECONDS,
      stdout=subprocess.DEVNULL,
    )
    _, printed = self._execute()
    shown = '\n'.join(fenced_code.read(_PAGE, 'text'))
    # Another processor rounds otherwise.
    np.testing.assert_allclose(_numbers(printed), _numbers(shown), atol=0.03)
