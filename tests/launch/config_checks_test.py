# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of a config, field by field."""

import copy
import math

from fedfish_tff import errors
from launch import config_checks
from launch.configs import digits

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st

_POSITIVE_INTEGERS = (
  'rounds',
  'cohort_size',
  'local_epochs',
  'batch_size',
  'evaluate_every',
  'checkpoint_every',
)


def _config(variant='fed_fish', **changes):
  """A valid config with fields changed by their dotted names."""
  config = copy.deepcopy(digits.get_config(variant).to_dict())
  for name, value in changes.items():
    *blocks, field = name.split('.')
    block = config
    for inner in blocks:
      block = block[inner]
    block[field] = value
  return config


class CheckConfigTest(parameterized.TestCase):
  def _assert_refused(self, name, value, message=None):
    with self.assertRaises(errors.InputError) as raised:
      config_checks.check_config(_config(**{name: value}))
    self.assertStartsWith(str(raised.exception), f'{name} is {value!r}; ')
    self.assertIn(message or 'expected', str(raised.exception))

  @given(
    st.sampled_from(_POSITIVE_INTEGERS),
    st.integers(max_value=0) | st.floats() | st.booleans() | st.text(),
  )
  def test_sizes_are_positive_integers(self, name, value):
    self._assert_refused(name, value, 'a positive integer')

  @given(
    st.sampled_from(
      ('seed', 'max_examples_per_client', 'evaluation.personalization_epochs')
    ),
    st.integers(max_value=-1) | st.floats() | st.booleans() | st.none(),
  )
  def test_counts_may_be_zero(self, name, value):
    config_checks.check_config(_config(**{name: 0}))
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
    config_checks.check_config(_config(**{name: 0}))
    self._assert_refused(name, value, 'a number that is 0 or more')

  @parameterized.parameters(
    ('algorithm.name', 'fed_nova', 'one of fed_avg, fed_fish, fed_prox, fed_'),
    ('algorithm.client_optimizer', 'SGD', 'one of adagrad, adam, adamw'),
    ('algorithm.server_optimizer', 'lbfgs', 'one of adagrad, adam, adamw'),
    ('algorithm.client_weighting', 'size', 'one of num_examples, uniform'),
    ('algorithm.fisher_estimator', 'true', 'one of batch_gradient'),
    ('algorithm.fisher_normalization', 'none', 'one of mean, sum'),
    ('algorithm.diagnostics', 1, 'True or False'),
    ('participation.name', 'all', 'one of uniform'),
    ('evaluation.barrier', 'yes', 'True or False'),
    ('task.name', None, 'a string'),
    ('algorithm', 'fed_avg', 'a block of fields'),
  )
  def test_choices(self, name, value, message):
    self._assert_refused(name, value, message)

  @parameterized.parameters(
    ('momentum', 'The config field momentum does not exist; there are: algori'),
    ('participation.speed', 'The config field participation.speed does not'),
    ('evaluation.loss', 'The config field evaluation.loss does not exist'),
  )
  def test_unknown_fields(self, name, message):
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.check_config(_config(**{name: 1}))

  @parameterized.parameters('fed_avg', 'fed_sgd', 'fed_prox', 'mime_lite')
  def test_fields_that_do_not_apply_to_the_algorithm(self, variant):
    with self.assertRaisesRegex(
      errors.InputError, f'algorithm.damping does not exist for {variant};'
    ):
      config_checks.check_config(_config(variant, **{'algorithm.damping': 0.0}))

  @parameterized.parameters('rounds', 'algorithm.damping', 'evaluation.barrier')
  def test_missing_fields(self, name):
    config = _config()
    *blocks, field = name.split('.')
    block = config
    for inner in blocks:
      block = block[inner]
    del block[field]
    with self.assertRaisesRegex(errors.InputError, f'has no field {name}'):
      config_checks.check_config(config)

  def test_fed_sgd_takes_one_epoch(self):
    with self.assertRaisesRegex(
      errors.InputError, 'local_epochs is 2, but fed_sgd .*; 1 was expected'
    ):
      config_checks.check_config(_config('fed_sgd', local_epochs=2))

  def test_the_strength_of_fed_prox(self):
    config = _config('fed_prox', **{'algorithm.proximal_strength': 0})
    config_checks.check_config(config)
    with self.assertRaisesRegex(
      errors.InputError, 'algorithm.proximal_strength is -1; a number that is 0'
    ):
      config['algorithm']['proximal_strength'] = -1
      config_checks.check_config(config)

  def test_mime_lite_has_no_barrier(self):
    config_checks.check_config(_config('mime_lite'))
    with self.assertRaisesRegex(
      errors.InputError, 'evaluation.barrier is True, but mime_lite.*False was'
    ):
      config_checks.check_config(
        _config('mime_lite', **{'evaluation.barrier': True})
      )

  def test_flatten_names_fields_by_their_place(self):
    self.assertEqual(
      config_checks.flatten(
        {'a': 1, 'b': {'c': (2,), 'd': {'e': None}, 'f': {}}}
      ),
      {'a': 1, 'b.c': (2,), 'b.d.e': None, 'b.f': {}},
    )


if __name__ == '__main__':
  absltest.main()
