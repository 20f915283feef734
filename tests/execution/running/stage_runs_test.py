# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shares of a cohort are put together whoever runs them."""

import functools

from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import client_stages
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import stage_runs
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

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
