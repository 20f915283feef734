# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of frames of runs, and of reading and checking tables."""

import dataclasses
import json

from fedfish_tff import errors
from launch import results
from launch.results import checked_tables
from launch.results import frames
from launch.results import method_comparison
from tests import temporary_folders
from tests.launch.results import fake_runs

from absl.testing import absltest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np


class LabelTest(absltest.TestCase):
  def test_first_seeds_are_no_difference_of_methods(self):
    seeds = {'fed_avg': range(3), 'fed_fish': range(1, 4)}
    runs = [fake_runs.make_run(a, s) for a, of in seeds.items() for s in of]
    self.assertEqual([*fake_runs.frames(runs).groups()], ['FedAvg', 'FedFish'])

  def test_a_name_replaces_the_first_words_that_it_is_of(self):
    runs = [
      fake_runs.make_setting_run(*of, local_epochs=epochs)
      for of in (('fed_avg',), ('fed_fish',))
      for epochs in (1, 4)
    ]
    read = frames.join(map(fake_runs.to_run, runs))
    names = {'FedFish': 'Ours', 'FedFish, 4 local epochs': 'Long'}
    found = frames.label(dataclasses.replace(read, names=names))
    self.assertEqual(
      list(found.groups()),
      [
        'FedAvg, 1 local epoch',
        'FedAvg, 4 local epochs',
        'Ours, 1 local epoch',
        'Long',
      ],
    )

  def test_synthetic_data_are_another_task(self):
    real = fake_runs.make_run(seed=1)
    synthetic = dataclasses.replace(
      fake_runs.make_run(seed=2), synthetic='generated pages'
    )
    groups = fake_runs.frames([real, synthetic]).groups()
    self.assertLen(groups, 2)
    self.assertIn('generated pages', list(groups)[1])
    self.assertEmpty(method_comparison.pair_methods(groups).compared)


class FramesTest(absltest.TestCase):
  def test_points_are_at_the_rounds_of_all_seeds(self):
    late = fake_runs.make_run(seed=1)
    late = dataclasses.replace(
      late, columns={name: of[1:] for name, of in late.columns.items()}
    )
    without = fake_runs.make_run(seed=2)
    without.columns['train/loss'][:] = np.nan
    found = fake_runs.frames([fake_runs.make_run(), late, without])
    xs, ys = frames.points(found, 'compute/local_steps_total', 'train/loss')
    np.testing.assert_allclose(xs, [402, 603])
    np.testing.assert_allclose(ys, [[1 / 2, 1 / 3]] * 2)


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


_CONTENT = b'client_id,round\nann,3\n'

_ROWS = [(2, {'client_id': 'ann', 'round': '3'})]


class CheckedTablesTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.run = self.folder
    (self.run / 'config.json').write_text('{"seed": 0}')
    folder = self.run / 'evaluation'
    folder.mkdir()
    self.path = folder / 'clients.csv'
    self.other = folder / 'other.csv'
    self.digests = folder / checked_tables.FILE_NAME

  @given(st.data())
  @settings(max_examples=100, deadline=None)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    checked_tables.write_tables({self.path: _CONTENT})
    file = data.draw(st.sampled_from([self.path, self.digests]))
    damaged = bytearray(file.read_bytes())
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    file.write_bytes(damaged)
    with self.assertRaisesRegex(errors.InputError, f'{self.path.parent}'):
      checked_tables.read_table(self.path, ['round'])

  def test_tables_that_are_written_later_leave_the_others_checked(self):
    checked_tables.write_tables({self.path: _CONTENT})
    checked_tables.write_tables({self.other: b'a\n1\n'})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)
    self.assertEqual(
      checked_tables.read_table(self.other, ['a']), [(2, {'a': '1'})]
    )
    self.path.write_bytes(_CONTENT.replace(b'3', b'4'))
    with self.assertRaises(errors.InputError):
      checked_tables.read_table(self.path, ['round'])

  def test_what_is_written_anew_mends_damaged_digests(self):
    checked_tables.write_tables({self.path: _CONTENT})
    self.digests.write_bytes(b'{')
    checked_tables.write_tables({self.path: _CONTENT})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)

  def test_the_tables_of_another_run(self):
    checked_tables.write_tables({self.path: b'other', self.other: b'other'})
    (self.run / 'config.json').write_text('{"seed": 1}')
    with self.assertRaisesRegex(errors.InputError, 'for this run; write it'):
      checked_tables.read_table(self.path, ['round'])
    checked_tables.write_tables({self.path: _CONTENT})
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)

  def test_a_table_from_elsewhere_is_taken(self):
    self.path.write_bytes(_CONTENT)
    self.assertEqual(checked_tables.read_table(self.path, ['round']), _ROWS)

  def test_what_is_not_finite_has_diverged_and_is_not_missing(self):
    self.path.write_bytes(b'client_id,score\na,0.5\nb,\nc,nan\nd,-inf\n')
    found = checked_tables.read_frame(self.path, {'client_id': str})
    np.testing.assert_array_equal(found['score'], [0.5, np.nan, np.inf, np.inf])
    self.path.write_bytes(b'client_id,score\n')
    found = checked_tables.read_frame(self.path, {'client_id': str})
    self.assertEqual(list(found), ['client_id'])
