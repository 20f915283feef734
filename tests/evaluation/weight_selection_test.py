# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Choosing among weights on held-out clients."""

from fedfish_tff import errors
from fedfish_tff import evaluation
from fedfish_tff import models
from fedfish_tff.execution import contexts
from tests import ridge_reference as ref

from absl.testing import absltest
import numpy as np
from sklearn import linear_model
import tensorflow as tf
import tensorflow_federated as tff

_FEATURES = models.create_identity_features(20)
_MODEL = models.create_feature_classifier(_FEATURES, num_classes=3)


def setUpModule():
  contexts.set_default_context()


def _clients(x, y, number=3):
  return [
    tf.data.Dataset.from_tensor_slices(
      (x[i::number].astype(np.float32), y[i::number].astype(np.int32))
    ).batch(16)
    for i in range(number)
  ]


def _weights(value):
  return tff.learning.models.ModelWeights(
    (np.full([20, 3], value, np.float32), np.zeros([3], np.float32)), ()
  )


class SelectWeightsTest(absltest.TestCase):
  def test_chooses_the_lambda_that_scikit_learn_finds_best(self):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 430)
    x = rng.normal(size=[430, 20]) + 0.6 * np.eye(3, 20)[y]
    train, held_out = slice(0, 30), slice(30, None)
    gram, moments = ref.sums(x[train], y[train], 3)
    lambdas = [0.01, 1.0, 100.0]
    selection = evaluation.select_weights(
      _MODEL,
      models.solve_ridge_path(
        _FEATURES,
        dict(gram=gram, moments=moments),
        lambdas,
        bias=models.RidgeBias.CENTERED,
        normalize_classes=False,
      ),
      _clients(x[held_out], y[held_out]),
    )
    expected = {
      alpha: linear_model.RidgeClassifier(alpha=alpha)
      .fit(x[train], y[train])
      .score(x[held_out], y[held_out])
      for alpha in lambdas
    }
    self.assertEqual(selection.best, max(expected, key=expected.get))
    self.assertCountEqual(selection.values, lambdas)
    for alpha, accuracy in expected.items():
      self.assertAlmostEqual(selection.values[alpha], accuracy, places=5)

  def test_lower_may_be_better_and_nan_never_is(self):
    x, y = ref.examples(30, 20, 3, 0)
    candidates = {'nan': _weights(np.nan), 'a': _weights(0), 'b': _weights(0)}
    selection = evaluation.select_weights(
      _MODEL,
      candidates,
      _clients(x, y),
      metric='loss',
      higher_is_better=False,
    )
    self.assertEqual(selection.best, 'a')
    self.assertTrue(np.isnan(selection.values['nan']))

  def test_bad_input(self):
    x, y = ref.examples(30, 20, 3, 0)
    for candidates, metric, message in (
      ({}, 'accuracy', 'none of 0 candidates'),
      ({1: _weights(np.nan)}, 'accuracy', 'none of 1 candidates'),
      ({1: _weights(0)}, 'mse', "no metric 'mse'; one of .*accuracy"),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        evaluation.select_weights(
          _MODEL, candidates, _clients(x, y), metric=metric
        )
