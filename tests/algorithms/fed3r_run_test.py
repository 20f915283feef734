# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fed3R in the training loop: rounds and checkpoints."""

import pathlib

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import models
from fedfish_tff import simulation

from absl.testing import absltest
import numpy as np
from sklearn import linear_model
import tensorflow as tf

_FEATURES, _CLASSES, _CLIENTS, _COHORT = 6, 3, 7, 2
_ROUNDS = 4


def _examples():
  rng = np.random.default_rng(0)
  y = rng.integers(0, _CLASSES, 90).astype(np.int32)
  x = rng.normal(size=[90, _FEATURES]) + 2 * np.eye(_CLASSES, _FEATURES)[y]
  return x.astype(np.float32), y


class Fed3rRunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    x, y = cls.examples = _examples()
    # By label: most clients hold one class.
    parts = np.array_split(np.argsort(y, kind='stable'), _CLIENTS)
    cls.clients = datasets.InMemoryClientData(
      {f'client {i}': (x[part], y[part]) for i, part in enumerate(parts)}
    )
    cls.features = models.create_identity_features(_FEATURES)
    cls.process = algorithms.build_fed3r(
      cls.features,
      num_classes=_CLASSES,
      regularization=1.0,
      bias=models.RidgeBias.CENTERED,
      normalize_classes=False,
      accumulator_dtype=tf.float64,
    )

  def _run(self, folder, rounds, cohort_size=_COHORT):
    return simulation.run_training(
      self.process,
      train_data=self.clients,
      participation=simulation.visit_once_participation(
        self.clients.client_ids, cohort_size=cohort_size, seed=1
      ),
      batch_spec=datasets.BatchSpec(batch_size=16),
      seed=1,
      rounds=rounds,
      program_state_manager=simulation.CheckpointManager(folder),
    )

  def test_visits_all_resumes_and_ends_with_scikit_learn_s_classifier(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.assertEqual(
      simulation.count_visiting_rounds(_CLIENTS, cohort_size=_COHORT), _ROUNDS
    )
    self._run(folder / 'a', 2)
    resumed = self._run(folder / 'a', _ROUNDS).state
    # Two more rounds than there are clients for, in other cohorts.
    longer = self._run(folder / 'b', 5, cohort_size=3).state
    x, y = self.examples
    expected = linear_model.RidgeClassifier(alpha=1.0).fit(x, y)
    for state in (resumed, longer):
      kernel, bias = self.process.get_model_weights(state).trainable
      np.testing.assert_allclose(
        2 * kernel, expected.coef_.T, rtol=1e-4, atol=1e-6
      )
      np.testing.assert_allclose(
        2 * bias - 1, expected.intercept_, rtol=1e-4, atol=1e-6
      )
