# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds on Ray's actors against rounds in this process."""

import contextlib
import os
import threading
import time
import types
from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.execution import contexts
from fedfish_tff.execution import interruption
from fedfish_tff.execution.ray import ray_cluster
from fedfish_tff.execution.ray import ray_runner
from fedfish_tff.execution.ray import stage_actor
from tests import processes
from tests.execution import client_computations
from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution.pjrt import accelerator
from tests.execution.ray import ray_test_case

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_context = None


def tearDownModule():
  _stop()


def _stop():
  global _context
  if _context is not None:
    _context.close()
    _context = None


def _context_on_ray():
  """Returns a context of two actors, started when it is first asked for."""
  global _context
  if _context is None:
    _context = contexts.create_context('ray', ray_actors=2, ray_splits=3)
  return _context


def _actors():
  """Returns the processes of the actors."""
  actors = []
  for process in psutil.Process().children(recursive=True):
    # Some end meanwhile.
    with contextlib.suppress(psutil.Error):
      if any('StageActor' in part for part in process.cmdline()):
        actors.append(process)
  return actors


class _DyingActor(stage_actor.StageActor):
  def run(self, *unused_args):
    os._exit(1)


@tff.tensorflow.computation(tff.SequenceType(tff.TensorType(np.float32, [2])))
def _slow_sum(rows):
  """Sums rows, and takes a while for it."""

  def add(total, row):
    # Nothing that TensorFlow could compute once for all.
    busy = tf.random.stateless_uniform([300, 300], tf.cast(row, tf.int32))
    for _ in range(10):
      busy = tf.linalg.matmul(busy, busy) / 300.0
    return tf.where(busy[0, 0] < 1e9, total + row, -1.0)

  return rows.reduce(tf.zeros([2]), add)


_slow_total = client_computations.sum_of_clients(_slow_sum)


def _digits(epochs):
  """Returns a computation of the elements of datasets, in order."""
  return client_computations.at_clients(
    lambda dataset: dataset.repeat(epochs).reduce(
      np.int64(0), lambda number, digit: 10 * number + digit
    ),
    tff.SequenceType(np.int64),
  )


class SplitBySizeTest(absltest.TestCase):
  @hypothesis.given(
    sizes=st.lists(st.integers(0, 1000), min_size=1, max_size=40),
    number=st.integers(1, 8),
  )
  def test_each_client_once_and_no_split_far_above_others(self, sizes, number):
    splits = ray_runner.split_by_size(sizes, number)
    self.assertCountEqual(sum(splits, []), range(len(sizes)))
    for split in splits:
      self.assertNotEmpty(split)
      self.assertEqual(split, sorted(split))
    loads = [sum(sizes[p] + 1 for p in split) for split in splits]
    # As the greedy rule has it: no more apart than the largest client.
    self.assertLessEqual(max(loads) - min(loads), max(sizes) + 1)


class OptionsTest(parameterized.TestCase):
  @parameterized.parameters('ray_actors', 'ray_splits', 'ray_actor_cpus')
  def test_are_positive(self, name):
    with self.assertRaisesRegex(errors.InputError, name):
      contexts.create_context('ray', **{name: 0})


class FindActorsTest(absltest.TestCase):
  def test_two_calls_see_at_once_that_an_actor_is_back(self):
    runner = object.__new__(ray_runner.RayStageRunner)
    runner._actors, runner._away = [None], {0: 'question'}
    # The other call removes it between this call's answer and its removal.
    runner._ray = types.SimpleNamespace(
      wait=lambda references, timeout: (references, []),
      get=lambda _: runner._away.clear(),
    )
    self.assertEqual(runner._find_actors(), [0])


