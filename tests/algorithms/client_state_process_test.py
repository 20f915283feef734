# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Defaults of a process; composition_test runs one."""

from fedfish_tff import algorithms

from absl.testing import absltest


class ClientStateProcessTest(absltest.TestCase):
  def test_defaults(self):
    computations = (
      *('initialize', 'initialize_client', 'next', 'get_model_weights'),
      *('next_without_client_states', 'client_model_weights'),
      *('local_training', 'update_is_finite'),
    )
    process = algorithms.ClientStateProcess(**dict.fromkeys(computations))
    self.assertEqual(process.extra_passes, 0)
    self.assertTrue(process.uses_weights)
    self.assertIsNone(process.received_type)
