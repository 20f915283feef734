# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the division by a natural key."""

import collections

from fedfish_tff import errors
from fedfish_tff.datasets import natural_key

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np

_KEYS = st.one_of(
  st.lists(st.integers(-3, 12), min_size=1, max_size=50),
  st.lists(st.booleans(), min_size=1, max_size=50),
  st.lists(st.sampled_from(['b', '', 'a/b', 'ä']), min_size=1, max_size=50),
)


class PartitionByKeyTest(parameterized.TestCase):
  @given(keys=_KEYS, min_examples=st.integers(1, 5), as_objects=st.booleans())
  def test_groups_are_those_of_a_dictionary(
    self, keys, min_examples, as_objects
  ):
    groups = collections.defaultdict(list)
    for index, key in enumerate(keys):
      groups[key].append(index)
    expected = {
      str(key): groups[key]
      for key in sorted(groups)
      if len(groups[key]) >= min_examples
    }
    array = np.array(keys, object if as_objects else None)
    if not expected:
      with self.assertRaisesRegex(errors.InputError, 'most frequent'):
        natural_key.partition_by_key(array, min_examples=min_examples)
      return
    names, clients = natural_key.partition_by_key(
      array, min_examples=min_examples
    )
    self.assertEqual(list(names), list(expected))
    for name, indices in zip(names, clients, strict=True):
      self.assertEqual(list(indices), expected[name])
      self.assertEqual(indices.dtype, np.int64)

  @parameterized.parameters('S', object)
  def test_bytes_become_text(self, dtype):
    names, clients = natural_key.partition_by_key(
      np.array(['ä'.encode(), b'\xff', b'b', b'b'], dtype)
    )
    self.assertCountEqual(names, ['ä', r'\xff', 'b'])
    self.assertEqual(list(clients[names.index('b')]), [2, 3])

  def test_objects_of_several_types(self):
    keys = [b'b', 10, 'a', np.int64(2), True, 10, np.bool_(False), 1, np.True_]
    names, clients = natural_key.partition_by_key(np.array(keys, object))
    self.assertEqual(names, ('False', 'True', '1', '2', '10', 'a', 'b'))
    self.assertEqual(
      [list(indices) for indices in clients],
      [[6], [4, 8], [7], [3], [1, 5], [2], [0]],
    )

  @parameterized.parameters(
    ([1, '1', 2], '1'),
    (np.array([1, '1'], object), '1'),
    (np.array([True, 'True'], object), 'True'),
    (np.array([b'a', 'a'], object), 'a'),
    (np.array([b'\xff', rb'\xff']), r'\\\\xff'),
  )
  def test_keys_with_one_name(self, keys, name):
    with self.assertRaisesRegex(
      errors.InputError, f"2 different ones that are '{name}' as text"
    ):
      natural_key.partition_by_key(keys)

  @parameterized.parameters(
    ([], 'keys .* one entry per example'),
    ([[1]], 'shape'),
    ([0.5, 1.0], 'integers or strings, got 0.5'),
    (np.array([0.5, 1.0]), 'float64'),
    (np.array([None, 'a'], object), 'integers or strings, got None'),
  )
  def test_bad_keys(self, keys, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      natural_key.partition_by_key(keys)

  def test_bad_minimum(self):
    with self.assertRaisesRegex(errors.InputError, 'min_examples .*0'):
      natural_key.partition_by_key(['a'], min_examples=0)
