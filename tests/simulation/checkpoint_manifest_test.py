# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of manifests as others than the manager read them."""

import asyncio
import pathlib
import shutil

from fedfish_tff.simulation import checkpoint_manifest
from fedfish_tff.simulation import checkpoints

from absl.testing import absltest
import numpy as np


class CheckpointManifestTest(absltest.TestCase):
  def test_those_that_cannot_be_read_are_left_out(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    manager = checkpoints.CheckpointManager(
      folder, keep_total=3, run_digests=lambda version: {'a': str(version)}
    )
    for version in (1, 2, 10):
      asyncio.run(manager.save([np.float32(version)], version))
    (folder / 'program_state_2' / 'manifest.json').write_text('{}')
    (folder / 'program_state_x').mkdir()
    shutil.copytree(folder / 'program_state_1', folder / 'program_state_3')
    manifests = checkpoint_manifest.read_manifests(folder)
    self.assertEqual(
      {version: m['run'] for version, m in manifests.items()},
      {1: {'a': '1'}, 10: {'a': '10'}},
    )
    self.assertEmpty(checkpoint_manifest.read_manifests(folder / 'none'))

  def test_files_that_came_or_went_or_changed(self):
    then = {'a': '1', 'b': '2'}
    changed_file = checkpoint_manifest.changed_file
    self.assertIsNone(changed_file(then, {'b': '2', 'a': '1'}))
    self.assertEqual(changed_file({}, then), 'a')
    self.assertEqual(changed_file(then, {'a': '1'}), 'b')
    self.assertEqual(changed_file(then, {'a': '1', 'b': '3'}), 'b')
    self.assertEqual(changed_file(then, {**then, 'c': '3'}), 'c')
