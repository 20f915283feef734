# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of a config, field by field."""

import contextlib
import math

from fedfish_tff import errors
from launch.configs import digits
from launch.configs import fed3r_digits
from launch.methods import config_checks
from tests.launch import small_configs

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import ml_collections
import numpy as np

_POSITIVE_INTEGERS = (
  'rounds',
  'cohort_size',
  'local_epochs',
  'batch_size',
  'evaluate_every',
  'checkpoint_every',
)


def _config(variant='fed_fish', module=digits, **changes):
  """A valid config with fields changed by their dotted names."""
  return small_configs.with_fields(
    module.get_config(variant).to_dict(), changes
  )


class CheckConfigTest(parameterized.TestCase):
  def _assert_refused(self, name, value, message=None):
    with self.assertRaises(errors.InputError) as raised:
      config_checks.read(_config(**{name: value}))
    found = str(raised.exception)
    self.assertStartsWith(found, f'{name} ')
    self.assertIn(repr(value), found)
    self.assertIn(message or 'expected', found)

  def test_numbers_of_numpy_and_configs_of_ml_collections(self):
    changes = {
      'rounds': 3,
      'client_learning_rate': 0.5,
      'evaluation.half_way_checkpoint': True,
      'task.hidden_units': (4, 5),
    }
    plain = config_checks.read(_config(**changes))
    numpy_config = ml_collections.ConfigDict(
      _config(**{name: np.array(value) for name, value in changes.items()})
    )
    for values in (
      _config(**{name: np.array(value)[()] for name, value in changes.items()}),
      numpy_config,
    ):
      read = config_checks.read(values)
      self.assertEqual(read.key, plain.key)
      self.assertIsInstance(read.rounds, int)

  def test_a_file_that_is_no_config(self):
    with self.assertRaisesRegex(
      errors.InputError,
      'have a block algorithm, .*, got the fields final, test',
    ):
      config_checks.read({'final': {}, 'test': {}})

  @given(
    st.sampled_from(_POSITIVE_INTEGERS),
    st.integers(max_value=0) | st.floats() | st.booleans() | st.text(),
  )
  def test_sizes_are_positive_integers(self, name, value):
    self._assert_refused(name, value, 'a positive integer')
    self._assert_refused(name, 10**20, 'an integer of at most 2147483647')

  @given(
    st.sampled_from(
      (
        'seed',
        'max_examples_per_client',
        'stop_after_diverged_rounds',
        'evaluation.personalization_epochs',
      )
    ),
    st.integers(max_value=-1) | st.floats() | st.booleans() | st.none(),
  )
  def test_counts_may_be_zero(self, name, value):
    config_checks.read(_config(**{name: 0}))
    self._assert_refused(name, value, 'an integer that is 0 or more')

  @given(
    st.sampled_from(('client_learning_rate', 'server_learning_rate')),
    st.floats(max_value=0)
    | st.sampled_from((math.nan, math.inf, -math.inf, 0, -1, True, '0.1')),
  )
  def test_rates_are_positive_and_finite(self, name, value):
    self._assert_refused(name, value, 'a positive number')

  @given(
    st.sampled_from(('algorithm.damping', 'algorithm.minimum_denominator')),
    st.floats(max_value=0, exclude_max=True)
    | st.sampled_from((math.nan, math.inf, -1, False, None)),
  )
  def test_damping_may_be_zero(self, name, value):
    config_checks.read(_config(**{name: 0}))
    self._assert_refused(name, value, 'a number that is 0 or more')

  @parameterized.parameters(
    ('algorithm.client_optimizer', 'SGD', 'one of adagrad, adam, adamw'),
    ('task.name', None, 'a string'),
    ('task.num_clients', 0, 'a positive integer'),
    ('task.hidden_units', '64', 'a sequence of positive integers'),
    ('algorithm', 'fed_avg', 'a block of fields'),
  )
  def test_choices(self, name, value, message):
    self._assert_refused(name, value, message)

  def test_an_unknown_option_of_a_task(self):
    with self.assertRaisesRegex(
      errors.InputError,
      'task.num_client does not exist for task digits; .*mean num_clients',
    ):
      config_checks.read(_config(**{'task.num_client': 3}))

  @parameterized.parameters(
    (
      {'fine_tuning.start': 'fed3r'},
      "^fine_tuning.start must be a block of fields, got 'fed3r'",
    ),
    (
      {'fine_tuning.start.name': 'fed_avg'},
      "^fine_tuning.start.name must be .*'fed_avg': it finds no classifier",
    ),
    (
      {'fine_tuning.start.bias': 1},
      '^fine_tuning.start.bias must be one of regularized, centered.*got 1',
    ),
    (
      {'fine_tuning.start.distance': 'cosine'},
      'fine_tuning.start.distance does not exist for fed3r;',
    ),
    (
      {'fine_tuning.start': {'name': 'none', 'bias': 'none'}},
      'fine_tuning.start.bias does not exist for none; there are: name.',
    ),
    (
      {'fine_tuning.start': {'name': 'fed_ncm'}},
      'has no field fine_tuning.start.distance',
    ),
    (
      {
        'fine_tuning.start': {'name': 'none'},
        'fine_tuning.strategy': 'ft_feat',
      },
      'freezes the classifier',
    ),
    (
      {'participation.name': 'visit_once'},
      'all clients come in the start of the fine-tuning already',
    ),
    (
      {
        'algorithm.client_optimizer': 'adamw',
        'client_weight_decay': 1e-3,
        'fine_tuning.weight_decay': 4e-5,
      },
      'client_weight_decay .*0.001 .*4e-05',
    ),
  )
  def test_fields_of_fine_tuning(self, changes, message):
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.read(
        _config('fed_avg,fine_tuning=ft,start=fed3r', fed3r_digits, **changes)
      )

  @parameterized.parameters(
    ('fed_avg', 'adamw', 0, None),
    ('fed_avg', 'adamw', 1e-3, None),
    ('fed_avg', 'adamw', -1, 'client_weight_decay must be .*got -1'),
    ('fed_avg', 'sgd', 1e-3, "got 'sgd'"),
    ('fed_nova', 'sgd', 0.1, 'does not exist for fed_nova: .* adamw'),
    ('scaffold', None, 0.1, 'does not exist for scaffold: .* adamw'),
    ('fed_avg,fine_tuning=ft,start=fed3r', 'adamw', 0, None),
    ('fed_avg,fine_tuning=ft_lp', 'adamw', 1e-3, None),
  )
  def test_weight_decay_is_that_of_adamw(
    self, variant, optimizer, decay, message
  ):
    config = _config(variant, fed3r_digits) | {'client_weight_decay': decay}
    if optimizer:
      config['algorithm']['client_optimizer'] = optimizer
    with contextlib.ExitStack() as stack:
      if message:
        stack.enter_context(self.assertRaisesRegex(errors.InputError, message))
      config_checks.read(config)

  @parameterized.parameters(
    'fed_per',
    'hf_maml',
    'fed_ma',
    'fed_avg,exchange=partial,unsent=client_keeps',
  )
  def test_statistical_accuracy_is_of_a_model_that_all_share(self, variant):
    field = 'participation.rounds_per_stage'
    for name in ('fed_avg', variant):
      config = _config(f'{name},participation=flanp', **{field: 0})
      if name == 'fed_avg':
        config_checks.read(config)
        continue
      with self.assertRaisesRegex(errors.InputError, f'^{field} .*got 0'):
        config_checks.read(config)

  def test_visits_are_not_for_closed_form_alone(self):
    config = _config('fed_avg', **{'participation.name': 'visit_once'})
    config_checks.read(config)
