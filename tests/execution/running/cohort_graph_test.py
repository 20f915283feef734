# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the cohort's graph and of errors in it."""

from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import runtime_errors
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
