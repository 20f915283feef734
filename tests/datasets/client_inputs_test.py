# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches go as they are to contexts that take them, else as datasets."""

from fedfish_tff.datasets import batches
from fedfish_tff.datasets import client_inputs

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class _Context(tff.framework.SyncContext):
  def invoke(self, comp, arg):
    return arg


class _TakingContext(_Context):
  takes_client_batches = True


class ToClientInputTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.batches = batches.sequential_batches(
      np.arange(5), client_id='a', batch_size=2
    )

  def test_where_the_context_takes_batches(self):
    with tff.framework.get_context_stack().install(_TakingContext()):
      found = client_inputs.to_client_input(self.batches)
    self.assertIs(found, self.batches)

  def test_elsewhere(self):
    with tff.framework.get_context_stack().install(_Context()):
      found = client_inputs.to_client_input(self.batches)
    self.assertIsInstance(found, tf.data.Dataset)
    self.assertEqual(
      [batch.tolist() for batch in found.as_numpy_iterator()],
      [[0, 1], [2, 3], [4]],
    )
