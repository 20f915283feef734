# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation before and after fine-tuning."""

import collections

from fedfish_tff.client_work import local_training
from fedfish_tff.evaluation import personalization
from fedfish_tff.execution import contexts
from tests.evaluation import softmax_regression

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_TRAIN = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((9, 6))
)
_TEST = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((7, 5))
)
_EMPTY = softmax_regression.draw_examples(0, 0)


def _build(model):
  return personalization.build_personalization_evaluation(
    model,
    local_training.build_local_training(
      model,
      tff.learning.optimizers.build_sgdm(softmax_regression.LEARNING_RATE),
    ),
  )


def _client_data(train, test, epochs=1):
  return [
    collections.OrderedDict(
      train=softmax_regression.to_dataset(t, epochs=epochs),
      test=softmax_regression.to_dataset(e),
    )
    for t, e in zip(train, test)
  ]


def setUpModule():
  contexts.set_default_context()


class PersonalizationTest(parameterized.TestCase):
  @parameterized.parameters('functional', 'keras')
  def test_before_and_after_follow_numpy(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    results = _build(model)(start, _client_data(_TRAIN, _TEST, epochs=3))
    arrays = softmax_regression.as_arrays(start)
    for result, train, test in zip(results, _TRAIN, _TEST):
      self.assertEqual(list(result), ['before', 'after', 'num_examples'])
      self.assertEqual(result['num_examples'], len(test[0]))
      tuned = softmax_regression.numpy_train(
        arrays, softmax_regression.to_batches(train, epochs=3)
      )
      for when, weights in (('before', arrays), ('after', tuned)):
        expected = softmax_regression.numpy_metrics(weights, test)
        for metric, value in expected.items():
          np.testing.assert_allclose(result[when][metric], value, rtol=2e-5)

  @parameterized.parameters('functional', 'keras')
  def test_no_epoch_and_no_example_leave_the_scores_as_they_are(self, name):
    model = softmax_regression.MODELS[name]
    evaluation = _build(model)
    start = softmax_regression.start_weights(model)
    for client_data in (
      _client_data(_TRAIN, _TEST, epochs=0),
      _client_data((_EMPTY, _EMPTY), _TEST),
    ):
      for result in evaluation(start, client_data):
        self.assertEqual(result['before'], result['after'])

  @parameterized.parameters('functional', 'keras')
  def test_fine_tuning_that_diverges_has_no_score_after(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    x, y = _TRAIN[0]
    train = (np.float32(3e38) * np.sign(x), y)
    (result,) = _build(model)(
      start, _client_data((train,), _TEST[:1], epochs=2)
    )
    expected = softmax_regression.numpy_metrics(
      softmax_regression.as_arrays(start), _TEST[0]
    )
    self.assertAlmostEqual(
      result['before']['accuracy'], expected['accuracy'], places=6
    )
    self.assertTrue(np.isnan(result['after']['accuracy']))
    self.assertTrue(np.isnan(result['after']['loss']))

  def test_a_client_without_unseen_examples_is_missing(self):
    model = softmax_regression.MODELS['functional']
    start = softmax_regression.start_weights(model)
    (result,) = _build(model)(start, _client_data(_TRAIN[:1], (_EMPTY,)))
    self.assertEqual(result['num_examples'], 0)
    self.assertTrue(np.isnan(result['before']['accuracy']))
    self.assertTrue(np.isnan(result['after']['accuracy']))


if __name__ == '__main__':
  absltest.main()
