# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of ids in an array, against a tuple of them."""

from fedfish_tff import errors
from fedfish_tff.datasets import sorted_ids

from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import pyarrow as pa

# What can be encoded as UTF-8.
_TEXT = st.text(st.characters(exclude_categories=('Cs',)), max_size=5)


def _ids(values):
  return sorted_ids.SortedIds(pa.array(values, pa.large_string()))


class SortedIdsTest(parameterized.TestCase):
  @settings(max_examples=200)
  @given(st.sets(_TEXT, max_size=30), _TEXT, st.data())
  def test_is_like_a_tuple(self, values, other, data):
    expected = tuple(sorted(values))
    ids = _ids(expected)
    self.assertLen(ids, len(expected))
    self.assertEqual(tuple(ids), expected)
    self.assertEqual(tuple(reversed(ids)), expected[::-1])
    for i in range(-len(expected), len(expected)):
      self.assertEqual(ids[i], expected[i])
    for value in (*expected, other):
      self.assertEqual(value in ids, value in expected)
      self.assertEqual(ids.count(value), expected.count(value))
      self.assertEqual(
        sorted_ids.contains_id(expected, value), value in expected
      )
      self.assertEqual(ids.find(value) is None, value not in expected)
      if value in expected:
        self.assertEqual(ids.index(value), expected.index(value))
    bound = st.none() | st.integers(-35, 35)
    step = data.draw(st.sampled_from([None, 1, 2, -1, -3]))
    part = slice(data.draw(bound), data.draw(bound), step)
    self.assertEqual(tuple(ids[part]), expected[part])
    if step in (None, 1):
      self.assertEqual(
        [v in ids[part] for v in values], [v in expected[part] for v in values]
      )

  def test_places_out_of_range(self):
    ids = _ids(['a', 'b'])
    for i in (2, -3):
      with self.assertRaises(IndexError):
        ids[i]
    for arguments in (('c',), ('a', 1), ('b', 0, 1), ('a', 5)):
      with self.assertRaises(ValueError):
        ids.index(*arguments)
    self.assertNotIn(None, ids)

  def test_a_part_is_no_copy(self):
    ids = _ids([f'{i:06}' for i in range(100_000)])
    before = pa.total_allocated_bytes()
    part = ids[10_000:90_000]
    self.assertLess(pa.total_allocated_bytes() - before, 10_000)
    self.assertEqual(part[0], '010000')
    self.assertLess(ids.nbytes, 2e6)
    self.assertEqual(sum(1 for _ in ids), 100_000)

  @parameterized.parameters(
    (['b', 'a'], "'a' .*'b'"),
    (['a', 'b', 'b'], "'b' .*'b'"),
    (['a', None], '1 of 2 missing'),
  )
  def test_bad_ids(self, values, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      _ids(values)

  def test_repr(self):
    self.assertEqual(repr(_ids(['a'])), "SortedIds(['a'])")
    self.assertEqual(repr(_ids('abcd')), "SortedIds(['a', 'b', 'c', ...])")
