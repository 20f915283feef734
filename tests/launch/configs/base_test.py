# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of variants: names and axes."""

from fedfish_tff import errors
from launch import json_config
from launch.configs import base
from launch.methods import config_checks
from launch.methods import registry

from absl.testing import parameterized

_AXES = {'size': {'small': {'rounds': 3, 'algorithm.diagnostics': False}}}


def _config(variant, **values):
  return base.create_config(
    variant,
    **{
      'task': {'name': 'digits'},
      'axes': _AXES,
      'visiting_rounds': 7,
      'rounds': 20,
      'cohort_size': 2,
      'local_epochs': 4,
      'batch_size': 4,
      'client_learning_rate': 0.1,
      'adaptive_server_rate': 0.2,
      **values,
    },
  )


class VariantsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg,exchange=layers', {'exchange.group_by': 'layer'}),
    (
      'diagnosed,exchange=threshold',
      {'algorithm.diagnostics': False},
    ),
    (
      'scaffold,participation=srpfl',
      {
        'participation.name': 'srpfl',
        'participation.n0': 2,
        'participation.speeds.kind': 'exponential',
      },
    ),
    (
      'fed3r,speeds=dynamic',
      {
        'participation.name': 'visit_once',
        'participation.speeds.communication_seconds': 0.0,
      },
    ),
    (
      'fed_avg,exchange=partial,unsent=client_keeps',
      {
        'exchange.unsent': 'client_keeps',
        'algorithm.server_optimizer': 'sgd',
        'server_learning_rate': 1.0,
        'evaluation.barrier': False,
      },
    ),
    ('fed_fish', {'server_learning_rate': 1.0}),
    ('fed_fish,server=yogi', {'server_learning_rate': 0.2}),
    ('fed_fish,server=nesterov', {'server_learning_rate': 1.0}),
    # Its server takes the step that clients take elsewhere.
    ('fed_sgd', {'server_learning_rate': 0.1}),
    ('fed_sgd,server=adam', {'server_learning_rate': 0.2}),
    ('fed_fish,size=small', {'rounds': 3, 'algorithm.diagnostics': False}),
    # Which has no diagnostics to leave out.
    ('fed_prox,size=small', {'rounds': 3}),
    (
      'fed_prox,fine_tuning=ft_lp,start=fed3r',
      {'rounds': 27, 'client_learning_rate': 0.01},
    ),
    ('fed_prox,fine_tuning=ft_lp', {'rounds': 20, 'client_learning_rate': 0.1}),
    ('fed3r', {'rounds': 7, 'local_epochs': 1}),
    ('fed_sgd', {'local_epochs': 1, 'evaluation.barrier': False}),
    ('mime_lite', {'client_learning_rate': 0.1, 'evaluation.barrier': False}),
    ('launch.methods.fed_prox:METHOD', {'algorithm.proximal_strength': 0.1}),
  )
  def test_what_axes_change(self, variant, expected):
    config = _config(variant).to_dict()
    config_checks.read(config)
    values = json_config.flatten(config)
    self.assertLessEqual(expected.items(), values.items())

  @parameterized.parameters(
    ('fed_fish,server=lbfgs', 'server of .* one of adagrad, adam,.*lbfgs'),
    (
      'fed_fish,colour=red',
      'axis .* one of server, .*exchange, .*, size, got .colour',
    ),
    ('fed_fish,server', "'server'"),
    ('fed3r,server=sgd', 'no axis server, since fed3r has no server optim'),
    ('fed_fish,server=sgd,server=adam', "'server=adam'"),
    ('fed_fish,start=fed3r', 'start .*fine_tuning'),
    ('fed_fish,unsent=client_keeps', 'unsent .*exchange'),
  )
  def test_axes_that_cannot_be(self, variant, message):
    with self.assertRaisesRegex(ValueError, message):
      _config(variant)

  @parameterized.parameters(
    *registry.variants(), 'fed_avg,fine_tuning=ft,start=fed3r'
  )
  def test_values_may_be_left_out(self, variant):
    config = base.create_config(variant)
    with self.assertRaisesRegex(errors.InputError, 'has no field rounds'):
      config_checks.read({**config.to_dict(), 'task': {'name': 'digits'}})

  @parameterized.parameters(
    ('fed_avg', 0),
    ('fed_avg,exchange=partial', 0),
    ('fed3r', 0),
    ('fed_rep', 1),
    ('ditto', 1),
    ('fed_avg,exchange=partial,unsent=client_keeps', 1),
  )
  def test_own_models_are_fine_tuned_in_every_config(self, variant, epochs):
    config = _config(variant, evaluation={'personalization_epochs': 0})
    self.assertEqual(config.evaluation.personalization_epochs, epochs)
    config.evaluation.personalization_epochs = 0
    self.assertFalse(
      config_checks.read(config.to_dict()).evaluation.personalization_epochs
    )

  @parameterized.parameters(
    *registry.variants(),
    'fed_sgd,server=adam',
    'fed_prox,fine_tuning=ft_lp,start=fed3r',
    'fed_avg,exchange=partial,unsent=client_keeps',
    'fed_avg,privacy=tree',
    'diagnosed,exchange=partial',
  )
  def test_every_replaced_value_of_a_file_is_told(self, variant):
    values = {
      'rounds': 20,
      'local_epochs': 4,
      'client_learning_rate': 0.1,
      'server_learning_rate': 0.3,
      'evaluation': {'barrier': True, 'personalization_epochs': 0},
    }
    config = _config(variant, server_optimizer='nesterov', **values)
    resolved = json_config.flatten(config.to_dict())
    given = json_config.flatten(values)
    replaced = {f: v for f, v in given.items() if resolved.get(f) != v}
    told = {line.split()[0]: line for line in base.overruled(config)}
    self.assertEqual(replaced.keys(), told.keys() & given.keys())
    for field, line in told.items():
      of_file = given.get(field, '')
      if field in resolved:
        start = f'{field} is {resolved[field]!r} instead of {of_file!r}'
      else:
        start = f'{field} {of_file!r} is left out'
      self.assertStartsWith(line, start.removesuffix("''"))

  @parameterized.parameters(
    ('fed_avg', 'local_epochs', None),
    (
      'fed_sgd',
      'local_epochs',
      'fed_sgd: it takes one gradient of a pass',
    ),
    ('ditto', 'evaluation.personalization_epochs', 'ditto: its clients end up'),
    (
      'fed_avg,exchange=partial,unsent=client_keeps',
      'evaluation.barrier',
      "exchange.unsent is 'client_keeps', so that there is no one model",
    ),
    (
      'fed_avg,privacy=gaussian',
      'algorithm.client_weighting',
      'the config has a block privacy, by which no client may count more',
    ),
  )
  def test_a_replaced_value_has_a_reason(self, variant, field, reason):
    config = _config(variant, evaluation={'personalization_epochs': 0})
    told = [t for t in base.overruled(config) if t.startswith(f'{field} ')]
    self.assertLen(told, 0 if reason is None else 1)
    if reason:
      self.assertIn(reason, told[0])

  def test_a_value_that_is_set_again_is_not_told(self):
    config = _config('fed_sgd')
    self.assertLen(base.overruled(config), 2)
    config.local_epochs = 4
    self.assertLen(base.overruled(config), 1)

  def test_a_server_rate_of_a_task_holds_without_an_axis(self):
    values = {'server_learning_rate': 0.3}
    rates = [
      _config(variant, **values).get('server_learning_rate')
      for variant in ('fed_avg', 'fed_avg,server=sgd', 'fed3r')
    ]
    self.assertEqual(rates, [0.3, 1.0, None])

  def test_configs_do_not_share_blocks(self):
    variant = 'fed_avg,fine_tuning=ft,start=fed3r'
    _config(variant).fine_tuning.start.regularization = 5.0
    self.assertEqual(_config(variant).fine_tuning.start.regularization, 0.01)
