# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for function_arguments."""

from fedfish_tff.execution import contexts
from fedfish_tff.execution.reading import function_arguments

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

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
