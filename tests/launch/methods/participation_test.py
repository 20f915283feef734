# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block of participation, its hooks and clients' seconds."""

import pathlib
import types

from fedfish_tff import errors
from fedfish_tff import simulation
from launch import json_config
from launch.methods import client_speeds
from launch.methods import config_checks
from launch.methods import participation
from launch.methods import policy
from launch.runs import experiment as experiment_lib
from tests.launch import small_configs

from absl.testing import absltest
from absl.testing import parameterized

_config = small_configs.make_timed_config


class ParticipationTest(small_configs.TaskTestCase):
  def test_wall_clock(self):
    clock, none = (
      self.create_wall_clock(config)
      for config in (
        _config('srpfl', communication_seconds=2.0),
        small_configs.make_config('fed_avg'),
      )
    )
    some = self.task.train.client_ids[:3]
    seconds = simulation.fixed_exponential_speeds(seed=0)(5, some)
    self.assertEqual(clock(5, some), seconds.max() + 2.0)
    self.assertIsNone(none)

  @parameterized.parameters(
    *((name, {}) for name in participation.POLICIES),
    *(('uniform', {'speeds': kind}) for kind in client_speeds.KINDS),
  )
  def test_every_field_refuses_nonsense(self, policy, speeds):
    # A trace has no default path.
    path = {'path': 'seconds.csv'} if 'trace' in speeds.values() else {}
    config = _config(policy, **speeds, **path)
    for field in json_config.flatten(
      {'participation': config['participation']}
    ):
      with self.assertRaisesRegex(
        errors.InputError, rf'^{field} must be .*, got <object'
      ):
        config_checks.read(small_configs.with_fields(config, {field: object()}))

  @parameterized.parameters(
    ('uniform', {'over_selection': 0.5}),
    ('fastest', {}),
    ('flanp', {}),
    ('srpfl', {}),
  )
  def test_first_answers_need_speeds(self, policy, fields):
    config = _config(policy, **fields)
    del config['participation']['speeds']
    with self.assertRaisesRegex(
      errors.InputError, 'no field participation.spe'
    ):
      self.create_participation(config)


class IngredientsTest(absltest.TestCase):
  def test_a_tenth_more_is_a_tenth_more(self):
    config = small_configs.make_timed_config(
      'uniform', over_selection=0.1, cohort_size=70
    )
    clients = types.SimpleNamespace(client_ids=range(1000))
    parts = policy.Ingredients(
      config=config_checks.read(config),
      task=types.SimpleNamespace(train=clients),
      speeds=None,
      accuracy_stages=None,
    )
    self.assertEqual(parts.count_over_selected(), 77)


class BuildTest(absltest.TestCase):
  def _build(self, policy, **changes):
    """Returns the hooks, and the bytes that a client sends besides a round's."""
    config = config_checks.read(
      small_configs.make_timed_config(policy, **changes)
    )
    experiment = experiment_lib.build_experiment(config)
    hooks = participation.BLOCK.hooks(experiment)
    (costs,) = (
      hook for hook in hooks if isinstance(hook, simulation.CommunicationCosts)
    )
    of_a_round = experiment.built.wire_bytes
    self.assertEqual(costs.wire_bytes.download, of_a_round.download)
    return hooks, costs.wire_bytes.upload - of_a_round.upload

  def test_uniform_cohorts_have_costs_and_time(self):
    hooks, further = self._build('uniform')
    self.assertEqual(
      list(map(type, hooks)),
      [simulation.CommunicationCosts, simulation.SimulatedTime],
    )
    self.assertEqual(further, 0)

  def test_stages_that_end_by_accuracy_cost_a_gradient(self):
    hooks, further = self._build(
      'flanp', rounds_per_stage=0, cohort_size=8, n0=2
    )
    # Cohorts are decided before the clock asks for them.
    self.assertEqual(
      list(map(type, hooks)),
      [
        simulation.AccuracyStages,
        simulation.Criterion,
        simulation.CommunicationCosts,
        simulation.SimulatedTime,
      ],
    )
    # The perceptron 64-8-10 in float32, and an int64 number of examples.
    self.assertEqual(further, 4 * (64 * 8 + 8 + 8 * 10 + 10) + 8)

  def test_power_of_choice_measures_losses(self):
    hooks, further = self._build('power_of_choice', candidates=6)
    self.assertIn(simulation.CandidateLosses, set(map(type, hooks)))
    self.assertEqual(further, 0)


_SEED = 0


class ClientSpeedsTest(small_configs.TaskTestCase):
  def test_a_trace(self):
    lines = [f'{c},{10 - i}' for i, c in enumerate(self.ids)]
    text = '\n'.join(['client_id,seconds', *lines])
    path = self.create_tempfile(content=text).full_path
    config = _config('flanp', speeds='trace', path=path, rounds_per_stage=1)
    self.assertEqual(self.create_participation(config)(1), self.ids[::-1][:2])
    clock = self.create_wall_clock(config)
    self.assertEqual(clock(1, self.ids[:2]), 10)
    # A run does not go on with other speeds.
    before = participation.fingerprint_speeds(config_checks.read(config))
    pathlib.Path(path).write_text(text.replace(',10', ',11'), encoding='utf-8')
    self.assertNotEqual(
      participation.fingerprint_speeds(config_checks.read(config)), before
    )
    self.assertEqual(
      participation.fingerprint_speeds(
        config_checks.read(_config('srpfl', speeds='dynamic'))
      ),
      {},
    )

  def test_dynamic_and_classes(self):
    for kind, speeds in (
      ('dynamic', simulation.dynamic_exponential_speeds(seed=_SEED)),
      (
        'classes',
        simulation.device_class_speeds(
          [
            simulation.DeviceClass(0.5, 1.0),
            simulation.DeviceClass(0.3, 3.0),
            simulation.DeviceClass(0.2, 10.0),
          ],
          seed=_SEED,
        ),
      ),
    ):
      clock = self.create_wall_clock(_config('uniform', speeds=kind))
      self.assertEqual(clock(2, self.ids), speeds(2, self.ids).max())

  @parameterized.parameters(
    ('trace', {}, "path must be .*got ''"),
    ('trace', dict(path='no.csv'), 'Cannot read no.csv: No'),
    ('dynamic', dict(scales=(2, 1)), 'two positive numb'),
    ('classes', dict(class_shares=(1,)), 'as many .*1 .*3'),
  )
  def test_refuses(self, kind, changes, message):
    with self.assertRaisesRegex(errors.InputError, message) as caught:
      self.create_participation(_config('uniform', speeds=kind, **changes))
    self.assertNotIn('\n', str(caught.exception))