class RayContextTest(ray_test_case.TestCase, parameterized.TestCase):
  def _check(self, name):
    context = _context_on_ray()
    reasons = context.runner.general_path_reasons
    case = learning_models.MODELS['mlp']
    is_variable = name in learning_rounds.TFF_ROUNDS_OF_ONE_KIND
    run = learning_rounds.ROUNDS[name](
      case, 'variable' if is_variable else 'functional'
    )
    here = contexts.create_context()
    with tff.framework.get_context_stack().install(here):
      expected = run()
    with tff.framework.get_context_stack().install(context):
      found = run()
      again = run()
    learning_rounds.assert_agree(found, expected, relative=case.relative)
    self.assertEqual(
      learning_rounds.digest(found), learning_rounds.digest(again)
    )
    # Another test may have given it reasons, too.
    found = context.runner.general_path_reasons[len(reasons) :]
    self.assertEqual(found, here.runner.general_path_reasons)

  @parameterized.parameters('fed_recon', 'own_fed_rep')
  @pytest.mark.thorough
  def test_round(self, name):
    self._check(name)

  @parameterized.parameters('fed3r', 'personalization_eval')
  @pytest.mark.slow
  def test_another_round(self, name):
    self._check(name)

  @pytest.mark.thorough
  def test_parameters_are_replaced_on_actors(self):
    with tff.framework.get_context_stack().install(_context_on_ray()):
      self.assertEqual(learning_rounds.scaled_total([1.0, 2.0]), 3.0)
      with parameters.replaced({'scale': 4.0}):
        self.assertEqual(learning_rounds.scaled_total([1.0, 2.0]), 12.0)

  @pytest.mark.thorough
  def test_passes_over_shuffled_datasets(self):
    """Actors get as many as they make, also where a cohort is the first."""
    context = _context_on_ray()
    reasons = context.runner.general_path_reasons
    data = [tf.data.Dataset.range(n).shuffle(9, seed=n + 1) for n in range(4)]
    data.append(tf.data.Dataset.range(3))
    here = contexts.create_context()
    for epochs in (1, 2, 3):
      comp = _digits(epochs)
      with tff.framework.get_context_stack().install(here):
        expected = comp(data)
      with tff.framework.get_context_stack().install(context):
        for _ in range(2):
          context.runner.take_columns()
          self.assertEqual(comp(data), expected)
          self.assertNotEmpty(context.runner.take_columns())
    self.assertEqual(context.runner.general_path_reasons, reasons)

  @pytest.mark.thorough
  def test_passes_that_cannot_be_sent(self):
    """This process makes them, if their number depends on a client."""

    @tf.function
    def work(dataset):
      total = tf.constant(0, tf.int64)
      for n in tf.range(dataset.reduce(0, lambda count, _: count + 1)):
        for digit in dataset:
          total = 10 * total + digit + tf.cast(n, tf.int64)
      return total

    comp = client_computations.at_clients(
      tff.tensorflow.computation(work, tff.SequenceType(np.int64))
    )
    context = _context_on_ray()
    data = [tf.data.Dataset.range(n).shuffle(9, seed=n + 1) for n in range(4)]
    with tff.framework.get_context_stack().install(contexts.create_context()):
      expected = comp(data)
    with tff.framework.get_context_stack().install(context):
      for _ in range(2):
        self.assertEqual(comp(data), expected)
    self.assertIn(
      'each pass draws or shuffles anew',
      str(context.runner.general_path_reasons),
    )

  @pytest.mark.thorough
  def test_an_actor_that_is_killed_changes_nothing(self):
    context = _context_on_ray()
    rows = np.arange(1200, dtype=np.float32).reshape([-1, 2])
    data = [list(rows[i::5]) for i in range(5)]
    spent, killed = {}, []

    def kill_one():
      deadline = time.monotonic() + processes.HANG_SECONDS
      while time.monotonic() < deadline:
        for actor, seconds in spent.items():
          # Those of an earlier test may be ending.
          with contextlib.suppress(psutil.Error):
            # It computes.
            if sum(actor.cpu_times()[:2]) > seconds + 0.3:
              actor.kill()
              killed.append(actor)
              return
        time.sleep(0.02)

    thread = threading.Thread(target=kill_one)
    with tff.framework.get_context_stack().install(context):
      # An actor has its name, and TensorFlow, once it has computed.
      _slow_total([client[:1] for client in data])
      for actor in _actors():
        with contextlib.suppress(psutil.Error):
          spent[actor] = sum(actor.cpu_times()[:2])
      thread.start()
      found = _slow_total(data)
      thread.join()
      again = _slow_total(data)
    self.assertNotEmpty(killed)
    np.testing.assert_array_equal(found, rows.sum(axis=0))
    np.testing.assert_array_equal(again, found)

  @pytest.mark.thorough
  def test_actors_read_clients_that_have_a_source(self):
    folder = self.create_tempdir().full_path
    stream = np.random.default_rng(5)
    for i in range(5):
      np.savez(
        os.path.join(folder, f'c{i}.npz'),
        x=stream.normal(size=[40 + i, 50]).astype(np.float32),
        y=np.full([40 + i], i),
      )
    clients = datasets.NpzFolderClientData(folder)
    arrays = [clients.load_client(c) for c in clients.client_ids]
    datasets.set_source(
      clients, 'fedfish_tff.datasets:NpzFolderClientData', folder=folder
    )
    element = tff.types.tensorflow_to_type(
      tf.nest.map_structure(
        lambda s: tf.TensorSpec([None, *s.shape], s.dtype), clients.element_spec
      )
    )

    total = client_computations.sum_of_clients(
      lambda batches: batches.reduce(
        tf.zeros([50]), lambda a, b: a + tf.reduce_sum(b[0], axis=0)
      ),
      tff.SequenceType(element),
    )
    context = _context_on_ray()
    with tff.framework.get_context_stack().install(context):
      cohort = [
        datasets.plan_client(
          clients,
          datasets.BatchSpec(batch_size=8, epochs=2),
          client_id=client_id,
          seed=1,
          round_number=1,
          refers=datasets.takes_references(),
        )
        for client_id in clients.client_ids
      ]
      with mock.patch.object(
        clients, 'load_client', side_effect=AssertionError('read here')
      ):
        context.runner.take_columns()
        found = total([datasets.to_client_input(c) for c in cohort])
        columns = context.runner.take_columns()
      np.testing.assert_allclose(
        found, 2 * sum(a[0].sum(axis=0) for a in arrays), rtol=1e-4, atol=1e-4
      )
      # Names and zeros, where the arrays have some 40,000 bytes.
      self.assertLess(columns['time/sent_bytes'], 2000)
      self.assertEqual([c.num_examples for c in cohort], list(range(40, 45)))
      # Here, nobody has seen one of them yet.
      os.remove(os.path.join(folder, 'c3.npz'))
      with self.assertRaisesRegex(errors.InputError, 'On node .*c3'):
        total([datasets.to_client_input(c) for c in cohort])

  @pytest.mark.thorough
  def test_actors_on_devices(self):
    if not accelerator.is_installed():
      self.skipTest('make accelerator PLATFORM=tpu was not run')
    _stop()
    context = contexts.create_context(
      'ray', ray_actors=1, ray_splits=2, ray_actor_cpus=2, platform='cpu'
    )
    self.addCleanup(context.close)
    case = learning_models.MODELS['mlp']
    run = learning_rounds.ROUNDS['own_fed_avg'](case, 'functional')
    here = contexts.create_context()
    with tff.framework.get_context_stack().install(here):
      expected = run()
    with tff.framework.get_context_stack().install(context):
      found = run()
    learning_rounds.assert_agree(found, expected, relative=case.relative)
    self.assertEmpty(context.runner.general_path_reasons)

  @pytest.mark.thorough
  def test_a_node_that_goes_for_good_changes_nothing(self):
    _stop()
    with ray_test_case.two_nodes() as cluster:
      context = contexts.create_context(
        'ray', ray_address=cluster.address, ray_actors=2, ray_splits=3
      )
      rows = np.arange(600, dtype=np.float32).reshape([-1, 2])
      data = [list(rows[i::5]) for i in range(5)]
      reports = []

      def remove_node(*done_and_all):
        if not reports:
          (node,) = cluster.worker_nodes
          cluster.remove_node(node, allow_graceful=False)
        reports.append(done_and_all)

      context.runner.set_report_clients(remove_node)
      try:
        with tff.framework.get_context_stack().install(context):
          for _ in range(2):
            np.testing.assert_array_equal(_slow_total(data), rows.sum(axis=0))
      finally:
        context.close()
      self.assertEqual(reports[-1], (5, 5))

  @pytest.mark.slow
  def test_work_that_kills_every_actor_ends_in_one_sentence(self):
    # Its actors have all processors.
    _stop()
    with mock.patch.object(stage_actor, 'StageActor', _DyingActor):
      context = contexts.create_context('ray', ray_actors=1)
    self.addCleanup(context.close)
    with (
      tff.framework.get_context_stack().install(context),
      self.assertRaisesRegex(ray_cluster.RayError, 'ended for good'),
    ):
      _slow_total([[np.float32([1, 2])]])

  @pytest.mark.thorough
  def test_a_call_that_is_stopped_leaves_actors_for_the_next(self):
    context = _context_on_ray()
    data = [[np.float32([1, 2])]] * 3
    with tff.framework.get_context_stack().install(context):
      with (
        mock.patch.object(
          ray_runner.interruption,
          'check',
          side_effect=interruption.StoppedError('stopped'),
        ),
        self.assertRaises(interruption.StoppedError),
      ):
        _slow_total(data)
      np.testing.assert_array_equal(_slow_total(data), [3, 6])

  @pytest.mark.thorough
  def test_a_client_that_fails_is_named(self):
    def check(x):
      with tf.control_dependencies([tf.debugging.Assert(x < 2, ['too large'])]):
        return tf.identity(x)

    total = client_computations.sum_of_clients(check, np.int32)
    with tff.framework.get_context_stack().install(_context_on_ray()):
      with self.assertRaisesRegex(
        tf.errors.InvalidArgumentError, 'Client 3 of 4.*too large'
      ):
        total([0, 1, 2, 0])
      self.assertEqual(total([1, 1, 1, 0]), 3)
      self.assertEqual(total([]), 0)
