# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of methods as configs build them."""

import dataclasses
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import errors
from launch.configs import digits
from launch.methods import building
from launch.methods import config_checks
from launch.methods import fed_buff
from launch.runs import experiment
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_FEATURES, _CLASSES = small_configs.NUM_FEATURES, small_configs.NUM_CLASSES


class MethodsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_nova', {'client_optimizer': 'adam'}, 'client_optimizer.*adam'),
    # The head needs an epoch.
    ('fed_rep', {'body_epochs': 2}, 'above algorithm.body_epochs.*got 2'),
  )
  def test_refuses(self, variant, fields, message):
    changes = {f'algorithm.{name}': value for name, value in fields.items()}
    with self.assertRaisesRegex(errors.InputError, message):
      small_configs.build(variant, local_epochs=2, **changes)

  @parameterized.parameters(
    ('mime_lite', {}, {}, 1),
    ('fed_ma', {}, {}, 2),
    (
      'ditto',
      {'personal_strength': 0.25},
      {'personal_strength': 0.25},
      2,
    ),
    ('apfl', {'mixture': 0.25}, {'mixture': 0.25}, 2),
    ('fed_cm', {'mixture': 0.25}, {'mixture': 0.25}, 0),
    (
      'p_fed_me',
      {'personal_steps': 3, 'personal_strength': 4.0},
      {'personal_steps': 3, 'personal_strength': 4.0},
      # Two gradients more in each of two epochs.
      4,
    ),
    (
      'hf_maml',
      {'personal_learning_rate': 0.25, 'order': 'exact', 'batches': 'shared'},
      {
        'personal_learning_rate': 0.25,
        'meta_gradient': choices.MetaGradient.EXACT,
        'difference': 1e-3,
        'meta_batches': choices.MetaBatches.SHARED,
      },
      # Three gradients more in each of two epochs.
      6,
    ),
  )
  def test_takes_fields_and_counts_passes(
    self, variant, fields, expected, passes
  ):
    name = f'build_{variant}'
    changes = {f'algorithm.{name}': value for name, value in fields.items()}
    with mock.patch.object(
      algorithms, name, wraps=getattr(algorithms, name, None)
    ) as build:
      built = small_configs.build(variant, local_epochs=2, **changes)
    self.assertEqual(built.process.extra_passes, passes)
    if expected:
      self.assertLessEqual(expected.items(), build.call_args.kwargs.items())

  @parameterized.parameters(
    (
      'fed_per',
      {'algorithm.local_layers': 'hidden_0, output/bias'},
      [[64, _FEATURES], [_FEATURES], [_CLASSES]],
    ),
    # All before the last layer.
    ('lg_fed_avg', {}, [[64, _FEATURES], [_FEATURES]]),
  )
  def test_clients_keep_layers(self, variant, changes, expected):
    built = small_configs.build(variant, **changes)
    local = built.process.initialize_client.type_signature.result['local']
    self.assertEqual([list(tensor.shape) for tensor in local], expected)
    kept = sum(map(np.prod, expected))
    everything = (64 + 1) * _FEATURES + (_FEATURES + 1) * _CLASSES
    self.assertEqual(built.wire_bytes.download, 4 * (everything - kept))


class FedBuffTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, [1.0, 5**-0.5]),
    ({'staleness_exponent': 1.0}, [1.0, 0.2]),
    ({'staleness_weight': 'constant'}, [1.0, 1.0]),
    (
      {
        'staleness_weight': 'hinge',
        'staleness_slope': 2.0,
        'staleness_delay': 1.0,
      },
      [1.0, 1 / 7],
    ),
  )
  def test_weights_of_staleness(self, fields, expected):
    config = small_configs.read_config(
      'fed_buff', **{f'algorithm.{name}': v for name, v in fields.items()}
    )
    weight = fed_buff.build_staleness_weight(config.algorithm)
    found = [float(weight(tf.constant(d))) for d in (0.0, 4.0)]
    self.assertSequenceAlmostEqual(found, expected, places=6)

  def test_keeps_a_model_more_than_the_largest_staleness(self):
    for changes, kept in (
      ({'participation.max_staleness': 7}, 8),
      ({'participation': {'name': 'uniform'}}, 1),
    ):
      process = small_configs.build(
        'fed_buff,participation=asynchronous', **changes
      ).process
      held = process.initialize().client_work
      self.assertEqual({h.shape[0] for h in tf.nest.flatten(held)}, {kept})


class FedDynTest(absltest.TestCase):
  def test_clients_begin_without_a_linear_term(self):
    process = small_configs.build('fed_dyn').process
    new = process.initialize_client(process.initialize())
    self.assertNotEmpty(new)
    for tensor in new:
      self.assertFalse(np.any(tensor))


class FedFishTest(absltest.TestCase):
  def test_rejects_sampled_labels_of_a_model_without_a_distribution(self):
    config = digits.get_config('sampled_label').to_dict()
    task = dataclasses.replace(
      experiment.create_task(config_checks.read(config)), label_sampler=None
    )
    with self.assertRaisesRegex(
      errors.InputError, "model of task 'digits' defines"
    ):
      building.build_method(config_checks.read(config), task)


class FedMaTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.config = small_configs.read_config('fed_ma', **{'algorithm.growth': 3})
    self.task = experiment.create_task(self.config)

  def test_the_server_s_model_is_as_wide_as_it_may_become(self):
    built = building.build_method(self.config, self.task)
    state = built.process.initialize()
    width = 3 * small_configs.NUM_FEATURES
    self.assertEqual(state['counts'][0].shape, (width,))
    self.assertEqual(
      [w.shape for w in built.model.initial_weights[0]],
      [(64, width), (width,), (width, 10), (10,)],
    )

  def test_the_last_layer_has_a_rate_and_a_decay_of_its_own(self):
    with mock.patch.object(algorithms, 'build_fed_ma') as build:
      building.build_method(self.config, self.task)
    optimizer = build.call_args.kwargs['last_layer_optimizer_fn']
    weights, gradients = tf.constant([3.0]), tf.constant([2.0])
    state = optimizer.initialize(tf.TensorSpec([1]))
    _, after = optimizer.next(state, weights, gradients)
    rate = 0.1 * self.config.client_learning_rate
    np.testing.assert_allclose(after, 3 - rate * (2 + 1e-4 * 3), rtol=1e-6)

  def test_tasks_without_models_of_other_widths(self):
    task = dataclasses.replace(self.task, create_sized_model=None)
    with self.assertRaisesRegex(errors.InputError, 'task .*digits'):
      building.build_method(self.config, task)
