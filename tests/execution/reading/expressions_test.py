# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of expressions, local functions and their arguments."""

from fedfish_tff.execution import contexts
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import function_arguments
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


_INT_TO_INT = tff.FunctionType(np.int32, np.int32)


@tff.tensorflow.computation(np.int32)
def _increment(x):
  return x + 1


@tff.tensorflow.computation(np.int32)
def _triple(x):
  return 3 * x


class BindFunctionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(
      tff.framework.get_context_stack().install(contexts.create_context())
    )

  def test_beside_values(self):
    @tff.federated_computation(np.int32, _INT_TO_INT, np.int32, _INT_TO_INT)
    def comp(x, f, y, g):
      return f(g(x)), g(f(y))

    self.assertEqual(comp(5, _increment, 7, _triple), (16, 24))
    self.assertEqual(comp(5, _triple, 7, _increment), (18, 22))

  def test_alone(self):
    @tff.federated_computation(_INT_TO_INT)
    def comp(f):
      return f(f(tff.federated_computation(lambda: 4)()))

    self.assertEqual(comp(_triple), 36)

  def test_at_clients(self):
    @tff.federated_computation(
      tff.FederatedType(np.int32, tff.CLIENTS), _INT_TO_INT
    )
    def comp(values, f):
      return tff.federated_sum(tff.federated_map(f, values))

    self.assertEqual(comp([1, 2, 3], _triple), 18)

  def test_without_functions_nothing_changes(self):
    arg = tff.structure.Struct([(None, 1)])
    comp, same_arg = function_arguments.bind_functions(_increment, arg)
    self.assertIs(comp, _increment)
    self.assertIs(same_arg, arg)

  def test_no_function_where_one_is_expected(self):
    @tff.federated_computation(_INT_TO_INT)
    def comp(f):
      return f

    with self.assertRaisesRegex(TypeError, 'Expected a computation of type'):
      function_arguments.bind_functions(comp, 3)

  def test_missing_argument(self):
    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def comp(values):
      return tff.federated_sum(values)

    with self.assertRaisesRegex(TypeError, r'\{int32\}@CLIENTS, found None'):
      comp(None)
