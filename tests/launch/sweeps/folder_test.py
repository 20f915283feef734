# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of opening a sweep's folder."""

import os

from fedfish_tff import errors
from launch.results import sweep_folder
from launch.sweeps import folder as folder_lib
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps


class SweepFolderTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'sweep'
    self.runs = fake_sweeps.grid(['fed_avg'], seed=(0, 1))

  def _open(self, runs):
    return fake_sweeps.write_sweep(self.path, runs)

  def _refused(self, runs, message):
    before = {p: p.read_bytes() for p in self.path.rglob('*') if p.is_file()}
    with self.assertRaisesRegex(errors.InputError, message):
      self._open(runs)
    after = {p: p.read_bytes() for p in self.path.rglob('*') if p.is_file()}
    self.assertEqual(before, after)

  def test_more_runs_may_be_added(self):
    self._open(self.runs)
    more = fake_sweeps.grid(['fed_avg'], seed=(0, 1, 2))
    self.assertLen(self._open(more).read_runs(), 3)

  def test_another_sweep_is_refused(self):
    self._open(self.runs)
    self._refused(
      fake_sweeps.grid(['fed_avg'], seed=(0, 2)),
      'holds another sweep: seed is 0, 1 there, 0, 2 asked for',
    )
    self._refused(
      fake_sweeps.plan(
        [
          fake_sweeps.sweeps.Run(r.variant, {**r.fields, 'rounds': 3})
          for r in self.runs
        ]
      ),
      'rounds of run fed_avg-seed_0 .*50 there, 3 asked',
    )

  def test_a_run_keeps_its_name_beside_more_runs(self):
    # The names of all runs follow from what they differ in.
    folder = self._open(fake_sweeps.grid(['fed_avg'], seed=(0,)))
    more = fake_sweeps.grid(
      ['fed_avg', 'fed_fish'], seed=(0, 1), local_epochs=(16, 1)
    )
    names = list(self._open(more).read_runs())
    self.assertLen(set(names), 8)
    self.assertEqual(names[:2], ['fed_avg', 'fed_avg-seed_0-local_epochs_1'])
    for run in folder_lib.fit_runs(folder, more).runs:
      entry = folder.read_runs()[run.name]
      self.assertEqual(entry['config'], sweep_folder.to_json(run.config.values))

  def test_fewer_runs_are_refused(self):
    self._open(fake_sweeps.grid(['fed_avg', 'fed_sgd'], seed=(0, 1)))
    for fewer, message in (
      (self.runs, 'method is fed_avg, fed_sgd there, fed_avg asked for'),
      (
        fake_sweeps.grid(['fed_avg', 'fed_sgd', 'fed_fish'], seed=(0,)),
        'seed is 0, 1 there, 0 asked for',
      ),
    ):
      self._refused(fewer, f'{message}.* not leave any out. Choose another')

  def test_runs_with_other_tuned_values_are_superseded(self):
    chosen = ['client_learning_rate']

    def open_tuned(rate, seeds=(0, 1)):
      runs = fake_sweeps.grid(
        ['fed_avg'], client_learning_rate=(rate,), seed=seeds
      )
      with folder_lib.open_folder(
        self.path, fake_sweeps.SOURCE, runs, chosen=chosen
      ) as folder:
        return [list(folder.read_runs()), list(folder.read_superseded())]

    first = ['fed_avg-seed_0', 'fed_avg-seed_1']
    second = [f'{name}-1' for name in first]
    self.assertEqual(open_tuned(0.1), [first, []])
    self.assertEqual(open_tuned(0.2), [second, first])
    third = 'fed_avg-seed_2'
    self.assertEqual(open_tuned(0.1, (0, 1, 2)), [[*first, third], second])
    folder = sweep_folder.SweepFolder(self.path)
    asked = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0,))
    self.assertEqual(
      folder_lib.find_chosen(folder, asked, chosen),
      [{'client_learning_rate': 0.1}, {}],
    )
    # Another value of a field that is not tuned is another sweep.
    self._refused(
      fake_sweeps.grid(
        ['fed_avg'], client_learning_rate=(0.2,), seed=(0, 1, 2)
      ),
      'client_learning_rate of run fed_avg-seed_0 is 0.1 there, 0.2 asked for',
    )

  def test_a_folder_of_something_else_is_refused(self):
    self.path.mkdir()
    (self.path / 'thesis.tex').touch()
    self._refused(self.runs, "it holds 'thesis.tex', but no sweep.json")

  def test_damaged(self):
    folder = self._open(self.runs)
    for content in ('{', '[]', '{}', '{"runs": []}', '{"runs": {"a": {}}}'):
      folder.sweep_path.write_text(content)
      self._refused(self.runs, 'sweep.json cannot be used')

  def test_a_pipe_is_not_waited_for(self):
    folder = self._open(self.runs)
    os.mkfifo(folder.path / 'runs' / 'got a pipe')
    with self.assertRaisesRegex(errors.InputError, 'got a pipe'):
      self._open(self.runs)

  def test_links_matter_where_runs_read_or_write(self):
    run = self._open(self.runs).path / 'runs' / 'fed_avg-seed_0'
    (run / 'wandb').mkdir(parents=True)
    (run / 'wandb' / 'link').symlink_to('/etc')
    self._open(self.runs)
    for ours in (run / 'plots', run.with_name('fed_avg-seed_1')):
      ours.symlink_to('/etc')
      self._refused(self.runs, f'^{ours} must be .*link that leads out')
      ours.unlink()

  def test_a_sweep_that_died_at_once_is_begun_anew(self):
    self.path.mkdir()
    (self.path / 'runs').mkdir()
    left = self.path / f'sweep.json.{"0" * 32}.partial'
    left.write_text('{"ru')
    self._open(self.runs)
    self.assertFalse(left.exists())

  def test_one_process_at_a_time(self):
    with folder_lib.open_folder(self.path, 'digits.py:a', self.runs):
      self._refused(self.runs, 'is in use by another launch.sweep')
