# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for local_worker."""

import asyncio
import collections
import contextlib
import gc
import os
import signal
import sys
import textwrap
from unittest import mock

from fedfish_tff.datasets import batches
from fedfish_tff.execution import contexts
from fedfish_tff.execution.worker import local_worker_executors
from tests import processes

from absl.testing import absltest
import grpc
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)


@tff.federated_computation(_CLIENT_INTS)
def _sum(values):
  return tff.federated_sum(values)


def _sum_of_client_work(client_work):
  """Builds the sum over clients of what `client_work` makes of an int32."""

  @tff.federated_computation(_CLIENT_INTS)
  def computation(values):
    computed = tff.federated_map(
      tff.tensorflow.computation(client_work, np.int32), values
    )
    return tff.federated_sum(computed)

  return computation


@_sum_of_client_work
def _sum_of_small(x):
  check = tf.debugging.assert_less(x, 3, message='The client is too large')
  with tf.control_dependencies([check]):
    return tf.identity(x)


@_sum_of_client_work
def _abort_on_three(x):
  def abort():
    operation = tf.raw_ops.Abort(error_msg='Enough', exit_without_error=False)
    with tf.control_dependencies([operation]):
      return tf.identity(x)

  return tf.cond(tf.equal(x, 3), abort, lambda: x)


class _ContextTestCase(absltest.TestCase):
  def _create(self, **options):
    context = contexts.create_context('local_worker', **options)
    self.addCleanup(context.close)
    return context


class ComputationTest(_ContextTestCase):
  def test_client_work_is_repeatable_bit_for_bit(self):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(64, 28, 28, 8)).astype(np.float32)
    kernel = rng.normal(size=(5, 5, 8, 32)).astype(np.float32)

    # Gradients of convolutions depend on the number of threads.
    @tff.tensorflow.computation(
      tff.TensorType(np.float32, images.shape),
      tff.TensorType(np.float32, kernel.shape),
    )
    def gradient(images, kernel):
      with tf.GradientTape() as tape:
        tape.watch(kernel)
        outputs = tf.nn.conv2d(images, kernel, 1, 'SAME')
        loss = tf.reduce_sum(tf.tanh(outputs) ** 2)
      return tape.gradient(loss, kernel)

    def compute():
      context = self._create()
      with tff.framework.get_context_stack().install(context):
        return [gradient(images, kernel) for _ in range(2)]

    expected = compute()[0]
    self.assertGreater(np.abs(expected).max(), 1.0)
    with mock.patch.dict(os.environ, TF_NUM_INTRAOP_THREADS='8'):
      for result in compute():
        np.testing.assert_array_equal(result, expected)
    # The same check sees that eight threads give other bits.
    with mock.patch.dict(
      local_worker_executors._WORKER_ENVIRONMENT, TF_NUM_INTRAOP_THREADS='8'
    ):
      self.assertFalse(np.array_equal(compute()[0], expected))

  def test_default_number_of_clients(self):
    @tff.federated_computation
    def count():
      return tff.federated_sum(tff.federated_value(1, tff.CLIENTS))

    context = self._create(default_num_clients=5)
    with tff.framework.get_context_stack().install(context):
      self.assertEqual(count(), 5)

  def test_async_context(self):
    context = self._create(asynchronous=True)

    async def run():
      return await asyncio.gather(_sum([1, 2]), _sum([3, 4]), _sum([5]))

    with tff.framework.get_context_stack().install(context):
      self.assertEqual(asyncio.run(run()), [3, 7, 5])
    self.assertIsNotNone(context.runner.worker_pid)


class ClientBatchesTest(_ContextTestCase):
  def test_client_batches_are_taken_in_any_structure(self):
    batch_type = tff.SequenceType(tff.TensorType(np.int64, [None]))
    last_of_batch = tff.tensorflow.computation(
      lambda s: s.reduce(np.int64(0), lambda total, x: total * 100 + x[-1]),
      batch_type,
    )

    @tff.federated_computation(
      tff.FederatedType(np.int32, tff.SERVER),
      tff.FederatedType([('train', batch_type)], tff.CLIENTS),
    )
    def compute(state, clients):
      map_all = tff.tensorflow.computation(
        lambda x: last_of_batch(x.train), [('train', batch_type)]
      )
      return state, tff.federated_map(map_all, clients)

    clients = [
      collections.OrderedDict(
        train=batches.sequential_batches(
          np.arange(n), client_id=str(n), batch_size=2
        )
      )
      for n in (4, 5)
    ]
    for context in (self._create(), self._create(asynchronous=True)):
      self.assertTrue(context.runner.takes_client_batches)
      with tff.framework.get_context_stack().install(context):
        result = compute(tf.constant(7), clients)
        if asyncio.iscoroutine(result):
          result = asyncio.run(result)
      self.assertEqual(result, (7, [103, 10304]))


