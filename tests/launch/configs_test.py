# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of all configs: valid, complete, and true to their tasks."""

import importlib
import itertools

from launch.configs import features
from launch.configs import sweeps
from launch.methods import config_checks

from absl.testing import parameterized

_CONFIGS = (
  'arrays',
  'c4',
  'digits',
  'fedfish_images',
  'linear_representation',
  'stackoverflow',
  'toy_regression',
)
# The tasks of features, which have more variants, and Fed3R by default.
_FEATURE_TASKS = {
  'fed3r_cifar': 'cifar10_features',
  'fed3r_digits': 'digits',
  'fed3r_generated': 'generated_features',
  'fed3r_photographs': 'inaturalist',
}
_FEATURE_CONFIGS = tuple(_FEATURE_TASKS)

# Values of the axis size.
_SIZES = {
  'c4': ('tiny', 'results'),
  'digits': ('tpu',),
  'fedfish_images': ('compact', 'results'),
  'stackoverflow': ('tiny',),
}


def _module(name):
  return importlib.import_module(f'launch.configs.{name}')


def _task_name(name):
  return {**_FEATURE_TASKS, 'fedfish_images': 'emnist'}.get(name, name)


class ConfigsTest(parameterized.TestCase):
  @parameterized.parameters(
    *itertools.product(_CONFIGS, sweeps.VARIANTS),
    *(
      (name, f'{variant},size={size}')
      for name, sizes in _SIZES.items()
      for variant, size in zip(sweeps.VARIANTS, itertools.cycle(sizes))
    ),
    *itertools.product(
      _FEATURE_CONFIGS, (*features.VARIANTS, *sweeps.VARIANTS)
    ),
  )
  def test_every_variant_is_valid(self, name, variant):
    config = _module(name).get_config(variant).to_dict()
    config_checks.read(config)
    self.assertEqual(config['task']['name'], _task_name(name))

  @parameterized.parameters(*_CONFIGS, *_FEATURE_CONFIGS, 'ag_news', 'keyboard')
  def test_says_how_to_run_it(self, name):
    self.assertRegex(
      _module(name).__doc__,
      f'python -m launch.(train|sweep) --config=launch/configs/{name}.py[^\n]* '
      r'\\\n    --(workdir|sweep_dir)=',
    )

  @parameterized.parameters(
    *(
      (name, 'fed_rep' if name == 'linear_representation' else 'fed_fish')
      for name in _CONFIGS
    ),
    *((name, 'fed3r') for name in _FEATURE_CONFIGS),
  )
  def test_default_variants(self, name, variant):
    self.assertEqual(
      _module(name).get_config(), _module(name).get_config(variant)
    )

  @parameterized.parameters(*_CONFIGS, *_FEATURE_CONFIGS)
  def test_unknown_variants_are_listed(self, name):
    with self.assertRaisesRegex(
      ValueError, "variant must be one of .*damped, .*fed3r, .* got 'no_method'"
    ):
      _module(name).get_config('no_method')

  @parameterized.parameters(
    ('cifar', 100, 10),
    ('generated', 9275, 10),
    ('photographs', 9275, 10),
    ('photographs', 1262, 10, ',images=landmarks'),
    ('digits', 24, 5),
  )
  def test_all_clients_come_once(self, name, num_clients, cohort_size, axes=''):
    """In the published splits' numbers; FT trains as long again, or longer."""

    def get_config(variant):
      return _module(f'fed3r_{name}').get_config(f'{variant}{axes}')

    fed3r = get_config('fed3r')
    self.assertEqual(fed3r.cohort_size, cohort_size)
    self.assertEqual(fed3r.rounds, -(-num_clients // cohort_size))
    for variant in (
      'fed_avg,fine_tuning=ft,start=fed3r',
      'fed_avg,fine_tuning=ft_lp,start=fed3r',
      'fed_avg,fine_tuning=ft_feat,start=fed3r',
    ):
      config = get_config(variant)
      self.assertEqual(
        config.rounds,
        fed3r.rounds + get_config('fed_avg,fine_tuning=ft_lp').rounds,
      )
      self.assertEqual(config.fine_tuning.start, fed3r.algorithm)

  @parameterized.parameters(
    ('emnist', 10, 1, 'cnn'), ('cifar100', 25, 4, 'resnet18')
  )
  def test_image_tasks_are_table_2_of_the_paper(
    self, images, batch, epochs, net
  ):
    get_config = _module('fedfish_images').get_config
    config = get_config(f'fed_fish,images={images}').to_dict()
    for field, value in {
      'cohort_size': 64,
      'rounds': 1500,
      'batch_size': batch,
      'max_examples_per_client': 100,
      'client_learning_rate': 1e-3,
      'server_learning_rate': 1.0,
    }.items():
      self.assertEqual(config[field], value, field)
    self.assertEqual(config['evaluation']['personalization_epochs'], epochs)
    self.assertEqual(config['algorithm']['server_optimizer'], 'sgd')
    # Table 2's server rate; steps of the mean itself would be too short with it.
    adam = get_config(f'fed_fish,server=adam,images={images}')
    self.assertEqual(adam.server_learning_rate, 1e-3)
    self.assertEqual(config['task']['model'], net)
    compact = get_config(f'fed_fish,images={images},size=compact').to_dict()
    self.assertEqual(compact['task'].pop('model'), 'compact_cnn')
    for field in ('batch_size', 'max_examples_per_client', 'evaluation'):
      self.assertEqual(compact[field], config[field], field)
    self.assertLessEqual(compact['task'].items(), config['task'].items())

  @parameterized.parameters(
    ('c4', 8, 10_000, 1024), ('stackoverflow', 16, 1500, 128)
  )
  def test_text_tasks_are_table_2_of_the_paper(
    self, name, cohort, rounds, length
  ):
    config = _module(name).get_config().to_dict()
    for field, value in {
      'cohort_size': cohort,
      'rounds': rounds,
      'batch_size': 4,
      'max_examples_per_client': 16,
      'client_learning_rate': 1e-3,
      'server_learning_rate': 1.0,
    }.items():
      self.assertEqual(config[field], value, field)
    adam = _module(name).get_config('fed_fish,server=adam')
    self.assertEqual(adam.server_learning_rate, 1e-2)
    self.assertEqual(config['evaluation']['personalization_epochs'], 4)
    self.assertEqual(config['task']['sequence_length'], length)
    self.assertEqual(config['task']['eval_sequence_length'], 128)

  @parameterized.parameters('c4', 'stackoverflow')
  def test_a_size_changes_the_task_and_not_the_method(self, name):
    get_config = _module(name).get_config
    tiny, full = get_config('damped,size=tiny'), get_config('damped')
    self.assertEqual(tiny.algorithm, full.algorithm)
    self.assertEqual(tiny.task.size, 'tiny')
    self.assertEqual(tiny.client_learning_rate, 0.05)

  def test_variants_differ_in_the_algorithm_only(self):
    """Methods are compared on equal terms."""
    fed_avg = _module('digits').get_config('fed_avg').to_dict()
    for variant in ('fed_fish', 'per_example', 'sampled_label', 'damped'):
      config = _module('digits').get_config(variant).to_dict()
      self.assertEqual(config.pop('algorithm')['name'], 'fed_fish')
      self.assertEqual(
        config, {k: v for k, v in fed_avg.items() if k != 'algorithm'}
      )

  @parameterized.parameters(
    ('fed_avg', 'sgd', 1.0),
    ('mime_lite', 'sgd', 1.0),
    ('fed_fish,server=adam', 'adam', 0.03),
    ('fed_fish,server=yogi', 'yogi', 0.03),
  )
  def test_server_optimizers(self, variant, optimizer, rate):
    config = _module('digits').get_config(variant)
    self.assertEqual(config.algorithm.server_optimizer, optimizer)
    self.assertEqual(config.server_learning_rate, rate)
    self.assertEqual(config.client_learning_rate, 0.05)

  def test_fed_fish_as_published_takes_plain_steps(self):
    config = _module('digits').get_config('fed_fish')
    self.assertEqual(config.algorithm.server_optimizer, 'sgd')
    self.assertEqual(config.algorithm.fisher_estimator, 'batch_gradient')
    self.assertEqual(config.algorithm.fisher_normalization, 'sum')
    self.assertEqual(config.algorithm.damping, 0)
