# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for pjrt_runner: as in process, up to rounding.

They run on PJRT's CPU, or on the platform that `accelerator` names.
"""

import asyncio
import contextlib
import functools
import gc
import os
import signal
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.execution import contexts
from fedfish_tff.execution.pjrt import stage_programs
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.replay import vectorized_operations
from tests import tolerance
from tests.execution import client_computations
from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import psutil
import pytest
import tensorflow as tf
import tensorflow_federated as tff

# What XLA does not take, and in which words.
_IN_PROCESS = {
  'fed_recon': 'FilterDataset whose function may fail',
  'personalization_eval': 'Timestamp',
}


def _no_fallback(test):
  """Returns a context in which nothing falls back to this process."""
  if accelerator.COMPARES_BOUNDS:
    return test.assertNoLogs(level='WARNING')
  return contextlib.nullcontext()


# What is vectorised without a word; those of its clients whose batches are not
# full run one by one.
_VECTORIZED = (
  'fed_fish_per_example',
  'own_fed_avg',
  'own_fed_rep',
  'own_mime_lite',
  'own_scaffold',
)
# Their kernels are among those of others.
_AT_NIGHT = (
  'fed_fish_batch_gradient',
  'own_ditto',
  'own_fed_prox',
  'own_fed_sgd',
)
# Those of these, too; and _VECTORIZED are tried below, one by one as well.
_ALONE_AT_NIGHT = (
  *('fed_recon_eval', 'own_hf_maml'),
  *(name for name in _VECTORIZED if name != 'own_fed_avg'),
)
_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, 2]))
_MODELS = {'own_fed_avg': 'cnn', 'fed_eval': 'cnn', 'own_fed_rep': 'cnn'}


@functools.cache
def _folder():
  return absltest.TEST_TMPDIR.value


def _add_up(batches):
  return batches.reduce(0.0, lambda a, rows: a + tf.reduce_sum(rows))


def _gradient(function, x):
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = function(x)
  return tape.gradient(y, x)


def _assert_negative(x):
  with tf.control_dependencies([tf.debugging.assert_less(x, 0.0)]):
    return tf.identity(x)


def _convolve(x, kernels, **options):
  """Returns a convolution of eight positions for each row."""
  images = x[:, tf.newaxis] * tf.range(8.0)[:, tf.newaxis]
  return tf.nn.convolution(images, kernels, **options)


def _create(platform=accelerator.PLATFORM, **options):
  return contexts.create_context(
    'pjrt',
    platform=platform,
    cache=os.path.join(_folder(), 'programs'),
    **options,
  )


class EqualityTestCase(accelerator.TestCase, parameterized.TestCase):
  """Compares rounds with those in this process."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.context = _create()

  def check(self, name):
    """Checks a round of `learning_rounds.ROUNDS`."""
    case = learning_models.MODELS[_MODELS.get(name, 'mlp')]
    is_variable = name in learning_rounds.TFF_ROUNDS_OF_ONE_KIND
    self.check_round(
      learning_rounds.ROUNDS[name](
        case, 'variable' if is_variable else 'functional'
      ),
      relative=case.relative,
      in_process=_IN_PROCESS.get(name),
    )

  def check_round(self, run, *, relative, in_process=None):
    """Checks a round; `in_process` says why it is no program, if it is none."""
    context = contexts.create_context()
    with tff.framework.get_context_stack().install(context):
      expected = run()
    with tff.framework.get_context_stack().install(self.context):
      if in_process:
        with self.assertLogs(level='WARNING') as logs:
          found = run()
        self.assertIn(in_process, '\n'.join(logs.output))
      else:
        with _no_fallback(self):
          found = run()
    self.assertEmpty(self.context.runner.general_path_reasons)
    learning_rounds.assert_agree(found, expected, relative=relative)


class EqualityTest(EqualityTestCase):
  def test_fed_avg(self):
    self.check('own_fed_avg')


class ThoroughEqualityTest(EqualityTestCase):
  @parameterized.parameters(
    'fed_eval',
    *(
      name
      for name in (
        *learning_rounds.TFF_ROUNDS_OF_ONE_KIND,
        *learning_rounds.OWN_ROUNDS,
      )
      if name not in ('own_fed_avg', *_AT_NIGHT, *_ALONE_AT_NIGHT)
    ),
  )
  @pytest.mark.thorough
  def test_round(self, name):
    self.check(name)

  @parameterized.parameters(
    *_AT_NIGHT,
    *_ALONE_AT_NIGHT,
    # This package's forms of these algorithms do the same at clients.
    *(name for name in learning_rounds.TFF_ROUNDS if name != 'fed_eval'),
  )
  @pytest.mark.slow
  def test_another_round(self, name):
    self.check(name)

  @pytest.mark.thorough
  def test_dropout(self):
    self.check_round(
      learning_rounds.one_step_of_dropout(), relative=tolerance.FLOAT32_SUMS
    )


