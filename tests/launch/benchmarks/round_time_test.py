# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The rows of the table do the same work."""

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from launch.benchmarks import round_time
from launch.benchmarks import workloads

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def setUpModule():
  contexts.set_default_context('local_worker')


class RowsTest(absltest.TestCase):
  def test_federated_row_trains_as_the_bare_loop_does(self):
    workload = workloads.WORKLOADS['softmax']
    model = workload.create_model()
    clients = workload.generate_clients(3, num_examples=25)
    totals = round_time.bare_round(model, clients)()
    process = algorithms.build_fed_avg(
      model,
      tff.learning.optimizers.build_sgdm(0.01),
      client_weighting=tff.learning.ClientWeighting.UNIFORM,
    )
    output = round_time.federated_round(process, clients)()
    weights = process.get_model_weights(output.state).trainable
    for start, end, total in zip(model.initial_weights[0], weights, totals):
      np.testing.assert_allclose(start - end, total / 3, rtol=1e-4, atol=1e-7)

  def test_rows_are_measured_in_turns_after_a_warm_up(self):
    calls = []
    medians = round_time.measure(
      {name: lambda name=name: calls.append(name) for name in 'ab'}, repeats=3
    )
    self.assertEqual(calls, list('ab' * 4))
    self.assertEqual(list(medians), ['a', 'b'])


if __name__ == '__main__':
  absltest.main()
