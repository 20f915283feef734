# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_stages."""

import pathlib
import threading
from unittest import mock

from fedfish_tff.execution import interruption
from fedfish_tff.execution.running import cohort_stages
from tests import tolerance
from tests.execution import interrupts
from tests.execution import single_stages

from absl import logging
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ELEMENT = tff.TensorType(np.float32, [None, 2])


def _comp_of(client_fn, element=_ELEMENT):
  """Returns a computation with a sum and a value per client."""
  sequence = tff.SequenceType(element)
  work = tff.tensorflow.computation(client_fn, sequence)

  @tff.federated_computation(tff.FederatedType(sequence, tff.CLIENTS))
  def comp(data):
    values = tff.federated_map(work, data)
    return tff.federated_sum(values), values

  return comp


def _mean_of_roots(data):
  """Rounds, so that the order of the sums shows in their last digits."""
  return data.repeat(2).reduce(
    tf.zeros([2]), lambda total, x: total + tf.reduce_sum(tf.sqrt(x), axis=0)
  )


def _sum(data):
  return data.reduce(tf.zeros([2]), lambda t, x: t + tf.reduce_sum(x, axis=0))


def _run(runner, stage, clients):
  """Runs a stage of `_comp_of`; returns the sum and the clients' values."""
  (aggregate,) = stage.aggregates
  (data,) = stage.client_inputs
  (out,) = stage.outputs
  zero_type = stage.types[aggregate.zero]
  zero = np.zeros(zero_type.shape, zero_type.dtype)
  sums, outputs = runner(
    stage, {aggregate.zero: tf.constant(zero)}, {data: clients}, len(clients)
  )
  return np.asarray(sums[aggregate.out]), [np.asarray(v) for v in outputs[out]]


def _clients(*sizes, batch_size=3):
  rng = np.random.default_rng(4)
  return [
    tf.data.Dataset.from_tensor_slices(
      rng.uniform(size=(n, 2)).astype(np.float32)
    ).batch(batch_size)
    for n in sizes
  ]


