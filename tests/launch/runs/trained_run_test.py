# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of damaged runs, and files about a split's clients."""

import dataclasses
import json
import os

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.configs import arrays
from launch.methods import config_checks
from launch.runs import trained_run
from tests import temporary_folders
from tests.launch import small_configs
from tests.launch import trained_runs

import numpy as np


class TrainedRunTest(temporary_folders.TestCase):
  def test_an_earlier_model_is_not_that_of_a_finished_run(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(self.folder / 'run')
    (workdir / 'checkpoints' / 'program_state_2.npz').unlink()
    with (
      small_configs.built_once(),
      trained_run.open_run(workdir) as (experiment, folder),
    ):
      with self.assertRaisesRegex(
        errors.InputError, 'finished, but its checkpoint of round 2'
      ):
        trained_run.load_result(experiment, folder)
      # As if it had been stopped.
      folder.summary_path.unlink()
      result = trained_run.load_result(experiment, folder)
      self.assertEqual(result.round_number, 1)

  def test_how_a_missing_best_checkpoint_is_made_again(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(self.folder / 'run')
    (workdir / 'checkpoints' / 'program_state_1.npz').unlink()
    with (
      small_configs.built_once(),
      trained_run.open_run(workdir) as (experiment, folder),
    ):
      for best, how in (
        (1, 'only launch.train --overwrite'),
        (3, 'launch.train'),
      ):
        stopping = simulation.EarlyStopping(
          'eval/a', higher_is_better=True, patience=1
        )
        stopping.observe_rows([{'round': best, 'eval/a': 1.0}])
        with self.assertRaisesRegex(
          errors.InputError,
          f'no checkpoint of round {best}, the best by eval/a; {how} makes it again',
        ):
          trained_run.load_best(experiment, folder, stopping)

  def test_the_checkpoint_of_another_run_is_none_of_its_rounds(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(self.folder / 'run')
    for round_number in (1, 2):
      path = workdir / f'checkpoints/program_state_{round_number}.npz'
      with np.load(path) as arrays:
        changed = dict(arrays)
      manifest = json.loads(str(changed['manifest']))
      manifest['run']['data_fingerprint.json'] = 'of another seed'
      np.savez(path, **changed | {'manifest': json.dumps(manifest)})
      # What vouches for the others is the last one's.
      at = {1: 'half', 2: 'last'}[round_number]
      with self.assertRaisesRegex(errors.InputError, 'another run|is not what'):
        with (
          small_configs.built_once(),
          trained_run.open_run(workdir) as (experiment, folder),
        ):
          trained_run.load_result(experiment, folder, at)

  def test_no_run_has_a_model_half_way_unless_it_keeps_one(self):
    workdir = trained_runs.fed_fish_on_digits().workdir
    with (
      small_configs.built_once(),
      trained_run.open_run(workdir) as (experiment, folder),
    ):
      self.assertEqual(
        trained_run.load_result(experiment, folder, 'half').round_number, 1
      )
      values = small_configs.with_fields(
        experiment.config.values, {'evaluation.half_way_checkpoint': False}
      )
      other = dataclasses.replace(experiment, config=config_checks.read(values))
      with self.assertRaisesRegex(
        errors.InputError, '^evaluation.half_way_checkpoint must be True'
      ):
        trained_run.load_result(other, folder, 'half')

  def test_data_are_found_where_they_were_last(self):
    data, moved, workdir = (
      self.folder / 'data',
      self.folder / 'moved',
      self.folder / 'run',
    )
    data.mkdir()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for i in range(6):
      np.savez(data / f'client{i}.npz', x=x, y=np.arange(4) % 2)
    config = arrays.get_config('fed_avg').to_dict()
    small_configs.train(
      config | {'rounds': 1, 'cohort_size': 2},
      workdir,
      data_dir=os.path.relpath(data),
    )
    with trained_run.open_run(workdir):
      pass
    data.rename(moved)
    with self.assertRaisesRegex(errors.InputError, f'{data}.* --data_dir'):
      with trained_run.open_run(workdir):
        self.fail('It was opened.')
    with trained_run.open_run(workdir, data_dir=str(moved)):
      pass
    with trained_run.open_run(workdir) as (_, opened):
      self.assertEqual(opened.read_data()['data_dir'], str(moved))

  def test_tables_of_another_split_have_its_name(self):
    (self.folder / 'evaluation').mkdir()
    for split, name in (('test', 'a.csv'), ('validation', 'validation_a.csv')):
      (path,) = trained_run.write_tables(
        self.folder, split, {'evaluation/a.csv': split.encode()}
      )
      self.assertEqual(path, self.folder / 'evaluation' / name)
      self.assertEqual(path.read_text(), split)
