# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of examples and records, against TensorFlow and TFDS."""

import json
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets import grouped_examples
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets import grouping

from absl.testing import absltest
from absl.testing import parameterized
from dataset_grouper import serialization
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf

_FEATURES = {
  'box': tf.TensorSpec([2, 2], tf.float32),
  'count': tf.TensorSpec([], tf.int64),
  'text': tf.TensorSpec([], tf.string),
}
_EXAMPLES = st.lists(
  st.fixed_dictionaries(
    {
      'box': st.lists(
        st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2),
        min_size=2,
        max_size=2,
      ),
      'count': st.integers(-(2**63), 2**63 - 1),
      'text': st.binary(max_size=20),
    }
  ),
  max_size=5,
)


def _encode(examples):
  """The record of a client as Dataset Grouper makes it."""
  serialized = []
  for example in examples:
    message = tf.train.Example()
    for name, value in example.items():
      feature = message.features.feature[name]
      values = [value] if isinstance(value, bytes) else np.ravel(value)
      if isinstance(value, bytes):
        feature.bytes_list.value.extend(values)
      elif values.dtype.kind == 'f':
        feature.float_list.value.extend(values)
      else:
        feature.int64_list.value.extend(values.astype(np.int64))
    serialized.append(message.SerializeToString())
  return serialization.create_sequence_example(serialized).SerializeToString()


def _decode(record, features=None):
  return grouped_examples.decode_examples(
    record, features or _FEATURES, client_id='c'
  )


class GroupedExamplesTest(parameterized.TestCase):
  @settings(max_examples=50)
  @given(_EXAMPLES)
  def test_there_and_back(self, examples):
    record = _encode(examples)
    if not examples:
      return
    found = _decode(record)
    # As TensorFlow parses it, which knows nothing of our functions.
    _, lists = tf.io.parse_single_sequence_example(
      record,
      sequence_features={
        'serialized_bytes': tf.io.FixedLenSequenceFeature([], tf.string)
      },
    )
    parsed = tf.io.parse_example(
      lists['serialized_bytes'],
      {
        name: tf.io.FixedLenFeature(spec.shape, spec.dtype)
        for name, spec in _FEATURES.items()
      },
    )
    for name, spec in _FEATURES.items():
      np.testing.assert_array_equal(found[name], parsed[name].numpy())
      np.testing.assert_array_equal(
        found[name],
        np.array([e[name] for e in examples], spec.dtype.as_numpy_dtype),
      )
      self.assertEqual(found[name].shape, (len(examples), *spec.shape))
    self.assertEqual(found['text'].dtype, object)

  def test_other_dtypes(self):
    features = {
      'flag': tf.TensorSpec([], tf.bool),
      'half': tf.TensorSpec([1], tf.float64),
    }
    record = _encode([{'flag': True, 'half': [0.5]}])
    found = _decode(record, features)
    self.assertEqual(found['flag'].dtype, bool)
    np.testing.assert_array_equal(found['half'], np.array([[0.5]]))

  @parameterized.named_parameters(
    ('missing', {'text': b'a'}, r"'count' \(int64_list\).*0"),
    ('of_another_type', {'count': 1.5}, "Example 1 of client 'c' .*0"),
    ('of_another_shape', {'count': [1, 2]}, "feature 'count' .*2"),
  )
  def test_bad_feature(self, example, regex):
    record = _encode([{'count': 1}, example])
    with self.assertRaisesRegex(errors.InputError, regex):
      _decode(record, {'count': _FEATURES['count']})

  def test_no_such_record(self):
    bad_example = tf.train.SequenceExample()
    bad_example.feature_lists.feature_list[
      'serialized_bytes'
    ].feature.add().bytes_list.value.append(b'\xff')
    for record, regex in (
      (b'\xff\xff', "'c' .*cannot be parsed"),
      (b'', "'c' .*feature list 'serialized_bytes'"),
      (bad_example.SerializeToString(), 'must be a tensorflow.Example'),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        _decode(record)


_DESCRIBED = grouped_folder.features_to_json(
  {
    'text': tf.TensorSpec([], tf.string),
    'a/size': tf.TensorSpec([], tf.int64),
    'place': tf.TensorSpec([2, 1], tf.float32),
    'counts': tf.TensorSpec([3], tf.int64),
    'none': tf.TensorSpec([0], tf.float32),
  }
)
_EXAMPLE = {
  'text': 'Zoë\0 \n went'.encode(),
  'a/size': np.int64(-5),
  'place': np.array([[0.5], [-1.25]], np.float32),
  'counts': np.array([1, 2**62, -(2**63)]),
  'none': np.zeros([0], np.float32),
}


class EncodingTest(absltest.TestCase):
  def test_tfds_reads_the_bytes_and_writes_the_same(self):
    features = grouping.features_from_json(json.loads(json.dumps(_DESCRIBED)))
    encoded = grouped_examples.encode_example(_EXAMPLE, _DESCRIBED)
    found = features.deserialize_example(encoded)
    self.assertEqual(set(found), set(_EXAMPLE))
    for name, value in _EXAMPLE.items():
      np.testing.assert_array_equal(found[name].numpy(), value)
      self.assertEqual(found[name].dtype.name, _DESCRIBED[name]['dtype'])
    ours, theirs = (
      tf.train.Example.FromString(serialized)
      for serialized in (encoded, features.serialize_example(_EXAMPLE))
    )
    self.assertEqual(ours, theirs)

  def test_the_order_of_features_makes_no_difference(self):
    self.assertEqual(
      grouped_examples.encode_example(_EXAMPLE, _DESCRIBED),
      grouped_examples.encode_example(
        _EXAMPLE, dict(reversed(_DESCRIBED.items()))
      ),
    )


class WordsTest(absltest.TestCase):
  def _count(self, **values):
    dtypes = {n: 'int64' if v == 4 else 'string' for n, v in values.items()}
    features = {n: {'dtype': t, 'shape': []} for n, t in dtypes.items()}
    return grouped_examples.count_words(values, features)

  def test_words_of_the_text(self):
    text = ' a\u00a0b\n\tc '.encode()
    self.assertEqual(self._count(text=text, url=b'd e'), 3)

  def test_words_of_all_strings(self):
    self.assertEqual(self._count(title=b'a', body=b'b \xff c', size=4), 4)

  @given(st.text(st.sampled_from('ab \n\u00a0ö')), st.integers(1, 5))
  def test_words_of_long_texts(self, text, piece):
    with mock.patch.object(grouped_examples, '_PIECE_LETTERS', piece):
      self.assertLen(text.split(), self._count(text=text.encode()))