class CohortStageRunnerTest(parameterized.TestCase):
  def test_does_not_depend_on_the_chunks(self):
    """Nor on the number of clients at a time, down to the last bit."""
    stage = single_stages.stage_of(_comp_of(_mean_of_roots))
    clients = _clients(5, 1, 0, 7, 3, 3, 0, 11, 2)
    expected = _run(
      cohort_stages.CohortStageRunner(parallelism=1), stage, clients
    )
    for parallelism in (1, 2, 4):
      for limits in (
        dict(_CHUNK_CLIENTS=1),
        dict(_CHUNK_CLIENTS=2),
        dict(_CHUNK_CLIENTS=4),
        dict(_CHUNK_BYTES=1),
        dict(_CHUNK_BYTES=200),
      ):
        runner = cohort_stages.CohortStageRunner(parallelism=parallelism)
        with self.subTest(parallelism=parallelism, **limits):
          with mock.patch.multiple(cohort_stages, **limits):
            found = _run(runner, stage, clients)
          np.testing.assert_array_equal(found[0], expected[0])
          np.testing.assert_array_equal(found[1], expected[1])
          self.assertEmpty(runner.general_path_reasons)

  @parameterized.parameters((1, [2, 2, 1]), (3, [3, 2]), (4, [4, 1]))
  def test_chunks_count_states_and_results(self, parallelism, expected):
    """Two clients fill a chunk; all that compute at a time are in it."""
    state = tff.TensorType(np.float32, [1000])
    work = tff.tensorflow.computation(lambda x: x + 1, state)

    @tff.federated_computation(tff.FederatedType(state, tff.CLIENTS))
    def comp(states):
      values = tff.federated_map(work, states)
      return tff.federated_sum(values), values

    stage = single_stages.stage_of(comp)
    runner = cohort_stages.CohortStageRunner(parallelism=parallelism)
    graph = runner._graph(stage)
    with (
      mock.patch.object(cohort_stages, '_CHUNK_BYTES', 2 * (4000 + 4000)),
      mock.patch.object(
        graph, 'run', autospec=True, side_effect=graph.run
      ) as run,
    ):
      _run(runner, stage, [tf.zeros(1000)] * 5)
    self.assertEqual(
      [call.args[2].num_clients for call in run.call_args_list], expected
    )

  @parameterized.parameters(([4, 4, 4], ''), ([4, 5, 4], 'different shapes'))
  def test_rows_of_any_length(self, lengths, reason):
    """One length in a cohort, and clients without rows, are a graph."""
    element = tff.TensorType(np.float32, [None, None])

    def total(data):
      return data.reduce(0.0, lambda t, x: t + tf.reduce_sum(x))

    stage = single_stages.stage_of(_comp_of(total, element))
    runner = cohort_stages.CohortStageRunner(parallelism=2)
    clients = [
      tf.data.Dataset.from_tensor_slices(
        np.full([3, length], client + 1, np.float32)
      ).batch(2)
      for client, length in enumerate(lengths)
    ]
    clients.insert(1, clients[0].take(0))
    for chunk in (1, 4):
      with mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', chunk):
        _, values = _run(runner, stage, clients)
      expected = [3 * n * (i + 1) for i, n in enumerate(lengths)]
      np.testing.assert_array_equal(values, np.insert(expected, 1, 0))
    reasons = runner.general_path_reasons
    self.assertLen(reasons, 1 if reason else 0)
    if reason:
      self.assertIn(reason, reasons[0])

  @parameterized.named_parameters(
    (
      'work',
      lambda data: data.cache().reduce(0.0, lambda t, x: t + x[0, 0]),
      _ELEMENT,
      'CacheDataset.* of a dataset',
    ),
    (
      'data',
      lambda data: data.reduce(0.0, lambda t, x: t + tf.reduce_sum(x)),
      tff.TensorType(np.float32, [1, None]),
      r'leaf of type float32\[1,\?\]',
    ),
  )
  def test_what_is_no_graph_runs_client_by_client(
    self, client_fn, element, reason
  ):
    stage = single_stages.stage_of(_comp_of(client_fn, element))
    runner = cohort_stages.CohortStageRunner(parallelism=2)
    clients = [
      tf.data.Dataset.from_tensors(np.full([1, 2], x, np.float32)).map(
        lambda x: tf.ensure_shape(x, element.shape)
      )
      for x in (1, 2)
    ]
    with self.assertLogs(logging.get_absl_logger(), 'INFO') as logs:
      for _ in range(3):
        total, values = _run(runner, stage, clients)
    self.assertEqual(total, sum(values))
    self.assertEqual(values[1], 2 * values[0])
    self.assertLen(runner.general_path_reasons, 1)
    self.assertRegex(runner.general_path_reasons[0], reason)
    # Once, with what it is about.
    messages = [m for m in logs.output if 'client by client' in m]
    self.assertLen(messages, 1)
    self.assertRegex(messages[0], reason)
    self.assertIn(str(element), messages[0])

  def test_the_search_for_an_error_ends_at_the_client_that_fails(self):
    printed = pathlib.Path(self.create_tempfile().full_path)

    def work(data):
      x = data.reduce(0.0, lambda total, x: total + x[0, 0])
      with tf.control_dependencies(
        [tf.print(x, output_stream=f'file://{printed}')]
      ):
        return tf.debugging.check_numerics(2.0 / (2.0 - x), 'diverged')

    stage = single_stages.stage_of(_comp_of(work))
    clients = [
      tf.data.Dataset.from_tensors(np.full([1, 2], x, np.float32))
      for x in range(8)
    ]
    runner = cohort_stages.CohortStageRunner(parallelism=4)
    error = tf.errors.InvalidArgumentError(None, None, 'of some client')
    with (
      mock.patch.object(runner._graph(stage), 'run', side_effect=error),
      self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'Client 3 of 8'),
    ):
      _run(runner, stage, clients)
    self.assertEqual(printed.read_text().split(), ['0', '1', '2'])

  @parameterized.parameters(
    (tf.errors.UnimplementedError, False),
    # There may be more memory next time.
    (tf.errors.ResourceExhaustedError, True),
  )
  def test_a_graph_that_fails_alone(self, kind, is_kept):
    """As where a compiler knows no kernel: the clients go one by one."""
    stage = single_stages.stage_of(_comp_of(_mean_of_roots))
    runner = cohort_stages.CohortStageRunner(parallelism=1)
    clients = _clients(4, 2)
    expected = _run(runner, stage, clients)
    graph = runner._graph(stage)
    error = kind(None, None, 'no kernel\nmore')
    with mock.patch.object(graph, 'run', autospec=True, side_effect=error):
      total, values = _run(runner, stage, clients)
    tolerance.assert_close(total, expected[0], relative=tolerance.FLOAT32_SUMS)
    tolerance.assert_close(values, expected[1], relative=tolerance.FLOAT32_SUMS)
    self.assertLen(runner.general_path_reasons, 1)
    self.assertStartsWith(runner.general_path_reasons[0], 'no kernel (')
    self.assertIs(runner._graph(stage), graph if is_kept else None)

  def test_an_endless_dataset_of_a_later_chunk_is_interrupted(self):
    # In one pass, since Python's datasets are not packed for several.
    stage = single_stages.stage_of(_comp_of(_sum))
    runner = cohort_stages.CohortStageRunner(parallelism=1)
    reading = threading.Event()

    def generate():
      while True:
        reading.set()
        yield np.ones([1, 2], np.float32)

    endless = tf.data.Dataset.from_generator(
      generate, output_signature=tf.TensorSpec([None, 2], tf.float32)
    )
    clients = [*_clients(2, 2), endless]
    errors = []

    def work():
      try:
        with mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', 1):
          _run(runner, stage, clients)
      except interruption.StoppedError as error:
        errors.append(error)

    with (
      interrupts.interrupted_after(reading),
      self.assertRaises(KeyboardInterrupt),
    ):
      interruption.run(work)
    interrupts.join_work()
    self.assertLen(errors, 1)
    self.assertEmpty(
      [t for t in threading.enumerate() if t.name.startswith('cohort_packing')]
    )
