# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a cohort on three logical devices of the CPU.

TensorFlow divides the CPU once, when it starts, so `devices_test` runs this
module in a process of its own.
"""

import collections

from fedfish_tff import errors
from fedfish_tff.datasets import batches
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import devices
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_NUM_CLIENTS = 7


def setUpModule():
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices('CPU')[0],
    [tf.config.LogicalDeviceConfiguration()] * 3,
  )


class ResolveDevicesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('CPU', ('/device:CPU:0', '/device:CPU:1', '/device:CPU:2')),
    ('cpu:1', ('/device:CPU:1',)),
    ('CPU:2, CPU:0', ('/device:CPU:2', '/device:CPU:0')),
    (['CPU:0', 'CPU:1'], ('/device:CPU:0', '/device:CPU:1')),
  )
  def test_names_and_kinds(self, names, expected):
    self.assertEqual(devices.resolve_devices(names), expected)

  def test_default_is_the_cpu_without_gpus(self):
    if tf.config.list_physical_devices('GPU'):
      self.skipTest('there is a GPU')
    self.assertEqual(devices.resolve_devices(None), ('/device:CPU:0',))

  @parameterized.parameters(
    ('CPU:7', "no device 'CPU:7'; TensorFlow sees: CPU:0, CPU:1, CPU:2"),
    ('abacus', "no device 'ABACUS'"),
    ('', 'No device was named'),
    ('CPU,CPU:1', 'name one of them twice'),
  )
  def test_what_is_not_there(self, names, message):
    with self.assertRaisesRegex(errors.InputError, message):
      devices.resolve_devices(names)

  def test_no_tpu(self):
    with self.assertRaisesRegex(errors.InputError, 'no TPU on this machine'):
      devices.resolve_devices('TPU')

  def test_accelerators(self):
    self.assertFalse(devices.are_accelerators(('/device:CPU:0',)))
    self.assertTrue(devices.are_accelerators(('/device:GPU:0',)))
    self.assertFalse(
      devices.are_accelerators(('/device:TPU:0', '/device:CPU:0'))
    )


def _dense_model() -> tff.learning.models.VariableModel:
  model = tf.keras.Sequential(
    [
      tf.keras.layers.InputLayer((5,)),
      tf.keras.layers.Dense(4, activation='tanh', kernel_initializer='ones'),
      tf.keras.layers.Dense(3, kernel_initializer='zeros'),
    ]
  )
  return tff.learning.models.from_keras_model(
    model,
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    input_spec=(
      tf.TensorSpec([None, 5], tf.float32),
      tf.TensorSpec([None], tf.int32),
    ),
  )


class CohortOnDevicesTest(parameterized.TestCase):
  """The same cohort on one device, on three, and compiled by XLA."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.process = tff.learning.algorithms.build_weighted_fed_avg(
      _dense_model, tff.learning.optimizers.build_sgdm(0.1)
    )
    rng = np.random.default_rng(0)
    spec = batches.BatchSpec(batch_size=4, epochs=2)
    cls.cohort = [
      batches.plan_batches(
        (
          rng.normal(size=(5 + i, 5)).astype(np.float32),
          rng.integers(0, 3, 5 + i).astype(np.int32),
        ),
        spec,
        client_id=str(i),
        seed=0,
        round_number=1,
      )
      for i in range(_NUM_CLIENTS)
    ]
    cls.expected = cls._run_round()

  @classmethod
  def _run_round(cls, **options):
    context = cohort_context.create_sync_cohort_execution_context(**options)
    with tff.framework.get_context_stack().install(context):
      output = cls.process.next(cls.process.initialize(), cls.cohort)
    assert not context.general_path_reasons
    return output

  @parameterized.parameters(
    dict(devices=['CPU:1', 'CPU:2']),
    dict(use_xla=True, devices='CPU'),
  )
  def test_one_round(self, **options):
    self._assert_close(self._run_round(**options))

  def _assert_close(self, output):
    for found, expected in zip(
      tf.nest.flatten(output.state.global_model_weights.trainable),
      tf.nest.flatten(self.expected.state.global_model_weights.trainable),
      strict=True,
    ):
      tolerance.assert_close(found, expected, relative=tolerance.FLOAT32_SUMS)
    self.assertEqual(
      output.metrics['client_work']['train']['num_examples'],
      sum(2 * client.num_examples for client in self.cohort),
    )

  @parameterized.parameters(dict(devices='CPU'), dict(use_xla=True))
  def test_repeatable(self, **options):
    first, second = (self._run_round(**options) for _ in range(2))
    self._assert_close(first)
    for a, b in zip(
      tf.nest.flatten(first.state.global_model_weights.trainable),
      tf.nest.flatten(second.state.global_model_weights.trainable),
      strict=True,
    ):
      np.testing.assert_array_equal(a, b)


class PlacementTest(absltest.TestCase):
  def test_client_i_goes_to_device_i_modulo_their_number(self):
    @tff.tensorflow.computation(np.int32)
    def double(x):
      return 2 * x

    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def comp(values):
      doubled = tff.federated_map(double, values)
      return collections.OrderedDict(
        each=doubled, total=tff.federated_sum(doubled)
      )

    context = cohort_context.create_sync_cohort_execution_context(devices='CPU')
    with tff.framework.get_context_stack().install(context):
      result = comp(list(range(10)))
    # Outputs come back in the order of the cohort, not of the devices.
    self.assertEqual(result['each'], list(range(0, 20, 2)))
    self.assertEqual(result['total'], 90)


class XlaTest(absltest.TestCase):
  def test_what_xla_does_not_know_runs_without_it(self):
    @tff.tensorflow.computation(np.str_)
    def length(text):
      return tf.strings.length(text)

    @tff.federated_computation(tff.FederatedType(np.str_, tff.CLIENTS))
    def comp(texts):
      return tff.federated_sum(tff.federated_map(length, texts))

    context = cohort_context.create_sync_cohort_execution_context(use_xla=True)
    with tff.framework.get_context_stack().install(context):
      with self.assertLogs(level='WARNING') as logs:
        self.assertEqual(comp(['a', 'bcd', '']), 4)
      self.assertIn('XLA does not compile', '\n'.join(logs.output))
      self.assertEqual(comp(['ab', 'cde', 'f']), 6)
    self.assertEqual(context.general_path_reasons, ())


if __name__ == '__main__':
  absltest.main()
