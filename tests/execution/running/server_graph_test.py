# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for server_graph."""

import gc
import weakref

from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import server_graph

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SERVER = tff.FederatedType(np.float32, tff.SERVER)


def _polynomial() -> tff.Computation:
  """Returns 3 (x + 1)^2 and x + 1, in several steps at the server."""

  @tff.tensorflow.computation(np.float32)
  def increment(x):
    return x + 1

  @tff.tensorflow.computation(np.float32)
  def square(x):
    return x * x

  @tff.tensorflow.computation(np.float32)
  def triple(x):
    return 3 * x

  @tff.federated_computation(_SERVER)
  def comp(x):
    y = tff.federated_map(increment, x)
    z = tff.federated_map(square, y)
    return tff.federated_map(triple, z), y

  return comp


def _server_input(plan, value):
  return {
    plan.parameter.expression.id: local_values.to_local_value(
      np.float32(value), tff.TensorType(np.float32)
    )
  }


class ServerSegmentTest(absltest.TestCase):
  def test_is_traced_once(self):
    plan = federated_plan.compile_plan(_polynomial())
    (segment,) = server_graph.with_segments(plan)
    self.assertIs(segment, server_graph.with_segments(plan)[0])
    for x in (0.0, 1.5, -4.0):
      known = _server_input(plan, x)
      segment.run(known)
      self.assertIn(3 * (x + 1) ** 2, [float(v) for v in known.values()])

  def test_what_cannot_be_replayed_runs_step_by_step(self):
    @tff.tensorflow.computation(np.int64)
    def look_up(x):
      table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
          tf.constant([1, 2], tf.int64), tf.constant([10, 20], tf.int64)
        ),
        default_value=-1,
      )
      return table.lookup(x)

    @tff.tensorflow.computation(np.int64)
    def double(x):
      return 2 * x

    @tff.federated_computation(tff.FederatedType(np.int64, tff.SERVER))
    def comp(x):
      return tff.federated_map(double, tff.federated_map(look_up, x))

    plan = federated_plan.compile_plan(comp)
    (segment,) = server_graph.with_segments(plan)
    for x, expected in ((1, 20), (2, 40), (3, -2)):
      known = {plan.parameter.expression.id: tf.constant(x, tf.int64)}
      segment.run(known)
      self.assertIn(expected, [int(v) for v in known.values()])

  def test_segments_end_with_their_plan(self):
    operations = federated_plan.compile_plan(_polynomial())
    plan = federated_plan.Plan(
      **{name: getattr(operations, name) for name in operations.__dict__}
    )
    segment = weakref.ref(server_graph.with_segments(plan)[0])
    del plan
    gc.collect()
    self.assertIsNone(segment())