class LifeCycleTest(_ContextTestCase):
  def test_worker_starts_with_the_first_call_and_ends_with_close(self):
    with self._create() as context:
      self.assertIsNone(context.runner.worker_pid)
      with tff.framework.get_context_stack().install(context):
        self.assertEqual(_sum([1, 2]), 3)
        pid = context.runner.worker_pid
        self.assertTrue(psutil.pid_exists(pid))
        self.assertEqual(_sum([1, 2, 3]), 6)
        self.assertEqual(context.runner.worker_pid, pid)
        context.close()
        self.assertIsNone(context.runner.worker_pid)
        self.assertFalse(psutil.pid_exists(pid))
        with self.assertRaisesRegex(
          local_worker_executors.LocalWorkerError, 'context was closed'
        ):
          _sum([1, 2])
        context.close()

  def test_close_of_a_context_never_used(self):
    self._create().close()

  def test_worker_ends_with_its_context(self):
    context = contexts.create_context('local_worker')
    with tff.framework.get_context_stack().install(context):
      _sum([1])
    pid = context.runner.worker_pid
    del context
    gc.collect()
    self.assertFalse(psutil.pid_exists(pid))


class FailureTest(_ContextTestCase):
  def test_error_at_a_client_reaches_the_caller(self):
    context = self._create()
    with tff.framework.get_context_stack().install(context):
      self.assertEqual(_sum_of_small([1, 2]), 3)
      pid = context.runner.worker_pid
      with self.assertRaisesRegex(grpc.RpcError, 'The client is too large'):
        _sum_of_small([1, 2, 3])
      self.assertEqual(_sum_of_small([1, 2, 2]), 5)
      self.assertEqual(context.runner.worker_pid, pid)

  def test_worker_killed_between_calls_is_one_clear_error(self):
    context = self._create()
    with tff.framework.get_context_stack().install(context):
      _sum([1, 2])
      _sum([1, 2, 3])
      pid = context.runner.worker_pid
      os.kill(pid, signal.SIGKILL)
      with self.assertRaisesRegex(
        local_worker_executors.LocalWorkerError,
        rf'process {pid}\) was killed by SIGKILL, .* memory',
      ):
        _sum([1, 2])
      self.assertFalse(psutil.pid_exists(pid))
      # Executors of the dead worker are not asked again.
      self.assertEqual(_sum([1, 2, 3]), 6)
      self.assertEqual(_sum([1, 2]), 3)
      self.assertNotEqual(context.runner.worker_pid, pid)

  def test_worker_that_dies_during_a_call_is_one_clear_error(self):
    context = self._create()
    with tff.framework.get_context_stack().install(context):
      with self.assertRaisesRegex(
        local_worker_executors.LocalWorkerError,
        r'(?s)was killed by SIGABRT.*Enough',
      ):
        _abort_on_three([1, 3, 2])
      self.assertEqual(_abort_on_three([1, 2, 4]), 7)


_SCRIPT_PREAMBLE = """
from launch import process_settings  # Without TensorFlow's messages.
from fedfish_tff.execution import contexts
from fedfish_tff.execution.worker import local_worker, local_worker_executors
import os, signal, sys, threading
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

@tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
def compute(values):
  return tff.federated_sum(values)

contexts.set_default_context('local_worker')
context = tff.framework.get_context_stack().current
"""


@contextlib.contextmanager
def _scripts(*codes: str):
  """Runs scripts at the same time; ends them and their workers."""
  environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
  with contextlib.ExitStack() as stack:
    yield [
      stack.enter_context(
        processes.script(
          _SCRIPT_PREAMBLE + textwrap.dedent(code), environment=environment
        )
      )
      for code in codes
    ]


@pytest.mark.thorough
class ScriptTest(absltest.TestCase):
  """Scripts that have computed, whose first line is the worker's id."""

  def test_nothing_is_left_of_a_script(self):
    start = """
        print(compute([1, 2]) and context.runner.worker_pid, flush=True)
        sys.stdin.readline()
    """
    # worker_process_test has other ends.
    ends = {'': 0, 'signal.pause()': -signal.SIGKILL}
    with _scripts(*(f'{start}\n        {end}' for end in ends)) as scripts:
      for script, (end, exit_code) in zip(scripts, ends.items()):
        with self.subTest(end):
          worker = processes.child_of(script)
          self.assertEqual(worker.name(), 'worker_binary')
          if exit_code == -signal.SIGKILL:
            script.kill()
          output, errors = processes.outputs_of_end(script, worker)
          self.assertEqual(script.returncode, exit_code)
          self.assertEmpty(output)
          self.assertEmpty(errors)

  def test_fork_does_not_own_the_worker(self):
    fork = """
        def run():
          # TFF's default context is a thread's own.
          tff.framework.set_default_context(context)
          compute([1])

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        print(context.runner.worker_pid, flush=True)
        sys.stdin.readline()
        pid = os.fork()
        if not pid:
          try:
            compute([1, 2])
          except local_worker_executors.LocalWorkerError as error:
            print(error, flush=True)
          sys.exit()  # Runs the exit handlers of the parent.
        os.waitpid(pid, 0)
        print(compute([1, 2, 3]), flush=True)
    """
    with _scripts(fork) as (script,):
      worker = processes.child_of(script)
      output, _ = processes.outputs_of_end(script, worker)
    self.assertRegex(output, r'^This context belongs to the process .*\n6\n$')


def setUpModule():
  contexts.set_default_context('local_worker')
