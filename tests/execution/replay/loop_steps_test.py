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

  def test_loops_within_a_step_have_no_functions_but_those_over_batches(self):
    def count_calls(operation, **arguments):
      def inner(x):
        call = loop_steps.caller_of(
          {operation: 100}, use_xla=False, **arguments
        )
        return call(lambda x: x * 2, x)

      outer = tf.function(
        lambda x: (loop_steps.call_step(inner, x), inner(x)), autograph=False
      ).get_concrete_function(tf.TensorSpec([]))
      step, *_ = _calls(outer)
      within = outer.graph._get_function(step.attr['f'].func.name)
      return (
        len(_calls(outer)) - 1,
        sum('Call' in n.op for n in within.cached_definition.node_def),
      )

    # Outside of a step, within it.
    self.assertEqual(count_calls('MatMul', over_batches=False), (1, 0))
    self.assertEqual(count_calls('MatMul'), (1, 1))
    # Its kernel is chosen in order.
    self.assertEqual(count_calls('MaxPoolGrad', over_batches=False), (1, 1))

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
