# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of expressions and local functions."""

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import local_functions

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_VALUES = {0: 'zero', 1: ('one', ('two', 'three')), 2: (((('deep',),),),)}


def _parts(value_id, path=()):
  """Returns all parts of a value: (expression, what it stands for)."""
  value = _VALUES[value_id]
  for index in path:
    value = value[index]
  parts = [(expressions.part(value_id, path), value)]
  if isinstance(value, tuple):
    for index in range(len(value)):
      parts += _parts(value_id, (*path, index))
  return parts


_LEAVES = st.sampled_from([p for i in _VALUES for p in _parts(i)])

_EXPRESSIONS = st.recursive(
  _LEAVES,
  lambda children: st.lists(children, max_size=3).map(
    lambda pairs: (
      expressions.Struct(tuple(e for e, _ in pairs)),
      tuple(v for _, v in pairs),
    )
  ),
)


class ExpressionsTest(absltest.TestCase):
  @hypothesis.given(_EXPRESSIONS, st.sets(_LEAVES.map(lambda pair: pair[0])))
  def test_replaced_parts_stand_for_the_same(self, pair, replaced):
    expression, expected = pair
    values = dict(_VALUES)
    replacements = {}
    for part in replaced:
      new_id = len(values)
      values[new_id] = expressions.evaluate(part, _VALUES.__getitem__)
      (use,) = expressions.uses(part)
      replacements[use] = new_id
    result = expressions.replace_parts(expression, replacements)
    self.assertEqual(expressions.evaluate(result, values.__getitem__), expected)
    for use in expressions.uses(result):
      self.assertNotIn(use, replacements)


class SequencesTest(absltest.TestCase):
  def test_select_of_named_slices(self):
    # A type as compilation leaves it: names, but no Python container.
    element_type = tff.StructType([('id', np.int32), ('name', np.str_)])

    class Slice(local_functions.LocalFunction):
      def trace(self, arg, tracer):
        raise NotImplementedError

      def __call__(self, arg=None):
        return arg[1], tf.strings.as_string(arg[1])

    select = local_functions.Select(
      tff.FunctionType(
        [tff.TensorType(np.int32, [2]), np.float32],
        tff.SequenceType(element_type),
      ),
      Slice(tff.FunctionType([np.float32, np.int32], element_type)),
    )
    for keys in ([3, 1], []):
      elements = list(select((tf.constant(keys, tf.int32), tf.constant(0.0))))
      self.assertEqual(
        [(int(e['id']), e['name'].numpy()) for e in elements],
        [(key, str(key).encode()) for key in keys],
      )
