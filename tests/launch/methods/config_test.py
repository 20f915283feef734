# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a config as one value."""

import dataclasses
import pickle

from fedfish_tff import errors
from launch.methods import config_checks
from launch.methods import config_fields
from launch.methods import fed_avg
from launch.methods import method as method_lib
from tests.launch import small_configs

from absl.testing import parameterized

_STARTED = (
  'fed_avg,fine_tuning=ft,start=fed3r',
  'fed_avg,fine_tuning=ft_lp,start=fed3r',
  'fed_avg,fine_tuning=ft_feat,start=fed3r',
)


class ConfigTest(parameterized.TestCase):
  def test_fields_are_those_of_the_mappings(self):
    values = small_configs.make_config('fed_avg,privacy=gaussian')
    config = small_configs.read_config('fed_avg,privacy=gaussian')
    self.assertEqual(config.values, values)
    self.assertEqual(config.rounds, values['rounds'])
    self.assertEqual(vars(config.algorithm), values['algorithm'])
    self.assertEqual(vars(config.blocks['privacy']), values['privacy'])
    self.assertEqual(config.participation.name, 'uniform')
    self.assertIsNone(config.participation.speeds)
    self.assertIsNone(config.client_weight_decay)
    self.assertIsNone(small_configs.read_config('fed3r').client_learning_rate)

  def test_nothing_can_be_set(self):
    config = small_configs.read_config('fed_avg')
    with self.assertRaises(dataclasses.FrozenInstanceError):
      config.rounds = 1
    with self.assertRaises(dataclasses.FrozenInstanceError):
      config.algorithm.server_optimizer = 'adam'

  @parameterized.parameters(
    ('fed_avg', False, True),
    # Its clients keep their last layers.
    ('fed_per', True, False),
    # Its clients keep corrections, and no models.
    ('scaffold', False, True),
    # A block of any method.
    ('fed_avg,exchange=partial,unsent=client_keeps', True, False),
    ('fed_avg,exchange=partial', False, True),
    ('fed_avg,batch_normalization=kept', True, False),
    # A step makes the one model a client's own.
    ('hf_maml', False, False),
  )
  def test_models_at_the_end(self, variant, keeps, has_one):
    config = small_configs.read_config(variant)
    self.assertEqual(config.keeps_models, keeps)
    self.assertEqual(config.has_one_model, has_one)

  def test_origin(self):
    self.assertIsNone(small_configs.read_config('fed_avg').origin)
    config = small_configs.read_config(
      'fed_avg,warm_start=model', **{'warm_start.path': 'runs/a'}
    )
    self.assertEqual(config.origin.path, 'runs/a')

  def test_best_model(self):
    kept = 'fed_avg,early_stopping=stop'
    self.assertTrue(small_configs.read_config(kept).restores_best)
    no = {'early_stopping.restore_best': False}
    self.assertFalse(small_configs.read_config(kept, **no).restores_best)
    plain = small_configs.read_config('fed_avg')
    self.assertFalse(plain.restores_best)
    self.assertIsNone(plain.deciding)

  def test_blocks_inside_are_values_too(self):
    values = config_fields.Values.of({'a': 1, 'b': {'c': (2,)}})
    self.assertEqual((values.a, values.b.c), (1, (2,)))
    self.assertEqual(pickle.loads(pickle.dumps(values)), values)


class FirstRunTest(parameterized.TestCase):
  @parameterized.parameters(*_STARTED)
  def test_it_is_the_config_of_the_closed_form_run(self, variant):
    """So that runs of one config can share it."""
    start = small_configs.read_config(variant).first_run(
      small_configs.NUM_TRAINING_CLIENTS
    )
    self.assertEqual(start.key, small_configs.read_config('fed3r').key)

  def test_its_visits_take_the_time_of_the_run_s_clients(self):
    for axes in ('', ',speeds=dynamic'):
      start = small_configs.read_config(
        f'{_STARTED[0]},participation=srpfl{axes}', **{'cohort_size': 2}
      ).first_run(small_configs.NUM_TRAINING_CLIENTS)
      kind = 'dynamic' if axes else 'exponential'
      self.assertEqual(start.participation.speeds.kind, kind)
      self.assertEqual(start.participation.name, 'visit_once')

  def test_it_takes_what_concerns_the_sums_from_the_run(self):
    changes = {
      'seed': 5,
      'cohort_size': 2,
      'batch_size': 9,
      'max_examples_per_client': 11,
      'rounds': 30,
    }
    config = small_configs.make_config(
      'fed_avg,fine_tuning=ft,start=fed3r',
      local_epochs=4,
      **changes,
      **{'fine_tuning.start.regularization': 3.0},
    )
    start = config_checks.read(config).first_run(
      small_configs.NUM_TRAINING_CLIENTS
    )
    self.assertContainsSubset({**changes, 'rounds': 4}, start.values)
    self.assertEqual(start.task, config['task'])
    self.assertEqual(start.algorithm.regularization, 3.0)
    # Each example counts once, whatever the clients train later.
    self.assertEqual(start.local_epochs, 1)

  @parameterized.parameters(1, small_configs.VISITING_ROUNDS)
  def test_rejects_a_run_that_ends_before_the_fine_tuning(self, rounds):
    config = small_configs.make_config(
      'fed_avg,fine_tuning=ft,start=fed3r', rounds=rounds
    )
    with self.assertRaisesRegex(
      errors.InputError,
      '^rounds must be 4 or more, .* all 8 training clients come once, takes 3'
      f'.*got {rounds}.$',
    ):
      config_checks.read(config).first_run(small_configs.NUM_TRAINING_CLIENTS)


class SharingKeyTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg', {'client_learning_rate': 0.3}, True),
    ('fed_avg', {'server_learning_rate': 0.3}, True),
    ('fed_avg', {'seed': 1, 'rounds': 7, 'batch_size': 3}, True),
    ('fed_avg', {'local_epochs': 7}, True),
    ('fed_avg', {'participation.name': 'poisson'}, True),
    ('fed_avg', {'task.hidden_units': (3,)}, False),
    ('fed_avg', {'algorithm.client_optimizer': 'adam'}, False),
    ('fed_avg,exchange=partial', {'exchange.share': 0.25}, False),
    ('fed_avg,fine_tuning=ft_lp', {'client_learning_rate': 0.3}, True),
    ('fed_avg,fine_tuning=ft_lp', {'seed': 1}, False),
    ('fed_avg,fine_tuning=ft_lp,start=fed3r', {'rounds': 7}, False),
    ('fed_fish', {'seed': 1}, True),
    # It keeps as many models as an update may be stale.
    (
      'fed_buff,participation=asynchronous',
      {'participation.max_staleness': 3},
      False,
    ),
    ('fed_fish', {'local_epochs': 7}, True),
    ('mime_lite', {'local_epochs': 7}, True),
    # Its graph holds it.
    ('sampled_label', {'seed': 1}, False),
    ('scaffold', {'local_epochs': 7}, True),
    ('scaffold', {'server_learning_rate': 0.3}, True),
    ('scaffold', {'client_learning_rate': 0.3}, True),
    ('scaffold', {'seed': 1}, True),
    ('fed_per', {'local_epochs': 7}, True),
    ('fed_per', {'client_learning_rate': 0.3}, True),
    ('fed_per', {'seed': 1}, True),
    # Its heads have all of them but the last.
    ('fed_rep', {'local_epochs': 7}, False),
    ('hf_maml', {'local_epochs': 7}, False),
    ('hf_maml', {'client_learning_rate': 0.3}, True),
    ('ditto', {'local_epochs': 7}, False),
    ('fed3r', {'rounds': 7, 'seed': 1}, True),
    ('fed3r', {'algorithm.regularization': 0.3}, False),
    ('fed3r_rf', {'seed': 1}, False),
    ('fed_dyn', {'client_learning_rate': 0.3}, True),
    ('fed_dyn', {'seed': 1}, True),
    # Frozen weights are built in.
    ('fed_avg,adapters=lora', {'seed': 1}, False),
    ('fed_avg,early_stopping=stop', {'early_stopping.patience': 7}, True),
    ('fed_avg,compression=nearest', {'seed': 1}, True),
    ('fed_avg,compression=quantized', {'seed': 1}, False),
    # The noise is for the cohorts, or of the config.
    ('fed_avg,privacy=gaussian', {'client_learning_rate': 0.3}, True),
    ('fed_avg,privacy=gaussian', {'cohort_size': 2}, False),
    ('fed_avg,privacy=tree', {'client_learning_rate': 0.3}, False),
  )
  def test_is_that_of_configs_that_share(self, variant, changes, shared):
    keys = [
      small_configs.read_config(variant, **c).sharing_key for c in ({}, changes)
    ]
    self.assertEqual(keys[0] is not None and keys[0] == keys[1], shared)

  def test_somebody_else_s_method_shares_nothing_unasked(self):
    config = small_configs.read_config('fed_avg')
    method = method_lib.Method(
      name='theirs',
      title='Theirs',
      build=fed_avg.METHOD.build,
      fields=fed_avg.METHOD.fields,
      supports=(),
    )
    config = dataclasses.replace(config, method=method)
    self.assertIsNone(config.sharing_key)
