# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of damaged runs, and files about a split's clients."""

import pathlib
import shutil

from fedfish_tff import errors
from launch.runs import trained_run
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import absltest


class TrainedRunTest(absltest.TestCase):
  def test_an_earlier_model_is_not_that_of_a_finished_run(self):
    workdir = trained_runs.fed_fish_on_digits().copy_to(
      pathlib.Path(self.create_tempdir().full_path) / 'run'
    )
    shutil.rmtree(workdir / 'checkpoints' / 'program_state_2')
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

  def test_tables_of_another_split_have_its_name(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'evaluation').mkdir()
    for split, name in (('test', 'a.csv'), ('validation', 'validation_a.csv')):
      (path,) = trained_run.write_tables(
        folder, split, {'evaluation/a.csv': split.encode()}
      )
      self.assertEqual(path, folder / 'evaluation' / name)
      self.assertEqual(path.read_text(), split)


if __name__ == '__main__':
  absltest.main()
