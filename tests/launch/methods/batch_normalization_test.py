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
    for method in ('fed_ma', 'fed3r'):
      with self.assertRaisesRegex(
        errors.InputError, f'batch_normalization does not exist for {method}: '
      ):
        _config(f'{method},batch_normalization=frozen')
    with self.assertRaisesRegex(
      errors.InputError, "no block batch_normalization for task 'normalized'"
    ):
      building.build_method(
        _config('fed_avg,batch_normalization=frozen'), _task(normalized=False)
      )

  def test_what_takes_no_average_is_refused_by_name(self):
    task = _task()
    for variant, name in (
      ('ditto', 'for ditto'),
      ('fed_avg,exchange=partial', 'beside a block exchange'),
      ('fed_avg,privacy=gaussian', "or 'kept' beside a block privacy"),
      ('fed_per,aggregation=median', 'beside a block aggregation'),
      ('fed_avg,compression=quantized', "or 'kept' beside a block compression"),
    ):
      with self.subTest(variant):
        # A config that names the statistics is refused before any data are read.
        with self.assertRaisesRegex(
          errors.InputError, f"'frozen' {name}.*, got 'averaged': "
        ):
          _config(f'{variant},batch_normalization=averaged')
        with self.assertRaisesRegex(
          errors.InputError, f"'frozen' {name}.*, got 'averaged', the default"
        ):
          building.build_method(_config(variant), task)
    for variant in (
      'ditto,batch_normalization=frozen',
      'fed_avg,batch_normalization=kept,privacy=gaussian',
    ):
      building.build_method(_config(variant), task)

  @pytest.mark.thorough
  def test_every_method_averages_statistics_or_refuses(self):
    for name, method in registry.own_methods().items():
      with self.subTest(name):
        try:
          built = building.build_method(_config(name), _task())
        except errors.InputError as error:
          self.assertNotIn('statistics', method.supports)
          self.assertRegex(str(error), f'for {name}, |class|feature|hidden lay')
          continue
        self.assertIn('statistics', method.supports)
        self.assertGreater(built.wire_bytes.upload, 0)
