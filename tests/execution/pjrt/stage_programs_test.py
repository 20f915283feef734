# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for stage_programs and their costs; pjrt_runner_test runs them."""

from unittest import mock

from fedfish_tff.execution import execution_context
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.pjrt import cost_runner
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs
from tests.execution import client_computations
from tests.execution import single_stages
from tests.execution.pjrt import accelerator

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_SEQUENCE = tff.SequenceType(tff.TensorType(np.float32, [None, 2]))


def _create_stage():
  """Returns a stage that adds up roots of clients' numbers."""
  return single_stages.stage_of(
    client_computations.sum_of_clients(
      lambda data: data.reduce(
        tf.zeros([2]), lambda a, x: a + tf.reduce_sum(tf.sqrt(x), axis=0)
      ),
      _SEQUENCE,
    )
  )


class StageProgramsTest(accelerator.TestCase):
  def setUp(self):
    super().setUp()
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    self.device = process.device(0)
    self.stage = _create_stage()
    self.programs = stage_programs.StagePrograms(self.stage)
    self.rng = np.random.default_rng(0)

  def _run(self, *sizes):
    """Returns the sum over clients of some sizes, and what it should be."""
    rows = [self.rng.uniform(size=(n, 2)).astype(np.float32) for n in sizes]
    (aggregate,) = self.stage.aggregates
    (data,) = self.stage.client_inputs
    partial = cohort_stages.GraphRun(
      stage_programs.ProgramRun(self.programs, self.device),
      packed_cache.PackedSequenceCache(),
      {aggregate.zero: tf.zeros([2])},
      stage_runs.Clients(
        {
          data: [
            tf.data.Dataset.from_tensor_slices(client).batch(3)
            for client in rows
          ]
        },
        range(len(sizes)),
        len(sizes),
      ),
    ).run()
    (total,) = partial.accumulators
    return total, np.sqrt(np.concatenate(rows)).sum(axis=0)

  def test_one_program_for_like_clients(self):
    with mock.patch.object(
      self.device, 'compile', side_effect=self.device.compile
    ) as compiled:
      for sizes in ((7, 0, 4, 4), (5, 6, 2), (3, 3, 6, 1)):
        np.testing.assert_allclose(*self._run(*sizes), rtol=1e-6)
      compiled.assert_called_once()

  @absltest.skipUnless(accelerator.COMPARES_BOUNDS, 'TensorFlow 2.14')
  @pytest.mark.thorough
  def test_chunks_of_bytes_hold_the_clients_side_by_side(self):
    self.programs = stage_programs.StagePrograms(self.stage, width=2)
    run = mock.patch.object(
      stage_programs.ProgramRun,
      'run',
      autospec=True,
      side_effect=stage_programs.ProgramRun.run,
    )
    with mock.patch.object(cohort_stages, '_CHUNK_BYTES', 1), run as calls:
      np.testing.assert_allclose(*self._run(7, 7, 4, 4, 5), rtol=1e-6)
    numbers = [call.args[3].num_clients for call in calls.call_args_list]
    self.assertEqual(numbers, [2, 2, 1])

  def test_chunks(self):
    """Accumulators are fetched once, behind the last."""
    with (
      mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', 2),
      mock.patch.object(
        self.device, 'fetch', side_effect=self.device.fetch
      ) as fetched,
    ):
      np.testing.assert_allclose(*self._run(4, 3, 0, 5, 9), rtol=1e-6)
    # The sum, and whether client work has failed.
    numbers = [len(call.args[0]) for call in fetched.call_args_list]
    self.assertEqual((numbers[-1], sum(numbers)), (2, 2))

  @pytest.mark.thorough
  def test_too_large_for_the_device(self):
    self.device.num_bytes = 10
    with self.assertRaisesRegex(
      stage_programs.DeviceMemoryError, 'GiB more than its 0.00 GiB'
    ):
      self._run(3)


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
