# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.partition_dataset."""

import os
import pathlib
import subprocess
import sys
from unittest import mock

from fedfish_tff import errors
from launch import partition_dataset
from launch import partition_run
from tests.launch import binary_runner
from tests.launch import tiny_tfds

from absl import flags
from absl.testing import absltest
from absl.testing import flagsaver
from absl.testing import parameterized


class PartitionDatasetTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.runner = binary_runner.BinaryRunner(
      'launch.partition_dataset', 'launch.partition_run'
    )
    cls.addClassCleanup(cls.runner.close)
    cls.data_dir = pathlib.Path(absltest.get_default_test_tmpdir()) / 'tfds_bin'
    tiny_tfds.prepare(cls.data_dir)

  def setUp(self):
    super().setUp()
    self.parent = pathlib.Path(self.create_tempdir().full_path)
    self.folder = self.parent / 'clients'

  def _run(self, *arguments):
    return self.runner.run(
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
      '--format=pdf',
    )
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    self.assertIn(
      'tiny_leaves/1.0.0, train: 240 examples among 6 clients of 30 to 30; 60 '
      'left over.',
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

  def test_help_teaches(self):
    outcome = subprocess.run(
      [sys.executable, '-m', 'launch.partition_dataset', '--help'],
      env=binary_runner.environment(),
      capture_output=True,
      text=True,
      check=False,
    )
    self.assertEqual((outcome.returncode, outcome.stderr), (0, ''))
    self.assertIn(
      'python -m launch.partition_dataset --dataset', outcome.stdout
    )
    for flag in ('--alpha', '--partition', '--[no]download', '--key'):
      self.assertIn(flag, outcome.stdout)

  def test_bad_input_is_one_line(self):
    few = ('--num_clients=3', '--alpha=1')
    for arguments, message in (
      (('--dataset=tinny_leaves', *few), "no data set 'tinny_leaves'"),
      (('--dataset=mnist', *few), "'mnist' is not prepared in"),
      (
        ('--dataset=tiny_leaves', *few, '--label=tree'),
        "no feature 'tree'; one of author, box",
      ),
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


class FlagsTest(parameterized.TestCase):
  """Flags are checked before TFDS and TFF are imported."""

  def setUp(self):
    super().setUp()
    if not flags.FLAGS.is_parsed():
      flags.FLAGS.mark_as_parsed()

  @parameterized.parameters(
    (dict(dataset=None), '--dataset is needed'),
    (dict(output_dir=None), '--output_dir is needed'),
    (dict(alpha=1.0), '--partition=dirichlet needs --num_clients'),
    (dict(num_clients=1), '--partition=dirichlet needs --alpha'),
    (dict(partition='key'), '--partition=key needs --key'),
    (dict(partition='pachinko', num_clients=1), 'needs --coarse_label'),
    (
      dict(num_clients=1, alpha=1.0, beta=1.0),
      '--beta does not belong to --partition=dirichlet; --num_clients, --alpha',
    ),
    (dict(partition='key', key='a', seed=1), '--seed does not belong'),
    (dict(partition='shards', num_clients=1, key='a'), '--key does not'),
  )
  def test_missing_and_foreign_flags(self, values, message):
    values = dict(dataset='mnist', output_dir='clients') | values
    with flagsaver.flagsaver(**values):
      with self.assertRaisesRegex(errors.InputError, message):
        partition_dataset.main(['partition_dataset'])

  def test_flags_reach_the_partition(self):
    with flagsaver.flagsaver(
      dataset='mnist',
      output_dir='clients',
      partition='pachinko',
      num_clients=5,
      coarse_label='coarse',
      beta=2.0,
      scale_images=False,
      format='svg',
    ):
      with mock.patch.object(partition_run, 'run') as run:
        partition_dataset.main(['partition_dataset'])
    run.assert_called_once_with(
      partition_run.Request(
        dataset='mnist',
        split='train',
        partition='pachinko',
        arguments=dict(num_clients=5, beta=2.0, alpha=0.1, seed=0),
        coarse_label='coarse',
        scale_images=False,
        file_format='svg',
      ),
      'clients',
    )


if __name__ == '__main__':
  absltest.main()
