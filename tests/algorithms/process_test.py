# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of processes of clients with and without states."""

import asyncio
import tempfile

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import absltest
import tensorflow_federated as tff


class FederatedProcessTest(rounds.TestCase):
  def test_tffs_training_loop_takes_it(self):
    # TFF's loop takes the thread's event loop, which asyncio.run leaves unset.
    loop = asyncio.new_event_loop()
    self.addCleanup(loop.close)
    asyncio.set_event_loop(loop)
    process = algorithms.build_fed_fish(
      rounds.MODELS['functional'], rounds.sgd(0.3), rounds.sgd(1.0)
    )
    metrics = tff.program.MemoryReleaseManager()
    with tempfile.TemporaryDirectory() as folder:
      state = tff.simulation.run_training_process(
        process,
        lambda round_number: [ref.to_dataset(rounds.DATA[c]) for c in 'ab'],
        total_rounds=2,
        program_state_manager=tff.program.FileProgramStateManager(folder),
        metrics_managers=[metrics],
      )
    *_, (expected, _) = rounds.reference(
      ref.initial_weights(),
      **rounds.fed_fish(rate=0.3, epochs=1),
      cohorts=['ab', 'ab'],
    )
    self.assert_close(process.get_model_weights(state).trainable, expected)
    self.assertLen(metrics.values(), 2)


class ClientStateProcessTest(absltest.TestCase):
  def test_defaults(self):
    computations = (
      *('initialize', 'initialize_client', 'next', 'get_model_weights'),
      'set_model_weights',
      *('next_without_client_states', 'client_model_weights'),
      *('build_local_training', 'build_update_is_finite'),
    )
    process = algorithms.ClientStateProcess(**dict.fromkeys(computations))
    self.assertEqual(process.extra_passes, 0)
    self.assertTrue(process.uses_weights)
    self.assertIsNone(process.received_type)
