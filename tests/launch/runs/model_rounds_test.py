# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what --at means."""

from fedfish_tff import errors
from launch.runs import model_rounds
from tests.launch import small_configs

from absl.testing import absltest

_HALF = 'evaluation.half_way_checkpoint'


class ModelRoundsTest(absltest.TestCase):
  def test_parse(self):
    self.assertEqual(
      model_rounds.parse_rounds(['best', 'half']), ('half', 'best')
    )
    for values in ([], ['first'], ['half', '']):
      with self.assertRaisesRegex(errors.InputError, 'half,last,best'):
        model_rounds.parse_rounds(values)

  def test_usual_ones(self):
    for axes, changes, usual in (
      ('', {}, ('last',)),
      ('', {_HALF: True}, ('half', 'last')),
      (',early_stopping=stop', {_HALF: True}, ('best',)),
      (
        ',early_stopping=stop',
        {'early_stopping.restore_best': False},
        ('last',),
      ),
    ):
      config = small_configs.read_config(f'fed_avg{axes}', **changes)
      self.assertEqual(model_rounds.usual_of_transfer(config), usual)
