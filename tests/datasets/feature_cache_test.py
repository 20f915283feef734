# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of features that are kept on disk."""

import collections
from concurrent import futures
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import feature_cache
from tests import processes
from tests import temporary_folders

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest


class _Extractor:
  """Features x W; counts the inputs it was given."""

  def __init__(self, scale=1.0, name='tiny'):
    self.name = name
    self.fingerprint = f'{scale}'.ljust(64, '0')
    self.scale = scale
    self.num_inputs = 0

  def extract(self, inputs):
    self.num_inputs += len(inputs)
    return self.scale * inputs.reshape(len(inputs), -1)[:, :3].astype('f4')


def _images(seed=0, n=5):
  return np.random.default_rng(seed).integers(0, 256, [n, 2, 2, 3], np.uint8)


# Computes slowly what the test's own process computes at once.
_WRITER = """
import sys, time
from tests.datasets import feature_cache_test as test
from fedfish_tff.datasets import feature_cache
import numpy as np
original = np.savez
def slow(file, **arrays):
  {write}
  print('started', flush=True)
  time.sleep(60)
np.savez = slow
cache = feature_cache.FeatureCache(test._Extractor(), sys.argv[1])
cache.extract(test._images())
"""


class FeatureCacheTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._extractor = _Extractor()

  def _create(self, extractor=None):
    return feature_cache.FeatureCache(extractor or self._extractor, self.folder)

  def _files(self):
    return sorted(self.folder.rglob('*.npz'))

  def _partial_files(self):
    return list(self.folder.rglob('*.partial'))

  def _locks(self):
    return list(self.folder.rglob('*.lock'))

  def test_computes_once(self):
    expected = _Extractor().extract(_images())
    for _ in range(3):
      np.testing.assert_array_equal(self._create().extract(_images()), expected)
    self.assertEqual(self._extractor.num_inputs, 5)
    self.assertLen(self._files(), 1)

  def test_other_data(self):
    images = _images()
    cache = self._create()
    for other in (
      images,
      _images(1),
      images[:4],
      images.reshape(5, 4, 1, 3),
      images.astype(np.int16),
      images[:, ::-1],
    ):
      np.testing.assert_array_equal(
        cache.extract(other), _Extractor().extract(other)
      )
    self.assertLen(self._files(), 6)
    # The same content, laid out otherwise in memory.
    cache.extract(np.asfortranarray(images))
    self.assertLen(self._files(), 6)

  def test_changed_extractor(self):
    first = self._create().extract(_images())
    second = self._create(_Extractor(2.0)).extract(_images())
    np.testing.assert_array_equal(second, 2 * first)
    folders = sorted(path.name for path in self.folder.iterdir())
    self.assertLen(folders, 2)
    self.assertStartsWith(folders[0], 'tiny-1.0')

  def test_name_that_is_no_name_of_a_folder(self):
    cache = self._create(_Extractor(name='../a b/c'))
    cache.extract(_images())
    self.assertEqual(cache.folder.parent, self.folder)

  def test_damage_that_is_an_error_of_the_system(self):
    """A byte that has Python look for a place outside of the file."""
    expected = self._create().extract(_images())
    (path,) = self._files()
    content = bytearray(path.read_bytes())
    end = content.rindex(b'PK\x05\x06')
    content[end + 19] ^= 255  # The highest byte of where the entries begin.
    path.write_bytes(content)
    with self.assertRaises(OSError), np.load(path) as archive:
      archive.get('x')
    with self.assertLogs('absl', 'WARNING'):
      np.testing.assert_array_equal(self._create().extract(_images()), expected)

  @settings(max_examples=60)
  @given(data=st.data())
  def test_damaged_files_are_computed_again(self, data):
    expected = self._create().extract(_images())
    (path,) = self._files()
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), 'truncated'):
      del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
      place = data.draw(st.integers(0, len(content) - 1))
      content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    # Whichever byte it is; not every one of an archive's headers matters.
    np.testing.assert_array_equal(self._create().extract(_images()), expected)
    path.unlink()

  def test_damage_is_told(self):
    self._create().extract(_images())
    (path,) = self._files()
    path.write_bytes(path.read_bytes()[:-30])
    with self.assertLogs('absl', 'WARNING') as logs:
      self._create().extract(_images())
    self.assertLen(logs.output, 1)
    self.assertRegex(
      logs.output[0], rf'{path.name} cannot be read \(.*\) and are computed'
    )
    self.assertEqual(self._extractor.num_inputs, 10)
    with self.assertNoLogs('absl', 'WARNING'):
      self._create().extract(_images())

  def test_file_of_other_data_under_this_name(self):
    cache = self._create()
    cache.extract(_images(1))
    (other,) = self._files()
    content = other.read_bytes()
    expected = cache.extract(_images())
    (path,) = set(self._files()) - {other}
    path.write_bytes(content)
    with self.assertLogs('absl', 'WARNING'):
      np.testing.assert_array_equal(cache.extract(_images()), expected)

  def test_pickles_are_not_loaded(self):
    cache = self._create()
    expected = cache.extract(_images())
    (path,) = self._files()
    np.savez(path, identity=np.array([{}], object), x=np.array([{}], object))
    with self.assertLogs('absl', 'WARNING') as logs:
      np.testing.assert_array_equal(cache.extract(_images()), expected)
    self.assertIn('allow_pickle', logs.output[0])

  @parameterized.parameters(
    'file.write(b"PK")', 'original(file, **arrays); file.flush()'
  )
  @pytest.mark.thorough
  def test_killed_while_writing(self, write):
    process = subprocess.Popen(
      [sys.executable, '-c', _WRITER.format(write=write), self.folder],
      stdout=subprocess.PIPE,
      text=True,
    )
    with processes.killed_if_hanging(process):
      self.assertEqual(process.stdout.readline(), 'started\n')
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=processes.HANG_SECONDS)
    self.assertEmpty(self._files())
    self.assertNotEmpty(self._partial_files())
    with self.assertNoLogs('absl', 'WARNING'):
      cache = self._create()
      self.assertEmpty(self._partial_files())
      self.assertEmpty(self._locks())
      features = cache.extract(_images())
    np.testing.assert_array_equal(features, _Extractor().extract(_images()))
    self.assertLen(self._files(), 1)
    self.assertEmpty(self._partial_files())

  def test_several_at_a_time_compute_once(self):
    # Each opens the folder for itself, as other processes do.
    extractors = [_Extractor() for _ in range(8)]
    with futures.ThreadPoolExecutor(8) as pool:
      results = pool.map(
        lambda extractor: self._create(extractor).extract(_images()), extractors
      )
      for features in results:
        np.testing.assert_array_equal(features, _Extractor().extract(_images()))
    self.assertEqual(sum(e.num_inputs for e in extractors), 5)

  def test_another_entry_is_not_waited_for(self):
    with futures.ThreadPoolExecutor(1) as pool:

      def meanwhile():
        # In a cache of its own, as another process has it.
        other = pool.submit(self._create().load, 'other', lambda: {'x': [2]})
        return {'x': other.result(timeout=processes.HANG_SECONDS)['x']}

      found = self._create().load('key', meanwhile)
    np.testing.assert_array_equal(found['x'], [2])
    self.assertLen(self._files(), 2)
    self.assertEmpty(self._locks())

  def test_failed_computation_leaves_nothing(self):
    def fail():
      raise OSError('no such image')

    with self.assertRaisesRegex(OSError, 'no such image'):
      self._create().load('key', fail)
    self.assertEmpty(self._files())
    self.assertEmpty(self._partial_files())
    self.assertEmpty(self._locks())

  def test_full_disk(self):
    """The run goes on with what it computed, and is told once."""
    no_space = OSError(errno.ENOSPC, 'No space left on device')
    cache = self._create()
    with mock.patch.object(np, 'savez', autospec=True, side_effect=no_space):
      with self.assertLogs('absl', 'WARNING') as logs:
        for seed in range(3):
          np.testing.assert_array_equal(
            cache.extract(_images(seed)), _Extractor().extract(_images(seed))
          )
    self.assertLen(logs.output, 1)
    self.assertRegex(
      logs.output[0], r'kept in .*npz \(No space left on device\); this run'
    )
    self.assertEqual(self._extractor.num_inputs, 15)
    self.assertEmpty(self._files())
    self.assertEmpty(self._partial_files())
    cache.extract(_images())
    self.assertLen(self._files(), 1)

  def test_folder_deleted_while_it_is_used(self):
    expected = _Extractor().extract(_images())
    cache = self._create()
    for _ in range(2):
      np.testing.assert_array_equal(cache.extract(_images()), expected)
      shutil.rmtree(cache.folder)
    self.assertEqual(self._extractor.num_inputs, 10)

    def delete():
      shutil.rmtree(cache.folder)
      return {'x': expected}

    with self.assertLogs('absl', 'WARNING') as logs:
      np.testing.assert_array_equal(cache.load('key', delete)['x'], expected)
    self.assertIn('No such file', logs.output[0])
    np.testing.assert_array_equal(cache.extract(_images()), expected)
    self.assertLen(self._files(), 1)

  def test_two_write_after_the_folder_was_deleted(self):
    """The second one locks another file than the first one did."""
    first, second = self._create(), self._create()

    def meanwhile():
      shutil.rmtree(first.folder)
      second.load('key', lambda: {'x': np.arange(3)})
      return {'x': np.arange(3)}

    with self.assertNoLogs('absl', 'WARNING'):
      first.load('key', meanwhile)
    self.assertLen(self._files(), 1)
    self.assertEmpty(self._partial_files())

  def test_locks_as_nfs_has_it(self):
    """There, flock needs a descriptor that may be written, so no folder."""
    locked = []

    def flock(descriptor, operation):
      mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
      if mode == os.O_RDONLY:
        raise OSError(errno.EBADF, 'Bad file descriptor')
      if locked:
        raise BlockingIOError
      locked.append(operation)

    with mock.patch.object(fcntl, 'flock', autospec=True, side_effect=flock):
      self._create().extract(_images())
    self.assertEqual(locked, [fcntl.LOCK_EX])

  def test_partial_files_of_running_processes_stay(self):
    cache = self._create()
    savez = np.savez

    def open_another(file, **arrays):
      savez(file, **arrays)
      self._create()
      self.assertLen(self._partial_files(), 1)

    with (
      mock.patch.object(np, 'savez', autospec=True, side_effect=open_another),
      self.assertNoLogs('absl', 'WARNING'),
    ):
      cache.load('key', lambda: {'x': np.arange(3)})
    self.assertEmpty(self._partial_files())
    self.assertLen(self._files(), 1)

  def test_folder_that_cannot_be_used(self):
    (self.folder / 'file').write_text('')
    with self.assertRaisesRegex(errors.InputError, 'Features cannot be kept'):
      feature_cache.FeatureCache(self._extractor, self.folder / 'file')
    cache = self._create()
    # Files of somebody's own would be taken for leftovers.
    (self.folder / 'mine').mkdir()
    (self.folder / 'mine' / 'poetry.lock').touch()
    cache.folder.rename(self.folder / 'elsewhere')
    cache.folder.symlink_to(self.folder / 'mine')
    with self.assertRaisesRegex(errors.InputError, 'It is a link'):
      self._create()
    self.assertLen(self._locks(), 1)
    (self.folder / 'mine' / 'poetry.lock').unlink()
    cache.folder.unlink()
    cache.extract(_images(1))
    (path,) = self._files()
    path.unlink()
    path.with_suffix('.lock').mkdir()
    with self.assertRaisesRegex(
      errors.InputError, r'kept.*directory\).*folder that can'
    ):
      cache.extract(_images(1))
    self.assertEqual(self._extractor.num_inputs, 5)


class FeatureClientDataTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self._extractor = _Extractor()
    self._clients = {
      name: (_images(seed, 2 + seed), np.arange(2 + seed, dtype=np.int32))
      for seed, name in enumerate('abc')
    }

  def test_clients(self):
    inner = client_data.InMemoryClientData(self._clients)
    cache = feature_cache.FeatureCache(self._extractor, self.folder)
    for extract in (self._extractor.extract, cache.extract, cache.extract):
      data = feature_cache.FeatureClientData(inner, extract)
      self.assertEqual(data.client_ids, ('a', 'b', 'c'))
      self.assertEqual(data.element_spec[0].shape, [3])
      for client_id in 'abc':
        x, y = data.load_client(client_id)
        images, labels = self._clients[client_id]
        np.testing.assert_array_equal(x, _Extractor().extract(images))
        np.testing.assert_array_equal(y, labels)
    # All, and the first once more for its spec, but only once by the cache.
    self.assertEqual(self._extractor.num_inputs, (2 + 9) + 9)

  def test_files_that_did_not_change_are_not_read(self):
    reads = collections.Counter()
    clients = self._clients

    class Inner(client_data.InMemoryClientData):
      def load_client(self, client_id):
        reads[client_id] += 1
        return super().load_client(client_id)

    keys = {'a': 'k', 'b': 'l', 'c': 'm'}

    def create():
      return feature_cache.FileFeatureClientData(
        Inner(clients),
        feature_cache.FeatureCache(self._extractor, self.folder),
        keys.__getitem__,
      )

    first = [create().load_client(client_id) for client_id in 'abc']
    self.assertEqual(reads, {'a': 1, 'b': 1, 'c': 1})
    again = [create().load_client(client_id) for client_id in 'abc']
    self.assertEqual(reads, {'a': 1, 'b': 1, 'c': 1})
    for (x, y), (x_again, y_again) in zip(first, again, strict=True):
      np.testing.assert_array_equal(x, x_again)
      np.testing.assert_array_equal(y, y_again)
      self.assertEqual(y_again.dtype, np.int32)
    keys['b'] = 'n'
    clients = {**clients, 'b': (_images(7), np.zeros(5, np.int32))}
    x, y = create().load_client('b')
    np.testing.assert_array_equal(x, _Extractor().extract(_images(7)))
    self.assertLen(y, 5)
