# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cost_runner."""

from fedfish_tff.execution import execution_context
from fedfish_tff.execution.pjrt import cost_runner
from fedfish_tff.execution.pjrt import device_client
from tests.execution import client_computations
from tests.execution.pjrt import accelerator

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SIZE = 64
_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, _SIZE]))


@tff.tensorflow.computation(_ROWS)
def _squares(dataset):
  return dataset.reduce(
    tf.eye(_SIZE),
    lambda a, x: a @ tf.matmul(x, x, transpose_a=True),
  )


@tff.tensorflow.computation(np.str_)
def _length(text):
  return tf.strings.length(text)


class CostRunnerTest(accelerator.TestCase):
  def setUp(self):
    super().setUp()
    process = device_client.DeviceProcess('cpu')
    self.addCleanup(process.stop)
    self.sizes = []
    self.runner = cost_runner.CostRunner(process, self.sizes.append)
    self.context = execution_context.SyncExecutionContext(self.runner)

  def _run(self, work, values):
    with tff.framework.get_context_stack().install(self.context):
      return client_computations.sum_of_clients(work)(values)

  def test_clients_leave_zeros_and_a_program(self):
    result = self._run(
      _squares,
      [[np.ones([2, _SIZE], np.float32)] * length for length in (9, 4, 0, 3)],
    )
    np.testing.assert_array_equal(result, np.zeros([_SIZE, _SIZE]))
    self.assertLen(self.sizes, 1)
    self.assertEmpty(self.runner.problems)
    (analysis,) = self.runner.analyses
    # Two products of a batch, however many there are.
    products = 2 * 2 * _SIZE**2 + 2 * _SIZE**3
    self.assertBetween(analysis.flops, products, 1.2 * products)
    self.assertGreater(analysis.num_bytes, analysis.temporaries)

  def test_client_work_that_is_no_program(self):
    self.assertEqual(self._run(_length, ['a', 'bcd']), 0)
    self.assertRegex(self.runner.problems[0], 'string')
    self.assertEmpty(self.runner.analyses)
    self.assertEmpty(self.sizes)
