# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `participation`."""

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.methods import participation
from tests.launch import small_configs

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

  @parameterized.parameters(*participation.POLICIES)
  def test_every_field_refuses_nonsense(self, name):
    config = _config(name)
    block = config['participation']
    for field, value in block.items():
      block[field] = object()
      with self.assertRaisesRegex(
        errors.InputError, rf'^participation.{field} must be .*, got <object'
      ):
        config_checks.read(config)
      block[field] = value

  def test_first_answers_need_speeds(self):
    config = _config('uniform', over_selection=0.5)
    del config['participation']['speeds']
    with self.assertRaisesRegex(
      errors.InputError, 'no field participation.spe'
    ):
      self.create_participation(config)
    config = _config('srpfl')
    del config['participation']['speeds']
    with self.assertRaisesRegex(
      errors.InputError, 'no field participation.spe'
    ):
      self.create_participation(config)
