# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of manifests, checked JSON, hooks and flat metrics."""

import asyncio
import collections
import json
import pathlib
import shutil

from fedfish_tff import errors
from fedfish_tff.simulation import checked_json
from fedfish_tff.simulation import checkpoint_manifest
from fedfish_tff.simulation import checkpoints
from fedfish_tff.simulation import hooks
from fedfish_tff.simulation import metrics_flattening

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np


class CheckpointManifestTest(absltest.TestCase):
  def test_those_that_cannot_be_read_are_left_out(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    manager = checkpoints.CheckpointManager(
      folder, keep_total=3, run_digests=lambda version: {'a': str(version)}
    )
    for version in (1, 2, 10):
      asyncio.run(manager.save([np.float32(version)], version))
    (folder / 'program_state_2.npz').write_bytes(b'')
    (folder / 'program_state_x.npz').mkdir()
    shutil.copy(folder / 'program_state_1.npz', folder / 'program_state_3.npz')
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


_CONTENT = {'rounds': 3, 'final': {'a': 0.1, 'b': None}, 'names': ['x', 'y']}


class CheckedJsonTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, 'a.json')

  def test_comes_back_from_a_file(self):
    text = json.dumps(checked_json.add_checksum(_CONTENT), indent=2)
    self.path.write_text(text)
    self.assertEqual(checked_json.read(self.path, {}), _CONTENT)

  @given(st.data())
  @settings(max_examples=200)
  def test_no_flipped_bit_goes_unnoticed(self, data):
    content = json.dumps(checked_json.add_checksum(_CONTENT)).encode()
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    self.path.write_bytes(damaged)
    try:
      found = checked_json.read(self.path, {})
    except errors.InputError:
      return
    self.assertEqual(found, _CONTENT)

  def test_without_a_checksum(self):
    self.path.write_text(json.dumps(_CONTENT))
    with self.assertRaisesRegex(errors.InputError, 'checksum .*None'):
      checked_json.read(self.path, {})


class RunTest(absltest.TestCase):
  def test_a_run_with_a_checkpoint_is_resumed(self):
    for last_round in (None, 0):
      run = hooks.Run(0, last_round, lambda r: (), {}, list, lambda r: None)
      self.assertEqual(run.is_resumed, last_round == 0)


_Pair = collections.namedtuple('_Pair', ('low', 'high'))


class FlattenMetricsTest(parameterized.TestCase):
  def test_names_the_metrics_of_a_learning_process(self):
    metrics = collections.OrderedDict(
      distributor=(),
      client_work=collections.OrderedDict(
        train=collections.OrderedDict(loss=np.float32(0.1), num_examples=7),
        excluded_clients=np.int32(2),
      ),
      aggregator=collections.OrderedDict(
        mean_value=(),
        fisher=[np.array([1.0, 2.0]), np.array(3.0)],
        range=_Pair(True, np.int64(2**40)),
        sent=collections.OrderedDict({'layer/kernel': np.float32(0.5)}),
        payload_bytes=np.int64(2**33),
      ),
      finalizer=collections.OrderedDict(update_non_finite=0),
    )
    flat = metrics_flattening.flatten_metrics(metrics)
    self.assertEqual(
      list(flat.items()),
      [
        ('train/loss', float(np.float32(0.1))),
        ('train/num_examples', 7),
        ('train/excluded_clients', 2),
        ('aggregator/fisher/0/0', 1.0),
        ('aggregator/fisher/0/1', 2.0),
        ('aggregator/fisher/1', 3.0),
        ('aggregator/range/low', 1),
        ('aggregator/range/high', 2**40),
        ('aggregator/sent/layer/kernel', 0.5),
        ('communication/payload_bytes', 2**33),
        ('finalizer/update_non_finite', 0),
      ],
    )
    self.assertEqual({type(v) for v in flat.values()}, {int, float})

  @given(st.floats(width=32) | st.floats() | st.integers(-(2**63), 2**63 - 1))
  def test_keeps_every_bit(self, number):
    dtype = np.int64 if isinstance(number, int) else np.float64
    found = metrics_flattening.to_number(np.asarray(number, dtype))
    np.testing.assert_array_equal(found, number)

  @parameterized.parameters('text', None, b'bytes', 1j)
  def test_rejects_what_is_not_a_number(self, value):
    with self.assertRaisesRegex(TypeError, 'must be a number'):
      metrics_flattening.flatten_metrics({'a': value})
