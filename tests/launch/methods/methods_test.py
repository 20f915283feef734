# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of methods as configs build them."""

import dataclasses
import pathlib
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import choices
from fedfish_tff import datasets
from fedfish_tff import errors
from launch.configs import digits
from launch.methods import building
from launch.methods import config_checks
from launch.methods import fed_buff
from launch.runs import experiment
from tests import tolerance
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf


class FedAvgTest(parameterized.TestCase):
  @parameterized.parameters(
    ('num_examples', ''),
    ('uniform', ''),
    ('num_examples', ',exchange=partial'),
  )
  def test_a_round_is_the_weighted_mean_of_local_trainings(
    self, weighting, axes
  ):
    task = experiment.create_task(small_configs.read_config())
    all_sent = {'exchange.share': 1.0} if axes else {}
    config = small_configs.read_config(
      f'fed_avg{axes}', **{'algorithm.client_weighting': weighting}, **all_sent
    )
    process = building.build_method(config, task).process
    state = process.initialize()
    weights = process.get_model_weights(state)
    data, sizes = [], []
    for client_id in task.train.client_ids[:3]:
      x, y = task.train.load_client(client_id)
      sizes.append(len(y))
      data.append(
        datasets.sequential_batches(
          (x, y), client_id=client_id, batch_size=16
        ).to_dataset()
      )
    models = [process.local_training(weights, d).trainable for d in data]
    found = process.get_model_weights(process.next(state, data).state)
    for tensors, after in zip(zip(*models), found.trainable, strict=True):
      expected = np.average(
        np.stack([np.asarray(t, np.float64) for t in tensors]),
        axis=0,
        weights=sizes if weighting == 'num_examples' else None,
      )
      tolerance.assert_close(after, expected, relative=tolerance.FLOAT32_SUMS)


class FedSgdTest(absltest.TestCase):
  def test_a_round_is_a_step_down_the_mean_gradient_and_the_decay(self):
    """The decay of a fine-tuning is the server's: rate * decay * w."""
    task = experiment.create_task(small_configs.read_config())
    clients = task.train.client_ids[:2]
    rate, after = 0.5, {}
    for decay in (0.0, 0.25):
      config = small_configs.read_config(
        'fed_sgd,fine_tuning=ft',
        server_learning_rate=rate,
        **{'fine_tuning.weight_decay': decay},
      )
      process = building.build_method(config, task).process
      state = process.initialize()
      before = process.get_model_weights(state).trainable
      batches = [
        datasets.sequential_batches(
          task.train.load_client(c), client_id=c, batch_size=16
        ).to_dataset()
        for c in clients
      ]
      state = process.next(state, batches).state
      after[decay] = process.get_model_weights(state).trainable
    for start, free, decayed in zip(before, after[0.0], after[0.25]):
      start = np.asarray(start)
      tolerance.assert_close(
        np.asarray(decayed) - np.asarray(free),
        -rate * 0.25 * start,
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )


class FedProxTest(parameterized.TestCase):
  @parameterized.parameters('fed_prox', 'fed_prox,exchange=partial')
  def test_the_second_step_is_pulled_back(self, variant):
    """By rate * strength * (w1 - w0), whatever clients send."""
    task = experiment.create_task(small_configs.read_config())
    client_id = task.train.client_ids[0]
    x, y = task.train.load_client(client_id)
    rate, strength = 0.25, 0.5

    def build(strength):
      config = small_configs.read_config(
        variant,
        client_learning_rate=rate,
        **{'algorithm.proximal_strength': strength},
      )
      return building.build_method(config, task).process

    def train(process, steps):
      batches = datasets.sequential_batches(
        (np.tile(x[:8], (steps, 1)), np.tile(y[:8], steps)),
        client_id=client_id,
        batch_size=8,
      ).to_dataset()
      weights = process.get_model_weights(process.initialize())
      trained = process.local_training(weights, batches)
      return weights.trainable, trained.trainable

    process = build(strength)
    start, one = train(process, 1)
    _, two = train(process, 2)
    _, free = train(build(0.0), 2)
    for w0, w1, pulled, not_pulled in zip(start, one, two, free):
      w0, w1 = np.asarray(w0), np.asarray(w1)
      tolerance.assert_close(
        np.asarray(pulled) - np.asarray(not_pulled),
        -rate * strength * (w1 - w0),
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )


class FedNovaTest(absltest.TestCase):
  def test_other_optimizers_are_refused_with_the_config(self):
    with self.assertRaisesRegex(errors.InputError, 'client_optimizer.*adam'):
      small_configs.read_config(
        'fed_nova', **{'algorithm.client_optimizer': 'adam'}
      )


class FedAsyncTest(absltest.TestCase):
  def test_mixes_without_a_server_optimizer(self):
    config = small_configs.read_config('fed_async')
    self.assertEqual(config.algorithm.mixing_weight, 0.6)
    self.assertIsNone(config.server_learning_rate)
    with self.assertRaisesRegex(errors.InputError, 'mixing_weight must be'):
      small_configs.read_config('fed_async', **{'algorithm.mixing_weight': 0.0})


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


class FedCmTest(small_configs.TestCase):
  def test_a_mixture_of_nothing_is_refused_with_the_config(self):
    with self.assertRaisesRegex(errors.InputError, 'mixture .*above 0.*got 0'):
      small_configs.read_config('fed_cm', **{'algorithm.mixture': 0})

  def test_of_its_own_gradients_alone_it_is_fed_avg(self):
    trained = []
    for variant, fields in (
      ('fed_cm', {'algorithm.mixture': 1.0}),
      ('fed_avg', {'algorithm.client_weighting': 'uniform'}),
    ):
      config = small_configs.make_config(variant, rounds=2, **fields)
      _, process, state = small_configs.run_rounds(
        config, self.create_tempdir().full_path, rounds=2
      )
      trained.append(process.get_model_weights(state).trainable)
    tolerance.assert_all_close(*trained, least_scale=1.0)


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
    self.assertEqual(built.process.extra_passes, 1)

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


