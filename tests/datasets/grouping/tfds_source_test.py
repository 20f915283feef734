# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of data sets of TFDS as sources."""

import collections
import json
import pathlib
import shutil
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import tfds_source
from tests.launch.data import tiny_tfds

from absl.testing import parameterized
import dataset_grouper
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow_datasets.core.utils import gcs_utils

_FLAT = ('author', 'height', 'image', 'kind', 'sizes', 'species')


class TinyPages(tfds.core.GeneratorBasedBuilder):
  """Pages with features in a feature."""

  VERSION = tfds.core.Version('1.0.0')
  code_path = None

  def _info(self):
    return tfds.core.DatasetInfo(
      builder=self,
      features=tfds.features.FeaturesDict(
        {
          'url': tfds.features.Text(),
          'text': tfds.features.Text(),
          'meta': {'length': np.int32, 'is_new': np.bool_},
        }
      ),
      disable_shuffling=True,
    )

  def _split_generators(self, dl_manager):
    return {'train': self._generate_examples()}

  def _generate_examples(self):
    for i, (url, text) in enumerate(
      [
        ('http://www.a.org/1', 'one two'),
        ('http://a.org/2', 'three'),
        ('http://b.org/2', ' '),
        ('b.org', 'four'),
        ('http://c.co.uk', b'\xff'),
        ('http://x.c.co.uk', 'five'),
      ]
    ):
      meta = {'length': i, 'is_new': i == 5}
      yield i, {'url': url, 'text': text, 'meta': meta}


