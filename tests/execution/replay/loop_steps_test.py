# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for loop_steps."""

from fedfish_tff.execution.replay import loop_steps

import tensorflow as tf


def _calls(concrete):
  """Returns the calls of functions in a traced function."""
  return [
    node
    for node in concrete.graph.as_graph_def().node
    if node.op in ('PartitionedCall', 'StatefulPartitionedCall')
  ]


class StepTest(tf.test.TestCase):
  def test_is_traced_once_and_called_often(self):
    traced = []

    def step(x, rows):
      traced.append(1)
      return {'sum': x['sum'] + tf.reduce_sum(rows)}, rows * 2

    @tf.function(autograph=False)
    def run(x, rows):
      x = {'sum': x}
      function = loop_steps.Step(step, x, rows, inlined=True)
      for _ in range(3):
        x, rows = function(x, rows)
      self.assertIn('Mul', function.operations())
      return x, rows

    x, rows = run(tf.constant(1.0), tf.constant([1.0, 2.0]))
    self.assertLen(traced, 1)
    self.assertEqual(x['sum'], 1 + 3 + 6 + 12)
    self.assertAllEqual(rows, [8.0, 16.0])

  def test_operations_are_those_of_the_functions_called_too(self):
    @tf.function(autograph=False)
    def run(x):
      def outer(x):
        inner = loop_steps.Step(tf.sin, x, inlined=True)
        return inner(inner(x))

      return loop_steps.Step(outer, x, inlined=False).operations()

    self.assertIn('Sin', run.python_function(tf.constant(1.0)))


class TrivialStepsTest(tf.test.TestCase):
  def test_few_operations(self):
    self.assertTrue(loop_steps.is_trivial({'Add': 2, 'Mul': 1}))
    self.assertFalse(loop_steps.is_trivial({'Add': 40, 'Mul': 1}))


class CallStepTest(tf.test.TestCase):
  def test_plain_steps_run_on_one_thread(self):
    plain = tf.function(
      lambda x: loop_steps.call_step(lambda x: x * 2 + 1, x), autograph=False
    ).get_concrete_function(tf.TensorSpec([]))
    (call,) = _calls(plain)
    self.assertEqual(call.attr['executor_type'].s, b'SINGLE_THREADED_EXECUTOR')
    function = plain.graph._get_function(call.attr['f'].func.name)
    # Otherwise it would be taken apart into the loop that calls it.
    self.assertTrue(function.cached_definition.attr['_noinline'].b)

  def test_steps_with_branches_do_not(self):
    def step(x):
      return tf.cond(x > 0, lambda: x, lambda: -x)

    branching = tf.function(
      lambda x: loop_steps.call_step(step, x), autograph=False
    ).get_concrete_function(tf.TensorSpec([]))
    (call,) = _calls(branching)
    self.assertEqual(call.attr['executor_type'].s, b'')
    self.assertEqual(branching(tf.constant(-2.0)), 2.0)

  def test_random_steps_differ(self):
    @tf.function(autograph=False)
    def run():
      return [
        loop_steps.call_step(lambda: tf.random.uniform([])) for _ in range(2)
      ]

    # With a global seed, which another test of the process may have set,
    # operations of equal graphs draw alike.
    tf.random.set_seed(None)
    first, second = run()
    self.assertNotEqual(first, second)
