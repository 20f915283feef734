# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/own_clients.md and docs/pictures.md do what they say."""

import os
import pathlib
import pickle
import re
import subprocess
import sys

from fedfish_tff import datasets
from tests import fenced_code
from tests import repository
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np
import pytest

_DOCS = repository.ROOT / 'docs'
_BLOCK = re.compile(r'^```(\w+)\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_LIMIT_SECONDS = 1800


def _execute(command: list[str], folder: pathlib.Path) -> str:
  """Returns what a command prints in a folder."""
  return subprocess.run(
    command,
    cwd=folder,
    env={**os.environ, 'PYTHONPATH': str(repository.ROOT)},
    check=True,
    timeout=_LIMIT_SECONDS,
    stdout=subprocess.PIPE,
    stderr=subprocess.DEVNULL,
    text=True,
  ).stdout


class OwnDataPagesTest(temporary_folders.TestCase):
  @parameterized.parameters('own_clients.md', 'pictures.md')
  @pytest.mark.slow
  @pytest.mark.timeout(_LIMIT_SECONDS)
  def test_their_commands_give_their_numbers(self, page):
    number = re.compile(r'\d+\.\d+')
    printed = ''
    for language, block in _BLOCK.findall((_DOCS / page).read_text()):
      if language == 'text':
        shown = block.split()
        # Commands also print what the page does not show.
        found = printed.split()[-len(shown) :]
        self.assertEqual(
          [number.sub('', word) for word in found],
          [number.sub('', word) for word in shown],
        )
        # Another processor rounds otherwise.
        np.testing.assert_allclose(
          np.float64(number.findall(' '.join(found))),
          np.float64(number.findall(block)),
          atol=0.05,
        )
      elif language == 'sh':
        block = re.sub(r'\bpython -', f'{sys.executable} -', block)
        printed = _execute(['bash', '-euc', block], self.folder)
      elif 'launch' in block:
        printed = _execute([sys.executable, '-c', block], self.folder)

  def test_files_of_other_frameworks_become_arrays(self):
    x = np.arange(12.0).reshape(6, 2)
    y = np.arange(6) % 2
    pfllib = self.folder / 'PFLlib/dataset/MNIST'
    for part, rows in (('train', slice(0, 4)), ('test', slice(4, 6))):
      (pfllib / part).mkdir(parents=True)
      np.savez_compressed(
        pfllib / part / '0.npz', data={'x': x[rows], 'y': y[rows]}
      )
    fl_bench = self.folder / 'FL-bench/data/femnist'
    fl_bench.mkdir(parents=True)
    np.save(fl_bench / 'data.npy', x)
    np.save(fl_bench / 'targets.npy', y)
    indices = {'train': np.arange(4), 'test': np.arange(4, 6)}
    (fl_bench / 'partition.pkl').write_bytes(
      pickle.dumps({'data_indices': [indices]})
    )
    for code in fenced_code.read(_DOCS / 'own_clients.md', 'python'):
      if 'launch' not in code:
        _execute([sys.executable, '-c', code], self.folder)
    for folder in (pfllib, fl_bench / 'clients'):
      data = datasets.NpzFolderClientData(folder)
      for found, rows in ((data, slice(0, 4)), (data.own_test, slice(4, 6))):
        self.assertEqual(found.client_ids, ('0',))
        for array, expected in zip(found.load_client('0'), (x, y)):
          np.testing.assert_array_equal(array, expected[rows])
