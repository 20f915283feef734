# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of examples as flat features."""

import json
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import flat_features

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf

_FEATURES = {
  'text': flat_features.FlatFeature('string'),
  'a/size': flat_features.FlatFeature('int64'),
  'place': flat_features.FlatFeature('float32', (2, 1)),
  'counts': flat_features.FlatFeature('int64', (3,)),
}
_EXAMPLE = {
  'text': 'Zoë\0 \n went'.encode(),
  'a/size': np.int32(-5),
  'place': np.array([[0.5], [-1.25]]),
  'counts': np.array([1, 2**62, -(2**63)]),
}


class SerializationTest(parameterized.TestCase):
  def test_tfds_reads_the_bytes(self):
    described = json.loads(
      json.dumps(flat_features.features_to_json(_FEATURES))
    )
    features = flat_features.features_from_json(described)
    found = features.deserialize_example(
      flat_features.serialize_example(_EXAMPLE, _FEATURES)
    )
    self.assertEqual(set(found), set(_EXAMPLE))
    for name, value in _EXAMPLE.items():
      np.testing.assert_array_equal(found[name].numpy(), value)
      self.assertEqual(found[name].dtype.name, _FEATURES[name].dtype)

  def test_tfds_writes_the_same(self):
    features = flat_features.features_from_json(
      flat_features.features_to_json(_FEATURES)
    )
    typed = {
      **_EXAMPLE,
      'place': _EXAMPLE['place'].astype(np.float32),
      'a/size': np.int64(-5),
    }
    ours, theirs = (
      tf.train.Example.FromString(serialized)
      for serialized in (
        flat_features.serialize_example(_EXAMPLE, _FEATURES),
        features.serialize_example(typed),
      )
    )
    self.assertEqual(ours, theirs)

  def test_the_order_of_features_makes_no_difference(self):
    self.assertEqual(
      flat_features.serialize_example(_EXAMPLE, _FEATURES),
      flat_features.serialize_example(
        _EXAMPLE, dict(reversed(_FEATURES.items()))
      ),
    )

  @parameterized.parameters(
    {},
    {'dtype': 'int64'},
    {'dtype': 'uint8', 'shape': []},
    {'dtype': 'string', 'shape': [2]},
    {'dtype': 'int64', 'shape': ['a']},
  )
  def test_wrong_descriptions(self, **entry):
    with self.assertRaisesRegex(errors.InputError, "Feature 'x' is described"):
      flat_features.features_from_json({'x': entry})


class WordsTest(parameterized.TestCase):
  def test_words_of_the_text(self):
    features = {
      name: flat_features.FlatFeature('string') for name in ('text', 'url')
    }
    example = {'text': ' a\u00a0b\n\tc '.encode(), 'url': b'd e'}
    self.assertEqual(flat_features.count_words(example, features), 3)

  @given(st.text(st.sampled_from('ab \n\u00a0ö')), st.integers(1, 5))
  def test_words_of_long_texts(self, text, piece):
    features = {'text': flat_features.FlatFeature('string')}
    with mock.patch.object(flat_features, '_PIECE_LETTERS', piece):
      self.assertLen(
        text.split(),
        flat_features.count_words({'text': text.encode()}, features),
      )

  def test_words_of_all_strings(self):
    features = {
      'title': flat_features.FlatFeature('string'),
      'body': flat_features.FlatFeature('string'),
      'size': flat_features.FlatFeature('int64'),
    }
    example = {'title': b'a', 'body': b'b \xff c', 'size': 4}
    self.assertEqual(flat_features.count_words(example, features), 4)
