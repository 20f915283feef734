# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the model and process of a config, a fine-tuning's too."""

import dataclasses

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import building
from launch.methods import fine_tuning
from tasks.tabular import toy_regression
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import scipy.special
import tensorflow as tf
import tensorflow_federated as tff

_CLASSES = small_configs.NUM_CLASSES


def _create_model(variant, task, *, start_weights=None, **changes):
  changes = {f'fine_tuning.{name}': value for name, value in changes.items()}
  config = small_configs.read_config(variant, **changes)
  return building.prepare(config, task, start_weights=start_weights).model


class FineTuningTest(small_configs.TaskTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.x, _ = cls.task.train.load_client(cls.task.train.client_ids[0])
    rng = np.random.default_rng(0)
    cls.start = [
      rng.normal(size=shape).astype(np.float32)
      for shape in ((64, 8), (8,), (8, _CLASSES), (_CLASSES,))
    ]

  @parameterized.parameters(
    ('fed3r', False),
    ('fed_avg', False),
    ('fed_fish,fine_tuning=ft_lp', False),
    ('fed_fish,fine_tuning=ft_lp,start=fed3r_rf', True),
  )
  def test_fine_tuned_runs_may_have_a_start(self, variant, expected):
    config = small_configs.read_config(variant)
    self.assertEqual(fine_tuning.has_start(config), expected)

  @parameterized.parameters(
    ('fed_avg,fine_tuning=ft,start=fed3r', slice(None)),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', slice(2, None)),
    ('fed_avg,fine_tuning=ft_feat,start=fed3r', slice(2)),
  )
  def test_what_is_frozen_stays_as_the_start_has_it(self, variant, trained):
    """The output for any trained weights, recomputed by NumPy."""
    model = _create_model(
      variant,
      self.task,
      start_weights=tff.learning.models.ModelWeights(tuple(self.start), ()),
      temperature=0.25,
    )
    for found, expected in zip(
      model.initial_weights[0], self.start[trained], strict=True
    ):
      np.testing.assert_array_equal(found, expected)
    whole = list(self.start)
    whole[trained] = [w + 1 for w in self.start[trained]]
    kernel, bias, classifier, classifier_bias = whole
    logits = np.maximum(self.x @ kernel + bias, 0) @ classifier
    found = model.predict_on_batch(
      (tuple(whole[trained]), ()), tf.constant(self.x), training=False
    )
    expected = (logits + classifier_bias) / 0.25
    # Sums of a few dozen float32 products.
    np.testing.assert_allclose(
      found, expected, rtol=0, atol=1e-5 * np.abs(expected).max()
    )

  def test_random_features_can_be_fine_tuned(self):
    model = _create_model(
      'fed_avg,fine_tuning=ft_lp,start=fed3r',
      self.task,
      start=small_configs.make_config('fed3r_rf')['algorithm'],
    )
    self.assertEqual(
      [w.shape for w in model.initial_weights[0]],
      [(small_configs.NUM_RANDOM_FEATURES, _CLASSES), (_CLASSES,)],
    )

  @parameterized.parameters(
    'fed_avg,fine_tuning=ft_lp', 'fed_avg,fine_tuning=ft,start=fed3r'
  )
  def test_rejects_a_task_without_features(self, variant):
    with self.assertRaisesRegex(
      errors.InputError, "'toy_regression' .*feature map"
    ):
      _create_model(variant, toy_regression.create_task(seed=0))

  def test_rejects_to_train_an_extractor_without_weights(self):
    task = dataclasses.replace(
      self.task, feature_map=models.create_identity_features(64)
    )
    for variant, message in (
      ('fed_avg,fine_tuning=ft_feat,start=fed3r', 'FT-FEAT .*feature'),
      ('fed_avg,fine_tuning=ft,start=fed3r', 'ft_lp .*only the classifier'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        _create_model(variant, task)

  def test_rejects_a_start_of_another_size(self):
    with self.assertRaisesRegex(errors.InputError, 'weights to start from'):
      _create_model(
        'fed_avg,fine_tuning=ft,start=fed3r',
        self.task,
        start_weights=tff.learning.models.ModelWeights(
          tuple(self.start[:2]), ()
        ),
      )


# The shapes of the feature extractor's tensors, and of the classifier's.
_EXTRACTOR = [(64, small_configs.NUM_FEATURES), (small_configs.NUM_FEATURES,)]
_CLASSIFIER = [
  (small_configs.NUM_FEATURES, small_configs.NUM_CLASSES),
  (small_configs.NUM_CLASSES,),
]
_RANDOM_CLASSIFIER = [
  (small_configs.NUM_RANDOM_FEATURES, small_configs.NUM_CLASSES),
  (small_configs.NUM_CLASSES,),
]


def _shapes(process):
  weights = process.get_model_weights.type_signature.result
  return [tuple(t.shape) for t in tff.structure.flatten(weights.trainable)]


def _start_weights(seed=0):
  """Weights of the whole model, none of them what it has by itself."""
  rng = np.random.default_rng(seed)
  return tff.learning.models.ModelWeights(
    tuple(
      rng.normal(size=shape).astype(np.float32)
      for shape in (*_EXTRACTOR, *_CLASSIFIER)
    ),
    (),
  )


def _gradient(weights, x, y, temperature):
  """Returns that of the mean cross-entropy by the classifier's tensors."""
  kernel, bias, classifier, classifier_bias = (
    w.astype(np.float64) for w in weights
  )
  features = np.maximum(x @ kernel + bias, 0)
  logits = (features @ classifier + classifier_bias) / temperature
  error = (
    scipy.special.softmax(logits, axis=1) - np.eye(small_configs.NUM_CLASSES)[y]
  )
  error /= temperature * len(x)
  return features.T @ error, error.sum(axis=0)


class BuildMethodTest(small_configs.TaskTestCase):
  def _build(self, variant, *, task=None, start_weights=None, **changes):
    return building.build_method(
      small_configs.read_config(variant, **changes),
      task or self.task,
      start_weights=start_weights,
    )

  @parameterized.parameters(
    ('fed3r', _EXTRACTOR + _CLASSIFIER),
    ('fed3r_rf', _EXTRACTOR + _RANDOM_CLASSIFIER),
    ('fed_avg,fine_tuning=ft_feat,start=fed3r', _EXTRACTOR),
    ('fed_fish,fine_tuning=ft_lp', _CLASSIFIER),
  )
  def test_the_weights_are_what_is_trained(self, variant, shapes):
    method = self._build(variant, start_weights=_start_weights())
    self.assertEqual(_shapes(method.process), shapes)
    self.assertEqual([w.shape for w in method.model.initial_weights[0]], shapes)
    self.assertEqual(method.process.extra_passes, int('fish' in variant))

  @parameterized.parameters('fed_avg', 'fed_sgd')
  def test_fine_tuning_steps_down_the_gradient_and_the_decay(self, algorithm):
    """Gradients of the classifier's tensors, at the temperature, by NumPy."""
    start = _start_weights()
    temperature, decay, rate = 0.5, 0.25, 0.125
    method = self._build(
      'fed_avg,fine_tuning=ft_lp,start=fed3r',
      start_weights=start,
      # FedSGD's one step is the server's.
      client_learning_rate=rate if algorithm == 'fed_avg' else 7.0,
      server_learning_rate=rate if algorithm == 'fed_sgd' else 1.0,
      **{
        'algorithm.name': algorithm,
        'fine_tuning.temperature': temperature,
        'fine_tuning.weight_decay': decay,
      },
    )
    process = method.process
    x, y = self.task.train.load_client(self.task.train.client_ids[0])
    one_batch = datasets.sequential_batches(
      (x, y), client_id='a', batch_size=len(y)
    )
    output = process.next(process.initialize(), [one_batch.to_dataset()])
    after = process.get_model_weights(output.state)
    gradients = _gradient(start.trainable, x, y, temperature)
    for found, old, gradient in zip(
      after.trainable, start.trainable[2:], gradients, strict=True
    ):
      expected = old - rate * (gradient + decay * old)
      # Sums of a few dozen float32 products.
      np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

  def test_without_a_start_the_classifier_is_zero(self):
    method = self._build('fed_avg,fine_tuning=ft_lp')
    for tensor in method.model.initial_weights[0]:
      self.assertFalse(np.any(tensor))
