# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.partition_dataset."""

import json
import os
import pathlib

from tests.launch import binary_runner
from tests.launch.data import tiny_tfds

from absl.testing import absltest


def _run_here(*arguments: str) -> binary_runner.Outcome:
  return binary_runner.run_here('launch.partition_dataset', *arguments)


class PartitionDatasetTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.data_dir = pathlib.Path(absltest.get_default_test_tmpdir()) / 'tfds_bin'
    tiny_tfds.prepare(cls.data_dir)

  def setUp(self):
    super().setUp()
    self.parent = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.parent / 'clients'

  def _run(self, *arguments):
    return _run_here(
      f'--output_dir={self.folder}', f'--data_dir={self.data_dir}', *arguments
    )

  def test_writes_clients_from_files_alone(self):
    # The binary does not import the code of the builder.
    outcome = self._run(
      '--dataset=tiny_leaves',
      '--partition=pachinko',
      '--coarse_label=kind',
      '--num_clients=6',
      '--examples_per_client=30',
      '--beta=2',
      '--noscale_images',
      '--format=pdf',
    )
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    self.assertIn(
      'tiny_leaves/1.0.0, train: x is image, y is species; 240 examples among 6 '
      'clients of 30 to 30; 60 left over.',
      outcome.stdout,
    )
    self.assertEqual(
      sorted(os.listdir(self.folder)),
      [
        *(f'client_{i}.npz' for i in range(6)),
        'clients.csv',
        'label_partition.pdf',
        'partition.json',
      ],
    )
    record = json.loads((self.folder / 'partition.json').read_text())
    self.assertEqual(
      record['arguments'],
      dict(num_clients=6, examples_per_client=30, alpha=0.1, beta=2.0, seed=0),
    )
    self.assertEqual(record['coarse_label'], 'kind')
    self.assertFalse(record['scale_images'])

  def test_bad_input_is_one_line(self):
    few = ('--num_clients=3', '--alpha=1')
    for arguments, message in (
      (('--dataset=tinny_leaves', *few), "no data set 'tinny_leaves'"),
      (('--dataset=mnist', *few), "'mnist' is not prepared in"),
      (('--dataset=tiny_leaves', *few, '--label=tree'), "got 'tree'"),
      (
        ('--dataset=tiny_leaves', '--num_clients=999', '--alpha=1'),
        '240 examples cannot give 999 clients',
      ),
    ):
      outcome = self._run(*arguments)
      self.assertEqual(outcome.code, 2, outcome.stderr)
      self.assertLen(outcome.stderr.splitlines(), 1, outcome.stderr)
      self.assertIn(message, outcome.stderr)
      self.assertEmpty(list(self.parent.iterdir()))