class MimeLiteTest(absltest.TestCase):
  def test_takes_the_rates_of_the_config(self):
    fed_avg, mime_lite = map(digits.get_config, ('fed_avg', 'mime_lite'))
    for rate in ('client_learning_rate', 'server_learning_rate'):
      self.assertEqual(fed_avg[rate], mime_lite[rate])

  def test_momentum_is_in_the_server_s_state(self):
    process = small_configs.build('mime_lite').process
    self.assertEqual(process.extra_passes, 1)
    self.assertIn('accumulator', str(process.initialize.type_signature))


class ScaffoldTest(absltest.TestCase):
  def test_clients_have_no_models_of_their_own_to_score(self):
    folder = self.create_tempdir().full_path
    config = small_configs.make_config('scaffold', rounds=1)
    with small_configs.built_once():
      summary = small_configs.train(config, folder)
    self.assertIn('global/accuracy', summary['test'])
    self.assertFalse([n for n in summary['test'] if n.startswith('clients/')])


class ApflTest(absltest.TestCase):
  def test_a_mixture_is_a_share_of_two_models(self):
    for mixture in (0.0, 1.0):
      small_configs.read_config('apfl', **{'algorithm.mixture': mixture})
    with self.assertRaisesRegex(
      errors.InputError, 'algorithm.mixture must be .* from 0 to 1, got 1.5'
    ):
      small_configs.read_config('apfl', **{'algorithm.mixture': 1.5})

  def test_takes_its_mixture_and_counts_both_gradients(self):
    process = small_configs.build(
      'apfl', **{'algorithm.mixture': 0.25, 'local_epochs': 3}
    ).process
    new = process.initialize_client(process.initialize())
    self.assertEqual(new['mixture'], 0.25)
    self.assertEqual(process.extra_passes, 3)


class DittoTest(absltest.TestCase):
  def test_takes_its_strength_and_counts_both_trainings(self):
    with mock.patch.object(
      algorithms, 'build_ditto', wraps=algorithms.build_ditto
    ) as build:
      built = small_configs.build(
        'ditto', **{'algorithm.personal_strength': 0.25, 'local_epochs': 3}
      )
    self.assertEqual(build.call_args.kwargs['personal_strength'], 0.25)
    self.assertEqual(built.process.extra_passes, 3)


class HfMamlTest(absltest.TestCase):
  def test_takes_its_fields(self):
    with mock.patch.object(
      algorithms, 'build_hf_maml', wraps=algorithms.build_hf_maml
    ) as build:
      built = small_configs.build(
        'hf_maml',
        **{
          'algorithm.personal_learning_rate': 0.25,
          'algorithm.order': 'exact',
          'algorithm.batches': 'shared',
          'local_epochs': 2,
        },
      )
    arguments = build.call_args.kwargs
    self.assertEqual(arguments['personal_learning_rate'], 0.25)
    self.assertIs(arguments['meta_gradient'], choices.MetaGradient.EXACT)
    self.assertEqual(arguments['difference'], 1e-3)
    self.assertIs(arguments['meta_batches'], choices.MetaBatches.SHARED)
    # Three gradients more in each of two epochs.
    self.assertEqual(built.process.extra_passes, 6)


class FedPerTest(absltest.TestCase):
  def test_clients_keep_the_layers_of_the_config(self):
    features = small_configs.NUM_FEATURES
    built = small_configs.build(
      'fed_per', **{'algorithm.local_layers': 'hidden_0, output/bias'}
    )
    state_type = built.process.initialize_client.type_signature.result
    self.assertEqual(
      [list(tensor.shape) for tensor in state_type['local']],
      [[64, features], [features], [small_configs.NUM_CLASSES]],
    )


class LgFedAvgTest(absltest.TestCase):
  def test_clients_keep_what_comes_before_the_last_layer(self):
    built = small_configs.build('lg_fed_avg')
    state_type = built.process.initialize_client.type_signature.result
    self.assertEqual(
      [list(tensor.shape) for tensor in state_type['local']],
      [[64, small_configs.NUM_FEATURES], [small_configs.NUM_FEATURES]],
    )
    self.assertEqual(
      built.wire_bytes.download,
      4 * (small_configs.NUM_FEATURES + 1) * small_configs.NUM_CLASSES,
    )


class FedRepTest(absltest.TestCase):
  def test_a_run_that_goes_on_equals_one_without_a_stop(self):
    """Heads come back from the folder of client states."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    config = small_configs.make_config(
      'fed_rep',
      rounds=4,
      checkpoint_every=2,
      **{'evaluation.personalization_epochs': 1},
    )
    with small_configs.built_once():
      whole = small_configs.train(config, folder / 'whole')
      resumed = small_configs.train_with_a_stop(
        config, workdir=folder / 'resumed', after=3
      )
    self.assertEqual(whole['final'], resumed['final'])
    self.assertEqual(whole['test'], resumed['test'])
    self.assertIn('clients/accuracy', whole['test'])
    # The server's model has a head that nobody has trained.
    self.assertEqual(
      whole['best_validation']['metric'], 'eval/personalized/accuracy'
    )

  def test_the_head_needs_an_epoch(self):
    with self.assertRaisesRegex(errors.InputError, 'algorithm.body_epochs.*3'):
      small_configs.build(
        'fed_rep', **{'algorithm.body_epochs': 3, 'local_epochs': 3}
      )