class VectorizedEqualityTest(EqualityTestCase):
  """With two clients side by side where their batches are all full."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.context = _create(vectorized_clients=2)

  def check(self, name):
    # Batches are of 4, so that there are two pairs.
    sizes = (8, 8, 4, 16, 9, 8, 0, 4)
    with (
      mock.patch.object(learning_models, 'SIZES', sizes),
      mock.patch.object(
        vectorized_operations,
        'map_clients',
        side_effect=vectorized_operations.map_clients,
      ) as mapped,
    ):
      super().check(name)
    mapped.assert_called()

  @parameterized.parameters(*_VECTORIZED)
  @pytest.mark.thorough
  def test_round(self, name):
    self.check(name)

  @parameterized.parameters(*_AT_NIGHT)
  @pytest.mark.slow
  def test_another_round(self, name):
    self.check(name)


class PjrtContextTest(accelerator.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Each has a process, which takes a second to start.
    cls.context = _create()

  def _total(self, batches):
    comp = client_computations.sum_of_clients(_add_up, _ROWS)
    with tff.framework.get_context_stack().install(self.context):
      return comp(batches)

  def _batches(self, *sizes_of_clients):
    return [
      [np.ones([n, 2], np.float32) for n in sizes] for sizes in sizes_of_clients
    ]

  def test_no_loops_are_compiled_alone(self):
    self.assertFalse(self.context.runner.compiles_loops)

  def test_parameters_are_replaced_on_devices(self):
    with tff.framework.get_context_stack().install(self.context):
      self.assertEqual(learning_rounds.scaled_total([1.0, 2.0]), 3.0)
      with parameters.replaced({'scale': 4.0}):
        self.assertEqual(learning_rounds.scaled_total([1.0, 2.0]), 12.0)
    self.assertEmpty(self.context.runner.general_path_reasons)

  def test_batches_of_all_sizes(self):
    """Rows beyond a batch's size would be counted."""
    self.assertEqual(
      self._total(self._batches([4, 4, 1], [], [3], [1, 2], [0, 4])), 2 * 19.0
    )

  def _check_batches(self, function):
    """Compares with this process, for batches of fewer rows than others."""

    def work(batches):
      def add(total, x):
        y = tf.reshape(function(x), [-1])
        places = tf.range(1, tf.size(y) + 1)
        return total + tf.reduce_sum(y * tf.cast(places, tf.float32))

      return batches.reduce(0.0, add)

    comp = client_computations.at_clients(work, _ROWS)
    rng = np.random.default_rng(0)
    data = [
      [rng.normal(size=[n, 2]).astype(np.float32) for n in sizes]
      for sizes in ([4, 4, 1], [3], [4])
    ]
    with tff.framework.get_context_stack().install(contexts.create_context()):
      expected = comp(data)
    with tff.framework.get_context_stack().install(self.context):
      np.testing.assert_allclose(comp(data), expected, rtol=1e-4, atol=1e-4)

  def test_what_is_not_listed_as_exact_runs_in_this_process(self):
    with self.assertLogs(level='WARNING') as logs:
      self._check_batches(lambda x: tf.cumsum(x) + x[-1])
    self.assertIn('batch of fewer rows than others', '\n'.join(logs.output))

  def test_what_is_not_listed_runs_on_devices_if_no_batch_is_ragged(self):
    batches = self._batches([4, 4], [4])
    comp = client_computations.sum_of_clients(
      lambda data: data.reduce(0.0, lambda a, x: a + tf.reduce_sum(x[-1])),
      _ROWS,
    )
    with tff.framework.get_context_stack().install(self.context):
      with self.assertNoLogs(level='WARNING'):
        self.assertEqual(comp(batches), 6.0)

  def test_what_xla_gets_right(self):
    def function(x):
      results = [
        tf.roll(x, 1, 1),
        _gradient(lambda y: tf.concat([y, y**2], 1), x),
        _convolve(x, tf.ones([3, 2, 2])),
        _gradient(lambda k: _convolve(x, k) ** 2, tf.ones([3, 2, 4])),
      ]
      return tf.stack([tf.reduce_sum(tf.tanh(0.01 * r)) for r in results])

    with _no_fallback(self):
      self._check_batches(function)

  @parameterized.parameters(
    (lambda x: tf.gather(tf.range(3.0), tf.argmax(x, 1) + 3),),
    (lambda x: tf.debugging.check_numerics(tf.math.log(x - 9), ''),),
    # In a loop, of which this result is not read.
    (
      lambda x: tf.while_loop(
        lambda i, *_: i < 3,
        lambda i, a, b: (i + 1, tf.gather([1.0, 2.0], i), b + x),
        (0, 0.0, x),
      )[2],
    ),
  )
  def test_errors_of_client_work_are_raised(self, function):
    self._check_error(function)

  @parameterized.parameters(
    (lambda x: tf.cast(3 // tf.argmax(x, 1), tf.float32),),
    (
      lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.argmax(x, 1) + 2, x
      ),
    ),
    (lambda x: x[tf.cast(tf.reduce_sum(x), tf.int32)],),
    (_assert_negative,),
  )
  @pytest.mark.thorough
  def test_other_errors_of_client_work_are_raised(self, function):
    self._check_error(function)

  def _check_error(self, function):
    def work(batches):
      return batches.reduce(0.0, lambda a, x: a + tf.reduce_sum(function(x)))

    comp = client_computations.sum_of_clients(work, _ROWS)
    with (
      tff.framework.get_context_stack().install(self.context),
      _no_fallback(self),
      self.assertRaises(tf.errors.InvalidArgumentError),
    ):
      comp(self._batches([4, 3], [2]))

  def test_a_killed_process_is_started_again(self):
    first = self.context.runner.process.pid
    self.assertEqual(self._total(self._batches([2])), 4.0)
    os.kill(first, signal.SIGKILL)
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(self._total(self._batches([2], [3])), 10.0)
    self.assertIn('SIGKILL', '\n'.join(logs.output))
    self.assertNotEqual(self.context.runner.process.pid, first)

  def test_strings_run_in_this_process(self):
    comp = client_computations.sum_of_clients(
      lambda s: tf.strings.length(s), np.str_
    )
    with tff.framework.get_context_stack().install(self.context):
      with self.assertLogs(level='WARNING') as logs:
        self.assertEqual(comp(['a', 'bcd']), 4)
    self.assertIn('strings', '\n'.join(logs.output))

  def test_a_generator_of_the_runtime_runs_in_this_process(self):
    comp = client_computations.at_clients(
      lambda x: x + tf.random.uniform([]), np.float32
    )
    with tff.framework.get_context_stack().install(self.context):
      with self.assertLogs(level='WARNING') as logs:
        drawn = comp([0.0] * 20)
    self.assertIn('RandomUniform', '\n'.join(logs.output))
    self.assertLen(set(drawn), 20)

  def test_outputs_come_in_the_order_of_the_cohort(self):
    comp = client_computations.at_clients(lambda x: 2 * x, np.int64)
    with tff.framework.get_context_stack().install(self.context):
      # Larger than 32 bits, and more than fit into one chunk.
      values = [2**33 + i for i in range(700)]
      self.assertEqual(comp(values), [2 * value for value in values])

  @pytest.mark.thorough
  def test_vectorized_outputs_come_in_the_order_of_the_cohort(self):
    self.context = _create(vectorized_clients=3)
    sizes = [[2, 2], [1], [2], [2, 2], [2], [], [2, 1], [2, 2], [2]]
    comp = client_computations.at_clients(_add_up, _ROWS)
    with tff.framework.get_context_stack().install(self.context):
      with _no_fallback(self):
        found = comp(self._batches(*sizes))
    self.assertEqual(found, [2 * sum(of_client) for of_client in sizes])

  @absltest.skipUnless(accelerator.COMPARES_BOUNDS, 'TensorFlow 2.14')
  @pytest.mark.thorough
  @parameterized.parameters(
    (stage_programs.DeviceMemoryError('Too large.'), 2),
    (tracing.NotReplayableError('No such program.'), 1),
  )
  def test_fewer_side_by_side(self, error, width):
    self.context = _create(vectorized_clients=4)
    with (
      mock.patch.object(
        stage_programs, '_check_memory', side_effect=[error, None]
      ),
      self.assertLogs(level='WARNING') as logs,
    ):
      self.assertEqual(self._total(self._batches([4], [4], [1])), 18.0)
    self.assertIn(f'{width} clients side by side', '\n'.join(logs.output))

  @pytest.mark.thorough
  def test_several_devices_share_a_cohort(self):
    flags = '--xla_force_host_platform_device_count=3'
    with mock.patch.dict(os.environ, XLA_FLAGS=flags):
      self.context = _create('cpu')
    self.assertEqual(self.context.runner.devices, ('cpu:0', 'cpu:1', 'cpu:2'))
    batches = self._batches([4, 1], [3], [], [2, 2], [1], [5], [1])
    self.assertEqual(self._total(batches), 2 * 19.0)

  def test_asynchronous(self):
    context = contexts.create_context(
      'pjrt',
      asynchronous=True,
      platform=accelerator.PLATFORM,
      default_num_clients=3,
      cache='',
    )
    comp = tff.federated_computation(
      lambda: tff.federated_sum(tff.federated_value(2, tff.CLIENTS))
    )
    with tff.framework.get_context_stack().install(context):
      self.assertEqual(asyncio.run(comp()), 6)

  def test_the_process_goes_with_the_context(self):
    context = _create()
    process = psutil.Process(context.runner.process.pid)
    del context
    gc.collect()
    self.assertFalse(process.is_running())

  def test_precisions(self):
    for platform, precision in (('cpu', 'bfloat16'), ('cuda', 'half')):
      with self.subTest(precision):
        with self.assertRaisesRegex(errors.InputError, precision):
          contexts.create_context(
            'pjrt', platform=platform, precision=precision
          )
