# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parts of Mime Lite's client work; algorithms/mime_lite_test has the whole."""

from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.client_work import mime_lite
from tests import client_updates
from tests import numpy_reference as ref

from absl.testing import absltest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _MOMENTUM = 0.1, 0.5


def _optimizer():
  return tff.learning.optimizers.build_sgdm(_RATE, momentum=_MOMENTUM)


class ServerStatisticsUpdateTest(absltest.TestCase):
  def test_what_would_overflow_in_the_sum_leaves_the_client_out(self):
    # One step of finite length, which times the number of examples is not.
    update_fn = mime_lite.build_server_statistics_update(
      tff.learning.optimizers.build_sgdm(1e38)
    )
    result = client_updates.run(
      lambda *args: update_fn(*args, ()),
      ref.make_batches(100, 0, batch_size=100),
    )
    self.assertTrue(client_work.all_finite(result.update))
    left_out, _, excluded, _ = client_work.leave_out_non_finite(
      result, result.metrics
    )
    self.assertEqual(excluded, 1)
    self.assertEqual(left_out.update_weight, 0)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(TypeError, 'optimizer must be'):
      mime_lite.build_server_statistics_update(tf.keras.optimizers.SGD(0.1))
    with self.assertRaisesRegex(errors.InputError, 'local_epochs must be 1'):
      mime_lite.build_server_statistics_update(_optimizer(), local_epochs=0)
