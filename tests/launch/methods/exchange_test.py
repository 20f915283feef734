# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `exchange`: its checks, and what is sent."""

import dataclasses

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch.configs import base
from launch.configs import digits
from launch.configs import fed3r_digits
from launch.methods import config_checks
from launch.methods import exchange
from launch.methods import registry
from launch.runs import experiment
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

_CLIENT_KEEPS = 'fed_avg,exchange=partial,unsent=client_keeps'
_NAMES = ('hidden/kernel', 'hidden/bias', 'output/kernel', 'output/bias')
_SHAPES = ((64, 8), (8,), (8, 10), (10,))


def setUpModule():
  contexts.set_default_context()


def _config(variant='fed_avg,exchange=partial', *, task=None, **changes):
  """A valid config with fields changed by their dotted names."""
  config = base.create_config(
    variant,
    server_optimizer='sgd',
    task=task or {'name': 'digits'},
    rounds=2,
    cohort_size=2,
    local_epochs=1,
    batch_size=4,
    client_learning_rate=0.1,
    server_learning_rate=1.0,
    evaluation={'personalization_epochs': 0, 'barrier': False},
  ).to_dict()
  for name, value in changes.items():
    *blocks, field = name.split('.')
    block = config
    for inner in blocks:
      block = block[inner]
    block[field] = value
  return config


def _small_config(variant, **fields):
  """A checked config of few clients, some fields of its exchange changed."""
  config = _config(
    variant,
    task={'name': 'digits', 'num_clients': 12, 'hidden_units': (8,)},
    **{f'exchange.{name}': value for name, value in fields.items()},
  )
  config_checks.check_config(config)
  return config


