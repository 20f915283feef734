# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fault tests of checkpoints: damaged, half-written, full disk."""

import asyncio
import collections
import contextlib
import errno
import json
import os
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import new_files
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

  def _assert_damaged(self, message, structure=None):
    """Asserts that the checkpoint of version 1 is refused."""
    manager = checkpoints.CheckpointManager(self.root)
    with self.assertRaisesRegex(checkpoints.DamagedCheckpointError, message):
      asyncio.run(manager.load(1, structure or _state(0)))

  @parameterized.parameters('plain', 'a [x] *\\?~ü {b},c\n')
  def test_restores_bit_for_bit(self, folder):
    self.root = self.root.parent / folder / 'checkpoints'
    self._save(3)
    state, version = self._load_latest()
    self.assertEqual(version, 3)
    self.assertEqual(_bits(state), _bits(_state(3)))
    tf.nest.assert_same_structure(state, _state(3))
    self.assertIsInstance(
      state['process']['weights'], tff.learning.models.ModelWeights
    )

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

  def test_a_run_that_goes_on_while_it_is_read(self):
    manager = self._save(1)
    # Named by the folder, but gone when it is opened.
    (self.root / 'program_state_2.npz').symlink_to(self.root / 'gone')
    with self.assertRaisesRegex(
      errors.InputError, 'program_state_2.npz was removed while it was read'
    ):
      asyncio.run(manager.load_latest(_state(0)))

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

  def _assert_uses_version_1(self, message):
    with self.assertLogs(level='WARNING') as logs:
      state, version = self._load_latest()
    self.assertRegex(
      logs.output[0], f'{message}.*The checkpoint before it is used'
    )
    self.assertEqual(version, 1)
    self.assertEqual(_bits(state), _bits(_state(1)))

  def _path(self, version):
    return self.root / f'program_state_{version}.npz'

  @parameterized.parameters(
    'truncated',
    'empty',
    'a bit of a tensor',
    'a bit of the manifest',
    'of something else',
    'a pipe',
  )
  def test_uses_the_one_before_a_damaged_one_and_says_so(self, damage):
    self._save(1, 2)
    path = self._path(2)
    content = bytearray(path.read_bytes())
    if damage == 'truncated':
      path.write_bytes(content[: len(content) // 2])
    elif damage == 'empty':
      path.write_bytes(b'')
    elif damage == 'a bit of a tensor':
      place = content.index(_state(2)['process']['weights'].trainable[0])
      content[place] ^= 1
      path.write_bytes(content)
    elif damage == 'a bit of the manifest':
      # Another tensor's shape, still well-formed.
      content[content.index('[3, 2]'.encode('utf-32-le')) + 4] ^= 1
      path.write_bytes(content)
    elif damage == 'of something else':
      np.savez(path, a=np.zeros(2))
    else:
      path.unlink()
      os.mkfifo(path)
    self._assert_uses_version_1('program_state_2.npz is damaged or cannot')
    # The run goes on, and saves that version again.
    manager = self._save(2)
    self.assertEqual(asyncio.run(manager.get_versions()), [1, 2])
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))

  def test_no_bit_can_change_unnoticed(self):
    """Bytes that zip does not check, such as dates, are no state."""
    self._save(1)
    content = self._path(1).read_bytes()
    manager = checkpoints.CheckpointManager(self.root)
    rng = np.random.default_rng(0)
    refused = 0
    for bit in rng.choice(8 * len(content), 400, replace=False):
      changed = bytearray(content)
      changed[bit // 8] ^= 1 << bit % 8
      self._path(1).write_bytes(changed)
      try:
        state = asyncio.run(manager.load(1, _state(0)))
        self.assertEqual(_bits(state), _bits(_state(1)))
      except checkpoints.DamagedCheckpointError:
        refused += 1
    self.assertGreater(refused, 200)

  def test_pickles_are_not_read(self):
    self._save(1)
    marker = self.root / 'marker'

    class Code:
      def __reduce__(self):
        return pathlib.Path.touch, (marker,)

    with np.load(self._path(1)) as arrays:
      changed = dict(arrays)
    changed['0'] = np.array(Code(), object)
    np.savez(self._path(1), **changed)
    self._assert_damaged('it holds object')
    self.assertFalse(marker.exists())

  @parameterized.parameters(
    (np.zeros(2), r'it holds float64\[2\] in the place of float32\[3, 2\]'),
    (None, 'no item named .*0.npy'),
  )
  def test_other_tensors_than_the_manifest_says(self, array, message):
    self._save(1)
    with np.load(self._path(1)) as arrays:
      changed = dict(arrays)
    if array is None:
      del changed['0']
    else:
      changed['1'] = array
    np.savez(self._path(1), **changed)
    self._assert_damaged(message)

  def test_texts_that_are_none(self):
    state = [np.array([b'a'], object)]
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save(state, 1))
    with np.load(self._path(1)) as arrays:
      np.savez(self._path(1), **(dict(arrays) | {'0': np.ones(9, np.uint8)}))
    self._assert_damaged('program_state_1.npz is damaged', state)

  def test_a_few_bytes_that_stand_for_many_values(self):
    """Sizes are compared before memory is taken for them."""
    state = [tf.constant([1.0], tf.bfloat16).numpy()]
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save(state, 1))
    with np.load(self._path(1)) as arrays:
      saved = dict(arrays)
    proto = tf.make_tensor_proto(state[0])
    proto.tensor_shape.dim[0].size = 2**40
    one_value = np.frombuffer(proto.SerializeToString(), np.uint8)
    text = np.array(' ' * 2**22 + str(saved['manifest']))
    for changed, message in (
      ({'0': one_value}, r'bfloat16\[1099511627776\] in the place of bfloat16'),
      ({'manifest': text}, 'a text of at most 4,194,304 characters, got <U419'),
    ):
      np.savez_compressed(self._path(1), **(saved | changed))
      self._assert_damaged(message, state)

  @parameterized.parameters(errno.EACCES, errno.EIO)
  def test_uses_the_one_before_an_unreadable_one_and_says_so(self, code):
    self._save(1, 2)
    error = OSError(code, os.strerror(code))
    real = os.open

    def fail_for_version_2(path, *args, **kwargs):
      if pathlib.Path(path) == self._path(2):
        raise error
      return real(path, *args, **kwargs)

    with mock.patch.object(
      os, 'open', autospec=True, side_effect=fail_for_version_2
    ):
      self._assert_uses_version_1(
        f'program_state_2.*cannot be read.*{os.strerror(code)}'
      )
    # Nothing was removed: once it can be read, it is used again.
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))

  def test_saves_in_place_of_one_that_cannot_be_read_nor_removed(self):
    """As of one that another user wrote."""
    self._save(1, 2)
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    self._path(2).write_bytes(b'')
    with (
      mock.patch.object(
        pathlib.Path, 'unlink', autospec=True, side_effect=denied
      ),
      self.assertLogs(level='WARNING') as logs,
    ):
      self._save(2)
    self.assertIn('Cannot remove', '\n'.join(logs.output))
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(2)))

  def test_all_damaged(self):
    self._save(1, 2)
    for version in (1, 2):
      self._path(version).write_bytes(b'')
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
    shutil.copy(self._path(2), self._path(1))
    self._assert_damaged('state_1.npz is damaged: .* of round 2')

  @parameterized.parameters(
    ([np.float32(1)], 'another version|1 tensors'),
    ([np.float32(1), np.zeros(3)], r'tensor 1 .*float32\[2\]'),
  )
  def test_rejects_another_structure(self, structure, message):
    manager = checkpoints.CheckpointManager(self.root)
    asyncio.run(manager.save([np.float32(1), np.zeros(2, np.float32)], 1))
    with self.assertRaisesRegex(errors.InputError, message):
      asyncio.run(manager.load_latest(structure))

  def test_removes_what_a_crash_left(self):
    self._save(1, 2)
    new_files.temporary_path(self._path(3)).write_bytes(b'a half')
    (self.root / 'notes.txt').write_text('not ours')
    self.assertEqual(self._load_latest()[1], 2)
    self._save(3)
    self.assertCountEqual(
      os.listdir(self.root),
      ['program_state_2.npz', 'program_state_3.npz', 'notes.txt'],
    )
    self.assertEqual(_bits(self._load_latest()[0]), _bits(_state(3)))

  @parameterized.parameters(1, 2, 3, 4, 5)
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

    with contextlib.ExitStack() as stack:
      for owner, name in (
        (os, 'fsync'),
        (os, 'replace'),
        (np.lib.format, 'write_array'),
      ):
        stack.enter_context(
          mock.patch.object(
            owner,
            name,
            autospec=True,
            side_effect=failing(getattr(owner, name)),
          )
        )
      with self.assertRaisesRegex(
        errors.InputError, f'{self._path(3)}: No space left'
      ):
        manager = checkpoints.CheckpointManager(self.root)
        # Two arrays are written, then come sync, rename and sync.
        asyncio.run(manager.save([np.float32(3)], 3))
    self.assertLen(calls, step)
    version = 3 if step == 5 else 2
    self.assertEqual(max(asyncio.run(manager.get_versions())), version)
    structure = [np.float32(0)] if version == 3 else _state(0)
    self.assertEqual(asyncio.run(manager.load_latest(structure))[1], version)
    self.assertNotIn('.partial', ''.join(os.listdir(self.root)))
    asyncio.run(manager.save(_state(4), 4))
    self.assertEqual(self._load_latest()[1], 4)

  def test_an_unwritable_folder(self):
    self.root.write_text('a file')
    with self.assertRaisesRegex(errors.InputError, f'Cannot write {self.root}'):
      checkpoints.CheckpointManager(self.root)

  def test_rejects_keeping_none(self):
    with self.assertRaisesRegex(
      errors.InputError, 'keep_total must be .* got 0'
    ):
      checkpoints.CheckpointManager(self.root, keep_total=0)

  def test_others_can_read_it(self):
    manager = checkpoints.CheckpointManager(
      self.root, run_digests=lambda version: {'a': str(version)}
    )
    asyncio.run(manager.save(_state(1), 1))
    with np.load(self._path(1)) as arrays:
      manifest = json.loads(str(arrays['manifest']))
      np.testing.assert_array_equal(
        arrays['1'], _state(1)['process']['weights'].trainable[0]
      )
    self.assertEqual((manifest['round'], manifest['run']), (1, {'a': '1'}))
    self.assertEqual(manifest['tensors'][1], 'float32[3, 2]')

  def test_the_same_state_is_the_same_bytes(self):
    self._save(1)
    content = self._path(1).read_bytes()
    self._path(1).unlink()
    self._save(1)
    self.assertEqual(self._path(1).read_bytes(), content)
