# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files about a split's clients."""

import pathlib

from launch.runs import trained_run

from absl.testing import absltest


class TrainedRunTest(absltest.TestCase):
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
