# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of folders of grouped clients that are not what they should be."""

import pathlib

from fedfish_tff import errors
from fedfish_tff.datasets import grouped_folder
from tests import grouped_clients

from absl.testing import parameterized
import tensorflow as tf


class GroupedFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._path = grouped_clients.write_folder(
      pathlib.Path(self.create_tempdir().full_path) / 'd',
      {
        'train': grouped_clients.make_texts(5),
        'held_out': {'a.org': ['one two', 'three']},
      },
    )

  def test_whole_folder(self):
    folder = grouped_folder.open_folder(self._path)
    self.assertEqual(folder.features, grouped_clients.TEXT)
    self.assertEqual(
      folder.splits['held_out'],
      grouped_folder.SplitSize(shards=2, clients=1, examples=2, words=3),
    )
    for split in folder.splits:
      folder.check_split(split)
    self.assertEqual(
      folder.shard_path('train', 1),
      self._path / 'train-00001-of-00002.tfrecord',
    )
    self.assertTrue(folder.index_path.is_file())

  def test_not_whole(self):
    (self._path / 'dataset.json').unlink()
    with self.assertRaisesRegex(errors.InputError, 'file .*written last'):
      grouped_folder.open_folder(self._path)

  @parameterized.named_parameters(
    ('cut', '{"format_version": 1, "fea', 'cannot be used: .*Unterminated'),
    ('no_text', b'\xff\xfe', 'cannot be used'),
    ('a_list', '[]', 'an object'),
    ('newer', '{"format_version": 2}', 'format_version must be .*got 2'),
    (
      'lacking',
      '{"format_version": 1, "features": {}}',
      'splits must be .*got None',
    ),
    (
      'odd',
      '{"format_version": 1, "features": {"a": {"dtype": "x", "shape": []}},'
      ' "splits": {}}',
      'cannot be used',
    ),
  )
  def test_bad_description(self, content, regex):
    data = content if isinstance(content, bytes) else content.encode()
    (self._path / 'dataset.json').write_bytes(data)
    with self.assertRaisesRegex(errors.InputError, regex) as caught:
      grouped_folder.open_folder(self._path)
    self.assertNotIn('\n', str(caught.exception))

  def test_missing_split_and_shard(self):
    folder = grouped_folder.open_folder(self._path)
    with self.assertRaisesRegex(
      errors.InputError, "no clients in split 'test'; found held_out, train"
    ):
      folder.check_split('test')
    with self.assertRaisesRegex(
      errors.InputError,
      r"'validation' \(.* --validation_fraction\); found held",
    ):
      folder.check_split('validation')
    folder.shard_path('train', 1).unlink()
    with self.assertRaisesRegex(errors.InputError, 'file .*2'):
      folder.check_split('train')
    folder.check_split('held_out')

  def test_features(self):
    folder = grouped_folder.open_folder(self._path)
    self.assertEqual(
      folder.select_features(('text',)), {'text': tf.TensorSpec([], tf.string)}
    )
    for names, regex in (
      (('text', 'url'), "no feature 'url'; found text"),
      ((), 'at least one name'),
      ('text', "features .*'text'"),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        folder.select_features(names)
