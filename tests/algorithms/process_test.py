# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A federated process is a learning process that TFF's own tools take."""

import asyncio
import tempfile

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def setUpModule():
  contexts.set_default_context()


class FederatedProcessTest(absltest.TestCase):
  def test_tffs_training_loop_takes_it(self):
    # TFF's loop takes the thread's event loop, which asyncio.run leaves unset.
    loop = asyncio.new_event_loop()
    self.addCleanup(loop.close)
    asyncio.set_event_loop(loop)
    process = algorithms.build_fed_fish(
      ref.create_functional_model(),
      tff.learning.optimizers.build_sgdm(0.3),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    self.assertIsInstance(process, tff.learning.templates.LearningProcess)
    clients = [ref.make_batches(n, n) for n in (5, 6)]
    metrics = tff.program.MemoryReleaseManager()
    with tempfile.TemporaryDirectory() as folder:
      state = tff.simulation.run_training_process(
        process,
        lambda round_number: [ref.to_dataset(c) for c in clients],
        total_rounds=2,
        program_state_manager=tff.program.FileProgramStateManager(folder),
        metrics_managers=[metrics],
      )
    expected = ref.initial_weights()
    for _ in range(2):
      expected = ref.fed_fish_round(
        expected, clients, rate=0.3, server_rate=1.0, epochs=1
      )
    for a, e in zip(process.get_model_weights(state).trainable, expected):
      np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)
    self.assertLen(metrics.values(), 2)
