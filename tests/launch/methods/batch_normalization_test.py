# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Keras models with batch normalisation in configs, by method."""

from fedfish_tff import datasets
from fedfish_tff import errors
from launch.configs import digits
from launch.methods import building
from launch.methods import config_checks
from launch.methods import registry
import tasks

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf

# Methods that average statistics with the weights.
_AVERAGING = {
  'fed_avg',
  'fed_cm',
  'fed_dyn',
  'fed_fish',
  'fed_nova',
  'fed_per',
  'fed_prox',
  'fed_rep',
  'lg_fed_avg',
  'mime_lite',
  'scaffold',
}
_layers = tf.keras.layers


def _task(*, normalized=True):
  rng = np.random.default_rng(0)
  clients = {
    f'client_{i}': (
      rng.normal(size=[6, 4]).astype('f'),
      rng.integers(0, 3, 6).astype(np.int32),
    )
    for i in range(6)
  }

  def create_model():
    tf.keras.utils.set_random_seed(0)
    norms = [_layers.BatchNormalization()] if normalized else []
    model = tf.keras.Sequential(
      [_layers.Input([4]), _layers.Dense(5), *norms, _layers.Dense(3)]
    )
    model.compile(
      loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
      metrics=['accuracy'],
    )
    return model

  data = datasets.InMemoryClientData(clients)
  train, validation, test = datasets.split_clients(
    data, validation_fraction=0.2, test_fraction=0.2, seed=0
  )
  return tasks.Task(
    name='normalized',
    train=train,
    validation=validation,
    test=test,
    create_model=create_model,
    metric='accuracy',
    higher_is_better=True,
  )


def _config(variant):
  return config_checks.read(digits.get_config(variant))


class BatchNormalizationTest(parameterized.TestCase):
  def test_what_is_sent(self):
    sent = {}
    for name in ('averaged', 'kept', 'frozen'):
      built = building.build_method(
        _config(f'fed_avg,batch_normalization={name}'), _task()
      )
      sent[name] = built.wire_bytes
    kernels = 4 * (4 * 5 + 5 + 5 * 3 + 3)
    scales, statistics = 4 * 2 * 5, 4 * 2 * 5
    self.assertEqual(sent['kept'].download, kernels)
    self.assertEqual(sent['frozen'].download, kernels + scales)
    self.assertEqual(sent['averaged'].download, kernels + scales + statistics)

  def test_refuses_what_it_does_not_go_with(self):
    with self.assertRaisesRegex(
      errors.InputError, 'statistics must be .* for scaffold'
    ):
      _config('scaffold,batch_normalization=kept')
    for variant, normalized, message in (
      (
        'fed_avg,batch_normalization=frozen',
        False,
        "no block batch_normalization for task 'normalized'",
      ),
      (
        'fed_avg,privacy=gaussian',
        True,
        'no block privacy for a model with stat',
      ),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        building.build_method(_config(variant), _task(normalized=normalized))

  @pytest.mark.thorough
  def test_every_method_averages_statistics_or_refuses(self):
    averaging = set()
    for name, method in registry.own_methods().items():
      with self.subTest(name):
        try:
          built = building.build_method(_config(name), _task())
        except errors.InputError as error:
          self.assertRegex(
            str(error), f'{method.title}|statistics|class|feature|hidden layers'
          )
          continue
        sent = built.wire_bytes
        self.assertGreater(sent.upload, 0)
        averaging.add(name)
    self.assertEqual(averaging, _AVERAGING)
