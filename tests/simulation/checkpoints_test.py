# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fault tests of checkpoints: damaged, half-written, full disk."""

import asyncio
import collections
import errno
import json
import os
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.simulation import checked_json
from fedfish_tff.simulation import checkpoints

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _state(version):
  """A state of many kinds of leaves, with bits that printing would lose."""
  rng = np.random.default_rng(version)
  weights = tff.learning.models.ModelWeights(
    trainable=(
      rng.normal(size=(3, 2)).astype(np.float32),
      np.array([np.nan, -0.0, np.inf, 1e-45], np.float32),
    ),
    non_trainable=(),
  )
  return collections.OrderedDict(
    process=collections.OrderedDict(
      weights=weights, empty=(), none=collections.OrderedDict()
    ),
    learning_rate=np.float32(0.1),
    totals=[np.int64(2**60 + version), np.float64(np.pi), np.bool_(True)],
  )


def _bits(state):
  return [
    (np.asarray(leaf).dtype, np.shape(leaf), np.asarray(leaf).tobytes())
    for leaf in tf.nest.flatten(state)
  ]


class CheckpointManagerTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / 'checkpoints'

  def _save(self, *versions, keep_total=2):
    manager = checkpoints.CheckpointManager(self.root, keep_total=keep_total)
    for version in versions:
      asyncio.run(manager.save(_state(version), version))
    return manager

  def _load_latest(self):
    manager = checkpoints.CheckpointManager(self.root)
    return asyncio.run(manager.load_latest(_state(0)))

  def test_restores_bit_for_bit(self):
    self._save(3)
    state, version = self._load_latest()
    self.assertEqual(version, 3)
    self.assertEqual(_bits(state), _bits(_state(3)))
    tf.nest.assert_same_structure(state, _state(3))
    self.assertIsInstance(
      state['process']['weights'], tff.learning.models.ModelWeights
    )

  def test_a_folder_whose_name_is_a_pattern(self):
    self.root = self.root.parent / 'a [x] *\\?~ü {b},c\n' / 'checkpoints'
    self._save(3)
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(3)))

  @parameterized.parameters(((),), ((2**40, 0.1, True),))
  def test_numbers_of_python_and_nothing_at_all(self, state):
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save(state, 1))
    self.assertEqual(asyncio.run(manager.load_latest(state)), (state, 1))

  def test_keeps_text_and_small_floats(self):
    state = [
      np.array([b'a\0', b''], object),
      tf.constant([1.5, np.nan], tf.bfloat16).numpy(),
    ]
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save(state, 1))
    text, floats = asyncio.run(manager.load(1, state))
    self.assertEqual(text.tolist(), [b'a\0', b''])
    self.assertEqual(_bits([floats]), _bits(state[1:]))

  def test_keeps_the_newest(self):
    manager = self._save(1, 2, 30, 4 + 30)
    self.assertEqual(asyncio.run(manager.get_versions()), [30, 34])
    self.assertLen(os.listdir(self.root), 2)
    with self.assertRaises(tff.program.ProgramStateNotFoundError):
      asyncio.run(manager.load(2, _state(0)))

  def test_keeps_named_versions_beside_the_newest(self):
    manager = checkpoints.CheckpointManager(
      self.root, keep_versions=lambda: [2, 31, 9]
    )
    for version in (1, 2, 3, 30, 31, 32):
      asyncio.run(manager.save(_state(version), version))
    self.assertEqual(asyncio.run(manager.get_versions()), [2, 31, 32])
    self.assertEqual(
      _bits(asyncio.run(manager.load(2, _state(0)))), _bits(_state(2))
    )
    # Once nobody asks for it, it is as old as any.
    self._save(33)
    self.assertEqual(asyncio.run(manager.get_versions()), [32, 33])

  def test_nothing_saved(self):
    self.assertEqual(self._load_latest(), (None, 0))
    self.assertIsNone(
      asyncio.run(checkpoints.CheckpointManager(self.root).get_versions())
    )

  def test_does_not_overwrite_a_good_version(self):
    manager = self._save(1)
    with self.assertRaises(tff.program.ProgramStateExistsError):
      asyncio.run(manager.save(_state(2), 1))
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(1)))

  @parameterized.parameters(
    ('variables/variables.data-00000-of-00001', 'truncated'),
    ('variables/variables.data-00000-of-00001', 'missing'),
    ('variables/variables.data-00000-of-00001', 'a bit flipped'),
    ('variables/variables.index', 'a folder'),
    ('manifest.json', 'truncated'),
    ('manifest.json', 'a bit flipped'),
    ('manifest.json', 'a folder'),
    ('manifest.json', 'of something else'),
  )
  def test_uses_the_one_before_a_damaged_one_and_says_so(self, file, damage):
    self._save(1, 2)
    path = self.root / 'program_state_2' / file
    content = bytearray(path.read_bytes())
    if damage == 'truncated':
      path.write_bytes(content[: len(content) // 2])
    elif damage == 'a bit flipped':
      # In the manifest: another tensor's shape, still well-formed.
      content[content.find(b'[3, 2]') + 1 if 'json' in file else -1] ^= 1
      path.write_bytes(content)
    elif damage == 'of something else':
      path.write_text(json.dumps(checked_json.add_checksum({'rounds': 2})))
    else:
      path.unlink()
      if damage == 'a folder':
        path.mkdir()
    with self.assertLogs(level='WARNING') as logs:
      state, version = self._load_latest()
    self.assertIn('program_state_2', logs.output[0])
    self.assertIn(file, logs.output[0])
    self.assertIn('The checkpoint before it is used', logs.output[0])
    self.assertEqual(version, 1)
    self.assertEqual(_bits(state), _bits(_state(1)))
    # The run goes on, and saves that version again.
    manager = self._save(2)
    self.assertEqual(asyncio.run(manager.get_versions()), [1, 2])
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))

  @parameterized.product(
    call=('exists', 'open of the manifest', 'open', 'load'),
    code=(errno.EACCES, errno.EIO),
  )
  def test_uses_the_one_before_an_unreadable_one_and_says_so(self, call, code):
    self._save(1, 2)
    error = OSError(code, os.strerror(code))

    def failing(real):
      def fail_for_version_2(path, *args, **kwargs):
        path = pathlib.Path(path)
        is_manifest = path.name == 'manifest.json'
        if 'program_state_2' in path.parts and (
          'manifest' not in call or is_manifest
        ):
          raise error
        return real(path, *args, **kwargs)

      return fail_for_version_2

    owner, name = {
      'load': (tf.train, 'load_checkpoint'),
      'open': (os, 'open'),
      'exists': (pathlib.Path, 'exists'),
    }[call.split()[0]]
    with mock.patch.object(
      owner, name, autospec=True, side_effect=failing(getattr(owner, name))
    ):
      manager = checkpoints.CheckpointManager(self.root)
      manager.remove_leftovers()
      self.assertEqual(asyncio.run(manager.get_versions()), [1, 2])
      if call != 'exists':
        with self.assertLogs(level='WARNING') as logs:
          state, version = self._load_latest()
    if call == 'exists':
      # The folder could not be looked into; now nor can its files be read.
      with (
        mock.patch.object(
          os, 'open', autospec=True, side_effect=failing(os.open)
        ),
        self.assertLogs(level='WARNING') as logs,
      ):
        state, version = self._load_latest()
    self.assertRegex(
      logs.output[0], f'program_state_2.*cannot be read.*{os.strerror(code)}'
    )
    self.assertIn('The checkpoint before it is used', logs.output[0])
    self.assertEqual(version, 1)
    self.assertEqual(_bits(state), _bits(_state(1)))
    # Nothing was removed: once it can be read, it is used again.
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))

  def test_saves_in_place_of_one_that_cannot_be_read_nor_removed(self):
    """As of one that another user wrote."""
    self._save(1, 2)
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    for _ in range(2):
      path = self.root / 'program_state_2' / 'variables' / 'variables.index'
      path.write_bytes(b'')
      with (
        mock.patch.object(shutil, 'rmtree', autospec=True, side_effect=denied),
        self.assertLogs(level='WARNING') as logs,
      ):
        self._save(2)
      self.assertIn('Cannot remove', '\n'.join(logs.output))
      self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))
    self._save(3)
    self.assertCountEqual(
      os.listdir(self.root), ['program_state_2', 'program_state_3']
    )

  def test_all_damaged(self):
    self._save(1, 2)
    for path in self.root.rglob('variables.index'):
      path.write_bytes(b'')
    with self.assertRaisesRegex(
      errors.InputError, 'No checkpoint in .*1, 2.*damaged'
    ):
      self._load_latest()

  def test_uses_the_one_before_that_the_run_s_files_belong_to(self):
    digests = {1: {'a': 'x', 'b': 'y'}, 2: {'a': 'z'}}
    manager = checkpoints.CheckpointManager(
      self.root, run_digests=digests.__getitem__
    )
    for version in digests:
      asyncio.run(manager.save(_state(version), version))
    self.assertEqual(asyncio.run(manager.load_latest(_state(0)))[1], 2)
    digests[2] = {}
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(asyncio.run(manager.load_latest(_state(0)))[1], 1)
    self.assertIn('a is not what it was', logs.output[0])
    digests[1] = {'a': 'x', 'b': 'other'}
    with self.assertRaisesRegex(errors.InputError, 'b is not what it was'):
      asyncio.run(manager.load_latest(_state(0)))

  def test_a_checkpoint_of_another_round_in_its_place(self):
    self._save(1, 2)
    shutil.rmtree(self.root / 'program_state_1')
    shutil.copytree(
      self.root / 'program_state_2', self.root / 'program_state_1'
    )
    with self.assertRaisesRegex(
      checkpoints.DamagedCheckpointError, 'state_1 is damaged: .* of round 2'
    ):
      asyncio.run(checkpoints.CheckpointManager(self.root).load(1, _state(0)))

  def test_an_additional_file_is_damage(self):
    self._save(1)
    (self.root / 'program_state_1' / 'variables' / 'a').write_bytes(b'')
    manager = checkpoints.CheckpointManager(self.root)
    with self.assertRaisesRegex(
      checkpoints.DamagedCheckpointError, 'variables/a should not be there'
    ):
      asyncio.run(manager.load(1, _state(0)))

  @parameterized.parameters(
    ([np.float32(1)], 'another version|1 tensors'),
    ([np.float32(1), np.zeros(3)], r'tensor 1 is float32\[2\], float64\[3\]'),
  )
  def test_rejects_another_structure(self, structure, message):
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save([np.float32(1), np.zeros(2, np.float32)], 1))
    with self.assertRaisesRegex(errors.InputError, message):
      asyncio.run(manager.load_latest(structure))

  def test_removes_what_a_crash_left(self):
    self._save(1, 2)
    shutil.copytree(
      self.root / 'program_state_2', self.root / 'program_state_3'
    )
    (self.root / 'program_state_3' / 'manifest.json').unlink()
    (self.root / 'program_state_4_temp0' / 'variables').mkdir(parents=True)
    (self.root / 'notes.txt').write_text('not ours')
    self.assertEqual(self._load_latest()[1], 2)
    manager = checkpoints.CheckpointManager(self.root)
    manager.remove_leftovers()
    self.assertCountEqual(
      os.listdir(self.root), ['program_state_1', 'program_state_2', 'notes.txt']
    )
    asyncio.run(manager.save(_state(3), 3))
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(3)))

  @parameterized.parameters(1, 2, 5, 6, 7, 8, 9, 10)
  def test_a_disk_that_fills_up_at_any_step(self, step):
    """Every call that may need the disk fails in turn."""
    self._save(1, 2)
    calls = []

    def failing(real):
      def call(*args, **kwargs):
        calls.append(real)
        if len(calls) == step:
          raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **kwargs)

      return call

    with (
      mock.patch.object(
        os, 'fsync', autospec=True, side_effect=failing(os.fsync)
      ),
      mock.patch.object(
        os, 'replace', autospec=True, side_effect=failing(os.replace)
      ),
      mock.patch.object(
        tf.raw_ops,
        'SaveV2',
        autospec=True,
        side_effect=failing(tf.raw_ops.SaveV2),
      ),
    ):
      try:
        self._save(3)
        failed = False
      except errors.InputError as error:
        failed = True
        self.assertIn('No space left', str(error))
        self.assertIn(str(self.root), str(error))
    self.assertEqual(failed, len(calls) >= step)
    state, version = self._load_latest()
    self.assertIn(version, (2, 3))
    if failed and version == 3:  # Only the last fsync came after the manifest.
      self.assertEqual(len(calls), step)
    self.assertEqual(_bits(state), _bits(_state(version)))
    self._save(4)
    self.assertEqual(self._load_latest()[1], 4)

  def test_tensorflows_own_error_of_a_full_disk(self):
    self._save(1)
    full = tf.errors.ResourceExhaustedError(None, None, 'No space; more\nlines')
    with mock.patch.object(
      tf.raw_ops, 'SaveV2', autospec=True, side_effect=full
    ):
      with self.assertRaisesRegex(
        errors.InputError, 'program_state_2: No space; more'
      ):
        self._save(2)
    self.assertEqual(os.listdir(self.root), ['program_state_1'])

  def test_an_unwritable_folder(self):
    self.root.write_text('a file')
    with self.assertRaisesRegex(errors.InputError, f'Cannot write {self.root}'):
      checkpoints.CheckpointManager(self.root)

  def test_rejects_keeping_none(self):
    with self.assertRaisesRegex(errors.InputError, 'keep_total is 0'):
      checkpoints.CheckpointManager(self.root, keep_total=0)

  def test_the_manifest_is_readable_by_others(self):
    self._save(1)
    manifest = json.loads(
      (self.root / 'program_state_1' / 'manifest.json').read_text()
    )
    self.assertIn('variables/variables.index', manifest['files'])
    self.assertIn('float32[3, 2]', manifest['tensors'])
