# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of one client's examples."""

from fedfish_tff import errors
from fedfish_tff.datasets import examples as examples_lib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_SPEC = (tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int32))


def _pair(n=3, num_features=2, dtype=np.float32):
  return np.ones([n, num_features], dtype), np.zeros([n], np.int32)


class ValidateExamplesTest(parameterized.TestCase):
  def test_valid_examples_come_back_read_only_and_uncopied(self):
    x, y = _pair()
    found_x, found_y = examples_lib.validate_examples(
      (x, y), client_id='c', element_spec=_SPEC
    )
    self.assertTrue(np.shares_memory(x, found_x))
    self.assertTrue(x.flags.writeable)
    with self.assertRaises(ValueError):
      found_x[0, 0] = 2
    with self.assertRaises(ValueError):
      found_y += 1

  def _assert_refused(self, examples, regex, **kwargs):
    with self.assertRaisesRegex(errors.InputError, regex) as context:
      examples_lib.validate_examples(examples, client_id='bob', **kwargs)
    self.assertIn("'bob'", str(context.exception))
    self.assertNotIn('\n', str(context.exception))

  def test_no_examples(self):
    self._assert_refused(_pair(0), 'at least one example')
    examples_lib.validate_examples(
      _pair(0), client_id='bob', element_spec=_SPEC, allow_empty=True
    )

  def test_lengths_differ(self):
    x, y = _pair()
    self._assert_refused((x, y[:2]), r"'x': 3, 'y': 2")

  @parameterized.parameters(np.nan, np.inf, -np.inf)
  def test_non_finite_values_are_counted(self, value):
    x, y = _pair()
    x[1, :] = value
    self._assert_refused((x, y), "'x' .*2 NaN or infinite .*6")

  def test_non_finite_labels(self):
    x, _ = _pair()
    self._assert_refused((x, np.array([0.0, np.nan, 1.0])), "'y' .* 1 NaN")

  def test_feature_shape_differs(self):
    self._assert_refused(
      _pair(num_features=5),
      r"'x' .*float32\[5\]",
      element_spec=_SPEC,
    )

  def test_dtype_differs(self):
    self._assert_refused(
      _pair(dtype=np.float64),
      r"'x' .*float64\[2\]",
      element_spec=_SPEC,
    )

  def test_structure_differs(self):
    self._assert_refused(_pair()[:1], r"\['x', 'y'\]", element_spec=_SPEC)

  def test_masked_values(self):
    x, y = _pair()
    masked = np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) == 1)
    self._assert_refused(
      (masked, y), f"'x' .* masked values, got 1 of {x.size}"
    )
    examples_lib.validate_examples((np.ma.masked_array(x), y), client_id='c')

  def test_objects(self):
    self._assert_refused(
      (np.array([1, None], object), np.zeros(2)), "'x' .* Python objects"
    )
    self._assert_refused(
      (np.array([b'a', 'b'], object), np.zeros(2)), "'x' .* texts as bytes"
    )

  @parameterized.parameters('datetime64[s]', 'timedelta64', 'g', 'G', 'f4,i4')
  def test_dtypes_that_tensorflow_does_not_know(self, dtype):
    self._assert_refused(
      (np.zeros(2), np.zeros(2, dtype)), "'y' .*which TensorFlow"
    )

  def test_texts(self):
    texts = np.array([b'a', 'naïve'.encode()], object)
    found = examples_lib.validate_examples({'text': texts}, client_id='c')
    self.assertIs(found['text'][1], texts[1])
    self.assertFalse(found['text'].flags.writeable)
    self.assertEqual(
      examples_lib.spec_of_examples(found),
      {'text': tf.TensorSpec([], tf.string)},
    )
    for text, num_bytes in (('', 0), ('a' * 1000, 1000)):
      array = np.array([text.encode()], object)
      self.assertBetween(
        examples_lib.count_bytes(array), num_bytes + 8, num_bytes + 60
      )

  def test_scalars(self):
    self._assert_refused((np.ones([3, 2]), np.array(1)), "'y' .*single value")

  def test_no_arrays(self):
    self._assert_refused((), 'no arrays')
    self._assert_refused(
      tf.data.Dataset.from_tensor_slices(_pair()),
      'tf.data.Dataset.*arrays',
    )


class HelpersTest(absltest.TestCase):
  def test_array_names(self):
    a = np.zeros(1)
    self.assertEqual(examples_lib.array_names((a, a)), ['x', 'y'])
    self.assertEqual(examples_lib.array_names({'b': a, 'a': a}), ['a', 'b'])
    self.assertEqual(
      examples_lib.array_names(({'q': a, 'p': (a, a)}, a)),
      ['x/p/0', 'x/p/1', 'x/q', 'y'],
    )
    self.assertEqual(examples_lib.array_names(a), ['array'])

  def test_counts_and_take(self):
    examples = (np.arange(8.0).reshape(4, 2), np.arange(4, dtype=np.int32))
    self.assertEqual(examples_lib.count_examples(examples), 4)
    self.assertEqual(examples_lib.count_bytes(examples), 8 * 8 + 4 * 4)
    x, y = examples_lib.take_examples(examples, np.array([3, 1, 1]))
    np.testing.assert_array_equal(y, [3, 1, 1])
    np.testing.assert_array_equal(x, [[6, 7], [2, 3], [2, 3]])

  def test_spec(self):
    self.assertEqual(examples_lib.spec_of_examples(_pair()), _SPEC)
