# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients as records, against TensorFlow's own parsing."""

from fedfish_tff import errors
from fedfish_tff.datasets import grouped_examples

from absl.testing import parameterized
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


def _decode(record, features=None):
  return grouped_examples.decode_examples(
    record, features or _FEATURES, client_id='c'
  )


class GroupedExamplesTest(parameterized.TestCase):
  @settings(max_examples=50, deadline=None)
  @given(_EXAMPLES)
  def test_there_and_back(self, examples):
    record = grouped_examples.encode_examples(examples)
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

  def test_text_is_utf8(self):
    record = grouped_examples.encode_examples([{'text': 'naïve ü'}])
    (text,) = _decode(record, {'text': _FEATURES['text']})['text']
    self.assertEqual(text, 'naïve ü'.encode())

  def test_other_dtypes(self):
    features = {
      'flag': tf.TensorSpec([], tf.bool),
      'half': tf.TensorSpec([1], tf.float64),
    }
    record = grouped_examples.encode_examples([{'flag': True, 'half': [0.5]}])
    found = _decode(record, features)
    self.assertEqual(found['flag'].dtype, bool)
    np.testing.assert_array_equal(found['half'], np.array([[0.5]]))

  @parameterized.named_parameters(
    ('missing', {'text': b'a'}, "0 value.*'count' .int64_list.; 1 were"),
    ('of_another_type', {'count': 1.5}, "Example 1 of client 'c' has 0 value"),
    ('of_another_shape', {'count': [1, 2]}, "2 value.* of the feature 'count'"),
  )
  def test_bad_feature(self, example, regex):
    record = grouped_examples.encode_examples([{'count': 1}, example])
    with self.assertRaisesRegex(errors.InputError, regex):
      _decode(record, {'count': _FEATURES['count']})

  def test_no_such_record(self):
    bad_example = tf.train.SequenceExample()
    bad_example.feature_lists.feature_list[
      'serialized_bytes'
    ].feature.add().bytes_list.value.append(b'\xff')
    for record, regex in (
      (b'\xff\xff', "'c' cannot be parsed .*SequenceExample was expected"),
      (b'', "'c' has no feature list 'serialized_bytes'"),
      (bad_example.SerializeToString(), 'tensorflow.Example was expected'),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        _decode(record)
