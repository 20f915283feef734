# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of reading runs into data frames."""

import json

from fedfish_tff import errors
from launch import results
from tests import temporary_folders
from tests.launch.results import fake_runs

import numpy as np


class ReadTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.runs = self.folder / 'runs'
    for algorithm in ('fed_avg', 'fed_fish'):
      for seed in (0, 1):
        fake_runs.write_workdir(
          self.runs / f'{algorithm}_{seed}', algorithm, seed, evaluated=True
        )

  def test_runs_rounds_and_clients(self):
    (self.runs / 'notes').mkdir()
    (self.runs / 'notes.txt').write_text('x')
    frames = results.read(f'{self.runs}/*')
    self.assertEqual(
      list(zip(frames.runs['label'], frames.runs['seed'])),
      [('FedAvg', 0), ('FedAvg', 1), ('FedFish', 0), ('FedFish', 1)],
    )
    accuracy = frames.rounds['eval/global/accuracy'].groupby('run').last()
    np.testing.assert_allclose(accuracy, [0.6, 0.61, 0.7, 0.71])
    clients = frames.clients.join(frames.runs[['label', 'seed']], on='run')
    of_one = clients[(clients['label'] == 'FedFish') & (clients['seed'] == 1)]
    np.testing.assert_allclose(
      of_one['after/accuracy'].dropna(), 0.51 + 0.05 * np.arange(5)
    )

  def test_paths_and_the_folder_of_a_sweep(self):
    sweep = self.folder / 'sweep'
    planned = {}
    for name in ('fed_avg_0', 'fed_fish_0'):
      (sweep / 'runs').mkdir(parents=True, exist_ok=True)
      (self.runs / name).rename(sweep / 'runs' / name)
      config = json.loads((sweep / 'runs' / name / 'config.json').read_text())
      planned[name] = {
        'variant': '',
        'fields': {},
        'config': config,
        'method': fake_runs.make_label(config),
      }
    # One that has not begun.
    planned['later'] = planned['fed_avg_0']
    (sweep / 'sweep.json').write_text(
      json.dumps({'config': 'a.py:b', 'runs': planned})
    )
    for paths in ([sweep], [f'{self.folder}/sw*'], [sweep, sweep]):
      self.assertLen(results.read(*paths).runs, 2)
    frames = results.read(sweep, self.runs / 'fed_avg_1')
    self.assertLen(frames.runs, 3)

  def test_paths_without_a_run(self):
    with self.assertRaisesRegex(errors.InputError, 'got .*nothing'):
      results.read(f'{self.folder}/nothing*')
    with self.assertRaisesRegex(errors.InputError, 'config.json'):
      results.read(self.folder)
