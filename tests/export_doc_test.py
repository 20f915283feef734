# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""docs/export.md does what it says: its Python, on an exported run."""

import contextlib
import pathlib

from tests import fenced_code
from tests import repository
from tests import tolerance
from tests.launch import binary_runner
from tests.launch import small_configs
from tests.launch import trained_runs

from absl.testing import absltest
import numpy as np
import pytest
from sklearn import datasets
import tensorflow as tf

pytestmark = pytest.mark.thorough

_DOC = repository.ROOT / 'docs' / 'export.md'


class ExportDocTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.enterClassContext(small_configs.built_once())

  def setUp(self):
    super().setUp()
    folder = pathlib.Path(self.create_tempdir().full_path)
    trained_runs.fed_fish_on_digits().copy_to(folder / 'runs' / 'fed_fish')
    self.enter_context(contextlib.chdir(folder))
    digits = datasets.load_digits()
    self.scope = {
      'x': np.float32(digits.data[:100] / 16),
      'y': digits.target[:100],
    }
    self.blocks = fenced_code.read(_DOC, 'python')

  def _keras_model(self):
    """The network by Keras' own layers, with the exported arrays."""
    with np.load('runs/fed_fish/export/weights.npz') as arrays:
      weights = [arrays[f'trainable_{i}'] for i in range(4)]
    model = tf.keras.Sequential(
      [
        tf.keras.layers.Dense(8, 'relu', input_shape=(64,)),
        tf.keras.layers.Dense(10),
      ]
    )
    model.set_weights(weights)
    return model

  def test_tensorflow_and_keras(self):
    outcome = binary_runner.run_here(
      'launch.evaluate', '--workdir=runs/fed_fish', '--export'
    )
    self.assertEqual((outcome.code, outcome.problems), (0, []))
    for block in self.blocks[:2]:
      tf.keras.utils.set_random_seed(0)
      exec(block, self.scope)
    expected = self._keras_model()
    for name in ('outputs', 'predictions'):
      tolerance.assert_close(
        self.scope[name],
        expected(self.scope['x']),
        relative=tolerance.FLOAT32_SUMS,
      )
    tf.keras.utils.set_random_seed(0)
    expected.compile(
      tf.keras.optimizers.SGD(0.1),
      tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    expected.fit(self.scope['x'], self.scope['y'], batch_size=32)
    trained = self.scope['keras_model'].get_weights()
    for after, other in zip(trained, expected.get_weights(), strict=True):
      tolerance.assert_close(after, other, relative=tolerance.FLOAT32_STEPS)