class TfdsSourceTest(tiny_tfds.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.leaves = tfds.builder_from_directory(cls.data_dir / 'tiny_leaves/1.0.0')
    with mock.patch.object(gcs_utils, '_is_gcs_disabled', True):
      cls.pages = TinyPages(data_dir=cls.data_dir)
      cls.pages.download_and_prepare()

  def _create(self, builder, key, **options):
    return grouping.create_tfds_source(
      builder,
      split=options.pop('split', 'train'),
      key=grouping.ClientKey(name=key),
      **options,
    )

  def _group(self, source, **options):
    """Returns the examples of each group that the stock loader reads."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    grouped = grouping.group(
      source, folder, options=grouping.GroupingOptions(**options)
    )
    described = json.loads((folder / 'dataset.json').read_text())
    stock = dataset_grouper.PartitionedDataset(
      f'{folder}/*.tfrecord',
      grouping.features_from_json(described['features']),
    )
    groups = [
      list(tfds.as_numpy(group)) for group in stock.build_group_stream()
    ]
    return groups, grouped, described

  @parameterized.parameters('author', 'kind')
  def test_every_example_in_its_group(self, key):
    expected = tiny_tfds.examples()
    source = self._create(self.leaves, key, features=_FLAT)
    part_bytes = source.num_bytes // 3
    with mock.patch.object(tfds_source, '_PART_BYTES', part_bytes):
      self.assertLen(source.parts(), 4)
      groups, _, described = self._group(source, num_shards=2)
    counts = collections.Counter(
      expected[key].tolist()
      if key == 'author'
      else [tiny_tfds.KINDS[i] for i in expected[key]]
    )
    self.assertCountEqual(map(len, groups), counts.values())
    found = []
    for group in groups:
      self.assertLen({example[key] for example in group}, 1)
      # In the order of the data set.
      found.append([example['image'].tobytes() for example in group])
    by_pixels = {
      pixels.tobytes(): i
      for i, pixels in enumerate(expected['image'].astype(np.int64))
    }
    indices = [[by_pixels[pixels] for pixels in group] for group in found]
    for group in indices:
      self.assertEqual(group, sorted(group))
    self.assertCountEqual(sum(indices, []), range(tiny_tfds.NUM_EXAMPLES))
    for group, numbers in zip(groups, indices):
      for example, i in zip(group, numbers):
        self.assertEqual(example['author'].decode(), expected['author'][i])
        self.assertEqual(example['species'], expected['species'][i])
        self.assertEqual(example['height'], expected['height'][i])
        np.testing.assert_array_equal(example['sizes'], expected['sizes'][i])
    self.assertEqual(
      described['source'],
      {
        'format': 'tfds',
        'input': 'tiny_leaves/1.0.0',
        'split': 'train',
        'examples': 240,
      },
    )

  def test_pages_by_host(self):
    groups, grouped, described = self._group(
      self._create(self.pages, 'host'), max_bad_fraction=0.5
    )
    self.assertEqual(
      described['features'],
      {
        'meta/is_new': {'dtype': 'int64', 'shape': []},
        'meta/length': {'dtype': 'int64', 'shape': []},
        'text': {'dtype': 'string', 'shape': []},
        'url': {'dtype': 'string', 'shape': []},
      },
    )
    self.assertCountEqual(
      [[e['text'] for e in group] for group in groups],
      [[b'one two', b'three'], [b'five']],
    )
    self.assertCountEqual(
      [[(e['meta/length'], e['meta/is_new']) for e in g] for g in groups],
      [[(0, 0), (1, 0)], [(5, 1)]],
    )
    self.assertEqual(
      grouped.skipped,
      {'missing_text': 1, 'invalid_url': 1, 'invalid_utf8': 1},
    )
    self.assertEqual(
      grouped.named['invalid_url'],
      ['tiny_pages/1.0.0 train, part 1 of 1, example 4'],
    )
    self.assertEqual(grouped.statistics()['total']['words'], 4)

  def test_a_key_that_is_not_kept(self):
    source = self._create(self.pages, 'registered_domain', features=['text'])
    items = list(source.read(source.parts()[0], lambda _: None))
    self.assertEqual(
      [i.client_id for i in items if isinstance(i, sources.SourceExample)],
      ['a.org', 'a.org', 'c.co.uk'],
    )

  def test_classes_without_a_name_have_no_client(self):
    source = self._create(
      self.leaves, 'species', split='unlabelled', features=['height']
    )
    items = list(source.read(source.parts()[0], lambda _: None))
    self.assertEqual({item.kind for item in items}, {'missing_key'})

  def test_a_part_of_a_split(self):
    source = self._create(
      self.leaves, 'author', split='train[10:30]', features=['height']
    )
    self.assertEqual(source.num_examples, 20)
    items = list(source.read(source.parts()[0], lambda _: None))
    self.assertEqual(
      [item.client_id for item in items],
      tiny_tfds.examples()['author'][10:30].tolist(),
    )

  @parameterized.parameters(
    ('author', {}, r"'boxes' of .* is Seq.*--features=author,height,image,"),
    ('author', {'features': ['boxes']}, "'boxes' of .* is Sequence"),
    ('author', {'features': ['tree']}, "no feature 'tree'; it has author"),
    ('author', {'features': []}, 'No feature of'),
    ('tree', {'features': _FLAT}, "no feature 'tree'; it has author"),
    ('host', {'features': _FLAT}, "no feature 'url' or 'domain'"),
    ('height', {'features': _FLAT}, "'height' of .* to be a key"),
    ('sizes', {'features': _FLAT}, "'sizes' of .* to be a key"),
    ('photo', {'features': _FLAT}, "'photo' of .* to be a key"),
    ('author', {'features': _FLAT, 'split': 'test'}, "split .*got 'test'"),
    ('author', {'features': _FLAT, 'split': 'train[:0]'}, 'must have exam'),
  )
  def test_wrong_choices(self, key, options, message):
    with self.assertRaisesRegex(errors.InputError, message):
      self._create(self.leaves, key, **options)

  def test_examples_that_cannot_be_decoded(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / '1.0.0'
    shutil.copytree(self.leaves.data_path, folder)
    (path,) = folder.glob('*-train.tfrecord*')
    records = [
      tf.train.Example.FromString(record)
      for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    ]
    large = tf.io.encode_png(np.zeros((5, 3, 1), np.uint8)).numpy()
    bad = {0: b'no image', 100: large, 101: b'', 239: b'no image'}
    for number, image in bad.items():
      records[number].features.feature['image'].bytes_list.value[:] = [image]
    # A species that has no name, and one that is no number.
    records[7].features.feature['species'].int64_list.value[:] = [99]
    del records[8].features.feature['species']
    with tf.io.TFRecordWriter(str(path)) as writer:
      for record in records:
        writer.write(record.SerializeToString())
    source = self._create(
      tfds.builder_from_directory(folder), 'species', features=['image']
    )
    with mock.patch.object(tfds_source, '_BATCH_SIZE', 50):
      items = list(source.read(source.parts()[0], lambda _: None))
    self.assertLen(items, tiny_tfds.NUM_EXAMPLES)
    expected = tiny_tfds.examples()
    for number, item in enumerate(items):
      if number in {*bad, 7, 8}:
        self.assertEqual(item.kind, 'undecodable', number)
        self.assertEndsWith(item.where, f'example {number + 1}')
      else:
        self.assertEqual(
          item.client_id, tiny_tfds.SPECIES[expected['species'][number]]
        )
        np.testing.assert_array_equal(
          item.values['image'], expected['image'][number]
        )

  def test_damaged_files(self):
    folder = pathlib.Path(self.create_tempdir().full_path) / '1.0.0'
    shutil.copytree(self.leaves.data_path, folder)
    (path,) = folder.glob('*-train.tfrecord*')
    path.write_bytes(path.read_bytes()[:-5])
    source = self._create(
      tfds.builder_from_directory(folder), 'author', features=['height']
    )
    with self.assertRaisesRegex(errors.InputError, 'cannot be read'):
      self._group(source)
