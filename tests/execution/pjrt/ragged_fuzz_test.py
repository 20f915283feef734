# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random client work on ragged batches: on devices as in this process."""

from fedfish_tff.execution import contexts
from tests.execution import client_computations
from tests.execution.fuzzing import ragged
from tests.execution.pjrt import accelerator

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, ragged.WIDTH]))
_SIZES = ([4, 4, 1], [3], [4, 2])


class RaggedFuzzTest(accelerator.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.contexts = (
      contexts.create_context(),
      contexts.create_context('pjrt', platform=accelerator.PLATFORM, cache=''),
    )

  def _check(self, text):
    rng = np.random.default_rng(0)
    data = [
      [rng.uniform(-1, 2, [n, ragged.WIDTH]).astype(np.float32) for n in sizes]
      for sizes in _SIZES
    ]
    results = []
    for context in self.contexts:
      comp = client_computations.at_clients(
        lambda batches: batches.reduce(
          0.0, lambda a, x: a + ragged.run(text, x)
        ),
        _ROWS,
      )
      with tff.framework.get_context_stack().install(context):
        try:
          results.append(np.float32(comp(data)))
        except tf.errors.OpError as error:
          results.append(type(error).__name__)
    here, there = results
    if isinstance(here, str) or isinstance(there, str):
      self.assertEqual(str(there), str(here), text)
    else:
      largest = max(1.0, float(np.nanmax(np.abs(here), initial=0)))
      np.testing.assert_allclose(
        there, here, 1e-3, 1e-3 * largest, err_msg=text
      )

  @parameterized.parameters(*ragged.STEPS)
  @pytest.mark.slow
  def test_step(self, name):
    for number in range(4):
      with self.subTest(number):
        self._check(f'{name}:{number}')

  @parameterized.parameters(*range(300))
  @pytest.mark.slow
  def test_program(self, seed):
    self._check(ragged.generate(seed))
