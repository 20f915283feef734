# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ragged_values: tables of HLO's integers, against plain Python."""

import math
import types

from fedfish_tff.execution.running import ragged_values

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np

_NUMBERS = st.integers(-20, 20)


def _instruction(opcode, shape=(), **fields):
  shape = types.SimpleNamespace(dimensions=shape)
  return types.SimpleNamespace(opcode=opcode, shape=shape, **fields)


def _table(values, source='rows'):
  """Returns a table with a row more for the larger bound."""
  values = np.array(values, np.int64)
  return ragged_values.Table(source, values, np.append(values, values[-1:], 0))


def _tabulate(instruction, *tables):
  return ragged_values.tabulate(instruction, instruction, tables)


class RaggedValuesTest(absltest.TestCase):
  @hypothesis.given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS.filter(bool)), min_size=1, max_size=6)
  )
  def test_divides_as_xla_does(self, pairs):
    found = _tabulate(_instruction('divide'), *map(_table, zip(*pairs)))
    self.assertEqual(
      found.small.tolist(), [math.trunc(a / b) for a, b in pairs]
    )

  @hypothesis.given(st.lists(_NUMBERS, min_size=2, max_size=6))
  def test_rearranges(self, numbers):
    pairs = np.stack([numbers, np.array(numbers) + 1], axis=1)
    kept = types.SimpleNamespace(start=1, limit=2, stride=1)
    cut = _tabulate(
      _instruction('slice', [1], slice_dimensions=[kept]), _table(pairs)
    )
    joined = _tabulate(
      _instruction('concatenate', [3], dimensions=[0]), _table(pairs), cut
    )
    self.assertEqual(
      joined.small.tolist(), [[n, n + 1, n + 1] for n in numbers]
    )
    less = _tabulate(
      _instruction('compare', comparison_direction='LT'),
      _table(numbers),
      _table(numbers[::-1]),
    )
    self.assertEqual(
      less.small.tolist(), [a < b for a, b in zip(numbers, numbers[::-1])]
    )

  def test_is_exact_where_the_bound_changes_nothing(self):
    self.assertTrue(_table([1, 2]).is_exact)
    other = ragged_values.Table('rows', np.arange(3), np.arange(1, 5))
    self.assertFalse(other.is_exact)
    self.assertFalse(ragged_values.Value((None,), other).is_exact)

  def test_knows_no_values_of_two_numbers_of_rows_or_of_other_operations(self):
    ours, theirs = _table([1, 2]), _table([1, 2], source='others')
    self.assertIsNone(_tabulate(_instruction('add'), ours, theirs))
    self.assertIsNone(_tabulate(_instruction('sort'), ours))
    self.assertIsNone(_tabulate(_instruction('add'), ours, None))