def _drifting(*norms):
  """Tensors before and after a training that moved them so far."""
  before = [np.full(shape, 0.5, np.float32) for shape in _SHAPES]
  after = []
  for tensor, norm in zip(before, norms):
    moved = tensor.copy()
    moved.flat[0] += norm
    after.append(moved)
  return tuple(map(tf.constant, before)), tuple(map(tf.constant, after))


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
        _config('fed_avg,exchange=coordinates', **{f'exchange.{field}': value})
      )

  def test_other_algorithms_choose_nothing(self):
    config = _config()
    for variant in ('fed_sgd', 'mime_lite'):
      other = digits.get_config(variant).to_dict()
      other.update(exchange=config['exchange'])
      with self.assertRaisesRegex(
        errors.InputError, f'exchange does not exist for {variant}'
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

  def test_clients_own_weights_go_without_a_server_schedule(self):
    config = _config(_CLIENT_KEEPS + ',server_schedule=cosine')
    with self.assertRaisesRegex(
      errors.InputError, "block server_schedule, but .* 'server_keeps' was exp"
    ):
      config_checks.check_config(config)
    config_checks.check_config(
      _config(_CLIENT_KEEPS + ',client_schedule=cosine')
    )

  def test_clients_of_fed_fish_keep_nothing(self):
    with self.assertRaisesRegex(
      errors.InputError,
      "^exchange.unsent is 'client_keeps', but not for fed_fish: its mean .*; "
      "'server_keeps' was expected",
    ):
      config_checks.check_config(
        _config(
          'fed_fish,exchange=partial', **{'exchange.unsent': 'client_keeps'}
        )
      )

  def test_no_cosine_with_an_update_of_all_weights(self):
    config = _config('fed_fish,exchange=partial')
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
    config = fed3r_digits.get_config(
      'fed_avg,fine_tuning=ft_lp,start=fed3r'
    ).to_dict()
    config['exchange'] = _config()['exchange']
    config_checks.check_config(config)
    config['exchange']['group_by'] = 'layer'
    with self.assertRaisesRegex(errors.InputError, "'tensor' was expected"):
      config_checks.check_config(config)
    config['exchange'].update(group_by='tensor', unsent='client_keeps')
    with self.assertRaisesRegex(errors.InputError, 'block fine_tuning, but'):
      config_checks.check_config(config)

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


class ExchangeBuildTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.task = experiment.create_task(_small_config('fed_avg'))
    cls.named = dataclasses.replace(cls.task, tensor_names=_NAMES)

  def _sent(self, config, norms=(4.0, 1.0, 2.0, 3.0)):
    selector = exchange.build(config, self.named).arguments['selector']
    return [m.numpy() for m in selector.select(*_drifting(*norms))]

  @parameterized.parameters(
    ({}, [True, False, False, True]),
    ({'share': 0.25}, [True, False, False, False]),
    ({'share': 0.7, 'direction': 'smallest'}, [False, True, True, True]),
    # Drifts a weight: 4 / 512, 1 / 8, 2 / 80, 3 / 10.
    ({'normalize': True}, [False, True, False, True]),
    ({'selection': 'threshold', 'threshold': 2.0}, [True, False, True, True]),
    (
      {'selection': 'threshold', 'threshold': 2.0, 'direction': 'smallest'},
      [False, True, True, False],
    ),
    ({'group_by': 'layer'}, [True, True, False, False]),
  )
  def test_what_is_sent(self, fields, expected):
    config = _small_config('fed_avg,exchange=partial', **fields)
    self.assertEqual([bool(m) for m in self._sent(config)], expected)

  @parameterized.parameters(
    ('largest', 'change', [1, 0, 1, 1]),
    ('largest', 'weight', [0, 1, 1, 1]),
    ('smallest', 'weight', [1, 0, 0, 0]),
  )
  def test_coordinates(self, direction, score, expected):
    """The first weight of a tensor moved by -1, 0.1, 2 and 3 from 0.5."""
    config = _small_config(
      'fed_avg,exchange=coordinates',
      # Of 610 weights, rounded up.
      share=(2.5 if direction == 'largest' else 0.5) / 610,
      direction=direction,
      coordinate_score=score,
    )
    masks = self._sent(config, (-0.9, 0.1, 2.0, 3.0))
    self.assertEqual([m.shape for m in masks], list(_SHAPES))
    self.assertEqual([int(m.flat[0]) for m in masks], expected)

  def test_layers_need_names(self):
    config = _small_config('fed_avg,exchange=layers')
    with self.assertRaisesRegex(
      errors.InputError, "the model of task 'digits' has no names"
    ):
      registry.build_method(
        config, dataclasses.replace(self.task, tensor_names=())
      )

  @parameterized.parameters(
    ('fed_avg,exchange=partial', algorithms.FederatedProcess),
    ('fed_avg,exchange=threshold', algorithms.FederatedProcess),
    ('fed_fish,exchange=coordinates', algorithms.FederatedProcess),
    (
      'fed_avg,exchange=partial,unsent=client_keeps',
      algorithms.ClientStateProcess,
    ),
  )
  def test_processes(self, variant, kind):
    process = registry.build_method(_small_config(variant), self.named).process
    self.assertIsInstance(process, kind)
    result = process.next.type_signature.result
    metrics = result['metrics'].member['aggregator']
    self.assertContainsSubset(_NAMES, dir(metrics['sent']))

  def test_weight_decay_is_that_of_the_small_config(self):
    """The first step differs by rate * decay * weight."""
    rate, decay = 0.1, 0.2
    weights, found = None, []
    for value in (0.0, decay):
      config = _small_config('fed_avg,exchange=partial')
      config['algorithm']['client_optimizer'] = 'adamw'
      config['client_weight_decay'] = value
      config_checks.check_config(config)
      process = registry.build_method(config, self.task).process
      weights = process.get_model_weights(process.initialize())
      client_id = self.task.train.client_ids[0]
      batches = datasets.plan_batches(
        self.task.train.load_client(client_id),
        datasets.BatchSpec(batch_size=10_000),
        client_id=client_id,
        seed=0,
        round_number=1,
      )
      trained = process.local_training(
        weights, datasets.to_client_input(batches)
      )
      found.append([np.asarray(t) for t in trained.trainable])
    for without, with_decay, start in zip(*found, weights.trainable):
      tolerance.assert_close(
        with_decay - without,
        -rate * decay * np.asarray(start),
        relative=tolerance.FLOAT32_SUMS,
        scale=1,
      )
