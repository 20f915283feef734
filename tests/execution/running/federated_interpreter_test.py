# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for federated_interpreter."""

import functools

from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import federated_interpreter
from tests.execution import single_stages

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_FLOATS = tff.FederatedType(np.float32, tff.CLIENTS)
_SERVER_FLOAT = tff.FederatedType(np.float32, tff.SERVER)

_run_stage = functools.partial(single_stages.run_generally, parallelism=2)


def _add():
  return tff.tensorflow.computation(
    lambda a, b: a + b, (np.float32, np.float32)
  )


def _run(comp, arg=None, *, num_clients=0, run_stage=_run_stage):
  result = federated_interpreter.run_plan(
    federated_plan.compile_plan(comp),
    arg,
    {tff.CLIENTS: num_clients},
    run_stage,
  )
  return tf.nest.map_structure(lambda x: x.numpy(), result)


def _tensors(*numbers):
  return [tf.constant(n, tf.float32) for n in numbers]


class RunPlanTest(absltest.TestCase):
  def test_what_all_clients_share_is_one_value(self):
    @tff.federated_computation(
      _SERVER_FLOAT, tff.FederatedType(np.float32, tff.CLIENTS, all_equal=True)
    )
    def comp(x, y):
      x = tff.federated_broadcast(x)
      return x, y, tff.federated_zip((x, y))

    x, y, zipped = _run(comp, tuple(_tensors(1, 2)), num_clients=3)
    self.assertEqual((x, y), (1.0, 2.0))
    self.assertEqual(zipped, [(1.0, 2.0)] * 3)

  def test_stages_get_what_is_kept_and_nothing_else(self):
    square = tff.tensorflow.computation(lambda x: x * x, np.float32)

    @tff.federated_computation(_CLIENT_FLOATS)
    def comp(values):
      squares = tff.federated_map(square, values)
      total = tff.federated_broadcast(tff.federated_sum(squares))
      total = tff.federated_broadcast(
        tff.federated_sum(tff.federated_map(_add(), (squares, total)))
      )
      return tff.federated_sum(tff.federated_map(_add(), (values, total)))

    seen = []

    def run_stage(stage, server_values, client_values, num_clients):
      seen.append(set(client_values))
      return _run_stage(stage, server_values, client_values, num_clients)

    # Squares 1, 4; their sum 5; then 6 + 9 = 15; then 16 + 17.
    self.assertEqual(
      _run(comp, _tensors(1, 2), num_clients=2, run_stage=run_stage), 33.0
    )
    values, squares = min(seen[0]), max(seen[1])
    self.assertEqual(seen, [{values}, {values, squares}, {values}])

  def test_no_clients_to_agree(self):
    block = tff.framework.Intrinsic(
      'federated_map_all_equal',
      tff.FunctionType(
        [
          tff.FunctionType(np.float32, np.float32),
          tff.FederatedType(np.float32, tff.CLIENTS, all_equal=True),
        ],
        tff.FederatedType(np.float32, tff.CLIENTS, all_equal=True),
      ),
    )
    square = tff.tensorflow.computation(lambda x: x * x, np.float32)
    parameter = tff.framework.Reference('x', block.type_signature.parameter[1])
    comp = tff.framework.ConcreteComputation.from_building_block(
      tff.framework.Lambda(
        'x',
        parameter.type_signature,
        tff.framework.Call(
          block,
          tff.framework.Struct([square.to_building_block(), parameter]),
        ),
      )
    )
    (three,) = _tensors(3)
    self.assertEqual(_run(comp, three, num_clients=2), 9.0)
    with self.assertRaisesRegex(ValueError, 'There are no clients'):
      _run(comp, three, num_clients=0)
