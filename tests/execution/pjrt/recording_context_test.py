# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is recorded runs on a device, and comes to what NumPy says."""

from unittest import mock

from fedfish_tff import errors
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.pjrt import recording_context
from fedfish_tff.execution.running import cohort_stages
from tests.execution.pjrt import accelerator

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_VECTOR = tff.TensorType(np.float32, [2])
_ROOTS = tff.tensorflow.computation(lambda x: tf.sqrt(x), _VECTOR)


@tff.federated_computation(tff.FederatedType(_VECTOR, tff.CLIENTS))
def _sum_roots(values):
  return tff.federated_sum(tff.federated_map(_ROOTS, values))


@tff.federated_computation(tff.FederatedType(_VECTOR, tff.CLIENTS))
def _roots(values):
  return tff.federated_map(_ROOTS, values)


class RecordingContextTest(accelerator.TestCase):
  def setUp(self):
    super().setUp()
    self.context = recording_context.RecordingContext()
    self.enter_context(tff.framework.get_context_stack().install(self.context))
    rng = np.random.default_rng(0)
    self.values = list(rng.uniform(size=(5, 2)).astype(np.float32))

  def test_the_program_does_the_work(self):
    expected = np.sqrt(self.values).sum(axis=0)
    np.testing.assert_allclose(_sum_roots(self.values), expected, rtol=1e-6)
    (record,) = self.context.records
    np.testing.assert_allclose(record.results, [expected], rtol=1e-6)
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    device = process.device(0)
    program = device.compile(record.hlo)
    results = device.run(program, device.put(record.arguments))
    (found,) = device.fetch(results, program.results)
    np.testing.assert_allclose(found, expected, rtol=1e-6)

  def test_what_is_not_one_program_of_sums(self):
    with self.assertRaisesRegex(errors.InputError, 'sums only'):
      _roots(self.values)
    with mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', 2):
      with self.assertRaisesRegex(errors.InputError, '5 clients are 3 chunks'):
        _sum_roots(self.values)
