# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of a partial exchange."""

from fedfish_tff import errors
from launch import config_checks
from launch import exchange_checks
from launch.configs import digits
from launch.configs import exchange
from launch.configs import fed3r_digits

from absl.testing import absltest
from absl.testing import parameterized

_CLIENT_KEEPS = 'fed_avg_partial_client_keeps'


def _config(variant='fed_avg_partial', **changes):
  """A valid config with fields changed by their dotted names."""
  config = exchange.create_config(
    variant,
    task={'name': 'digits'},
    rounds=2,
    cohort_size=2,
    local_epochs=1,
    batch_size=4,
    client_learning_rate=0.1,
  ).to_dict()
  for name, value in changes.items():
    *blocks, field = name.split('.')
    block = config
    for inner in blocks:
      block = block[inner]
    block[field] = value
  return config


class ExchangeChecksTest(parameterized.TestCase):
  @parameterized.parameters(
    ('selection', 'all', 'one of share, threshold, coordinates'),
    ('share', 0, 'a number above 0 and at most 1'),
    ('share', 1.5, 'a number above 0 and at most 1'),
    ('threshold', -0.1, 'a number that is 0 or more'),
    ('direction', 'middle', 'one of largest, smallest'),
    ('normalize', 1, 'True or False'),
    ('group_by', 'block', 'one of tensor, layer'),
    ('coordinate_score', 'drift', 'one of weight, change, magnitude_change'),
    ('unsent', 'zero', 'one of server_keeps, client_keeps'),
  )
  def test_fields(self, field, value, expected):
    with self.assertRaises(errors.InputError) as raised:
      config_checks.check_config(_config(**{f'exchange.{field}': value}))
    self.assertEqual(
      str(raised.exception),
      f'exchange.{field} is {value!r}; {expected} was expected.',
    )

  def test_each_field_is_needed_and_known(self):
    for field in _config()['exchange']:
      config = _config()
      del config['exchange'][field]
      with self.assertRaisesRegex(
        errors.InputError, f'has no field exchange.{field}'
      ):
        config_checks.check_config(config)
    with self.assertRaisesRegex(
      errors.InputError, 'field exchange.shares does not exist'
    ):
      config_checks.check_config(_config(**{'exchange.shares': 1.0}))
    with self.assertRaisesRegex(errors.InputError, 'a block of fields'):
      config_checks.check_config(_config(exchange=0.5))

  @parameterized.parameters(
    ('normalize', True, 'False'), ('group_by', 'layer', "'tensor'")
  )
  def test_coordinates_are_of_tensors(self, field, value, expected):
    config_checks.check_config(_config(**{f'exchange.{field}': value}))
    with self.assertRaisesRegex(
      errors.InputError,
      f"^exchange.{field} is {value!r}, but exchange.selection is 'coordinat.*"
      f'; {expected} was expected',
    ):
      config_checks.check_config(
        _config('fed_avg_coordinates', **{f'exchange.{field}': value})
      )

  def test_other_algorithms_choose_nothing(self):
    config = _config()
    for variant in ('fed_prox', 'fed_sgd', 'mime_lite'):
      other = digits.get_config(variant).to_dict()
      other.update(exchange=config['exchange'], local_epochs=1)
      with self.assertRaisesRegex(
        errors.InputError, f"algorithm.name is '{variant}', .* fed_avg, fed_fis"
      ):
        config_checks.check_config(other)
    closed_form = fed3r_digits.get_config('fed3r').to_dict()
    closed_form['exchange'] = config['exchange']
    with self.assertRaisesRegex(
      errors.InputError, 'exchange does not exist for fed3r'
    ):
      config_checks.check_config(closed_form)

  @parameterized.parameters(
    ('algorithm.server_optimizer', 'adam', "'sgd'"),
    ('server_learning_rate', 0.5, '1.0'),
    ('evaluation.barrier', True, 'False'),
  )
  def test_clients_own_weights_go_with_plain_fed_avg(self, name, value, wanted):
    config_checks.check_config(_config(**{name: value}))
    with self.assertRaisesRegex(
      errors.InputError,
      f"^{name} is {value!r}, but exchange.unsent is 'client_keeps', which .*; "
      f'{wanted} was expected',
    ):
      config_checks.check_config(_config(_CLIENT_KEEPS, **{name: value}))

  def test_clients_of_fed_fish_keep_nothing(self):
    with self.assertRaisesRegex(
      errors.InputError, "^algorithm.name is 'fed_fish', but exchange.unsent"
    ):
      config_checks.check_config(
        _config('fed_fish_partial', **{'exchange.unsent': 'client_keeps'})
      )

  def test_no_cosine_with_an_update_of_all_weights(self):
    config = _config('fed_fish_partial')
    self.assertFalse(config['algorithm']['diagnostics'])
    config_checks.check_config(config)
    config['algorithm']['diagnostics'] = True
    with self.assertRaisesRegex(
      errors.InputError, '^algorithm.diagnostics is True, but .*; False was exp'
    ):
      config_checks.check_config(config)
    del config['exchange']
    config_checks.check_config(config)

  def test_fine_tuning_has_no_layers_and_no_client_states(self):
    config = fed3r_digits.get_config('fed3r_ft_lp').to_dict()
    config['exchange'] = _config()['exchange']
    config_checks.check_config(config)
    config['exchange']['group_by'] = 'layer'
    with self.assertRaisesRegex(errors.InputError, "'tensor' was expected"):
      config_checks.check_config(config)
    config['exchange'].update(group_by='tensor', unsent='client_keeps')
    with self.assertRaisesRegex(errors.InputError, 'block fine_tuning, but'):
      config_checks.check_config(config)

  def test_whose_clients_keep_states(self):
    for variant in exchange.VARIANTS:
      self.assertEqual(
        exchange_checks.keeps_client_states(_config(variant)),
        variant.endswith('client_keeps'),
      )

  @parameterized.parameters(
    (0, 'adamw', None),
    (1e-3, 'adamw', None),
    (-1, 'adamw', 'client_weight_decay is -1; a number that is 0 or more'),
    (1e-3, 'sgd', "client_weight_decay is 0.001, but .*'sgd'.*; adamw was"),
  )
  def test_weight_decay_is_that_of_adamw(self, decay, optimizer, message):
    config = _config(
      client_weight_decay=decay, **{'algorithm.client_optimizer': optimizer}
    )
    if message is None:
      config_checks.check_config(config)
      return
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.check_config(config)


if __name__ == '__main__':
  absltest.main()
