# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the seconds that clients take."""

import pathlib

from fedfish_tff import errors
from fedfish_tff import simulation
from launch.methods import config_checks
from launch.methods import participation
from tests.launch import small_configs

from absl.testing import parameterized

_SEED = 0
_config = small_configs.make_timed_config


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
