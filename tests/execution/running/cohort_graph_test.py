# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of graphs of the cohort and the server, and of shares of stages."""

import functools
import gc
import weakref

from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import client_stages
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import runtime_errors
from fedfish_tff.execution.running import server_graph
from fedfish_tff.execution.running import stage_runs
from tests import tolerance
from tests.execution import client_computations
from tests.execution import single_stages

from absl.testing import absltest
from absl.testing import parameterized
import grpc
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _operations_before(function, tensor):
  """Returns the operations that a tensor of a function waits for."""
  nodes = {node.name: node for node in function.node_def}
  names, operations = [tensor], set()
  while names:
    node = nodes.pop(names.pop().removeprefix('^').partition(':')[0], None)
    if node is not None:
      operations.add(node.op)
      names += node.input
  return operations


class StageGraphTest(parameterized.TestCase):
  def test_values_of_unknown_shape(self):
    takes = client_computations.at_clients(
      lambda x: 2 * x, tff.TensorType(np.int32, [None])
    )
    returns = client_computations.at_clients(
      lambda x: tf.fill([x], x), np.int32
    )
    for comp, reason in (
      (takes, r'value at the clients of unknown shape, int32\[\?\]'),
      (returns, r'result of the clients of unknown shape, \(None,\)'),
    ):
      with self.assertRaisesRegex(tracing.NotReplayableError, reason):
        cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=1)

  def test_no_client_waits_for_the_checks_of_another(self):
    def check(x):
      is_positive = tf.raw_ops.Assert(condition=x > 0, data=[x])
      with tf.control_dependencies([is_positive]):
        return tf.identity(x)

    stage = single_stages.stage_of(
      client_computations.sum_of_clients(check, np.float32)
    )
    graph = cohort_graph.StageGraph(stage, parallelism=2)
    inputs = cohort_graph.ClientInputs(2, [np.ones(2, np.float32)], (), [])
    traced = graph._trace(inputs).function.graph.as_graph_def()
    (body,) = [
      function
      for function in traced.library.function
      if any(node.op == 'Assert' for node in function.node_def)
    ]
    self.assertEmpty(body.control_ret)
    waiting = {
      result.type
      for result in body.signature.output_arg
      if 'Assert' in _operations_before(body, body.ret[result.name])
    }
    # The sum waits, and no counter.
    self.assertEqual(waiting, {tf.float32.as_datatype_enum})


class AsRpcErrorsTest(absltest.TestCase):
  def test_errors_of_tensorflow(self):
    for kind in (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
      original = kind(None, None, 'Something is wrong.')
      with self.assertRaises(grpc.RpcError) as raised:
        with runtime_errors.as_rpc_errors():
          raise original
      error = raised.exception
      self.assertIsInstance(error, kind)
      self.assertIs(error, original)
      self.assertEqual(str(error), 'Something is wrong.')
      self.assertEqual(error.details(), 'Something is wrong.')
      self.assertIs(error.code(), grpc.StatusCode.INTERNAL)

  def test_others(self):
    with self.assertRaises(TypeError) as raised:
      with runtime_errors.as_rpc_errors():
        raise TypeError('An argument is wrong.')
    self.assertNotIsInstance(raised.exception, grpc.RpcError)


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


_DATA = tff.SequenceType(tff.TensorType(np.float32, [None]))


def _make_comp() -> tff.Computation:
  """Two stages, with outputs of clients that go from one to the next."""

  @tff.tensorflow.computation(_DATA)
  def total(data):
    return data.reduce(0.0, lambda t, x: t + tf.reduce_sum(x))

  @tff.tensorflow.computation(np.float32, np.float32)
  def centre(x, mean):
    return x - mean

  @tff.federated_computation(tff.FederatedType(_DATA, tff.CLIENTS))
  def comp(data):
    totals = tff.federated_map(total, data)
    mean = tff.federated_mean(totals)
    centred = tff.federated_map(centre, (totals, tff.federated_broadcast(mean)))
    return mean, tff.federated_sum(centred), centred

  return comp


_CLIENTS = [np.arange(n, dtype=np.float32) for n in (3, 0, 7, 4, 5)]


def _run(comp, runners):
  data = [tf.data.Dataset.from_tensor_slices(x).batch(2) for x in _CLIENTS]
  return federated_interpreter.run_plan(
    federated_plan.compile_plan(comp),
    local_values.to_local_value(
      [data], tff.StructType([comp.type_signature.parameter])
    )[0],
    {tff.CLIENTS: len(_CLIENTS)},
    functools.partial(stage_runs.run_stage, runners=runners),
  )


def _assert_result(result):
  mean, total, centred = result
  totals = np.array([x.sum() for x in _CLIENTS])
  tolerance.assert_close(mean, totals.mean(), relative=tolerance.FLOAT32_SUMS)
  tolerance.assert_close(
    centred, totals - totals.mean(), relative=tolerance.FLOAT32_SUMS
  )
  np.testing.assert_allclose(total, 0.0, atol=1e-4)


class RunStageTest(parameterized.TestCase):
  @parameterized.parameters(1, 2, 3, 9)
  def test_any_number_of_runners(self, number):
    seen = []

    def run(stage, server_values, clients):
      seen.append(clients.positions)
      return client_stages.run_clients_generally(
        stage, server_values, clients, parallelism=1
      )

    _assert_result(_run(_make_comp(), [run] * number))
    # Two stages, each with every client once.
    self.assertCountEqual(
      [i for positions in seen for i in positions],
      2 * list(range(len(_CLIENTS))),
    )
