# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what --at means."""

from fedfish_tff import errors
from launch.methods import early_stopping
from launch.runs import model_rounds

from absl.testing import absltest


class ModelRoundsTest(absltest.TestCase):
  def test_parse(self):
    self.assertEqual(
      model_rounds.parse_rounds(['best', 'half']), ('half', 'best')
    )
    for values in ([], ['first'], ['half', '']):
      with self.assertRaisesRegex(errors.InputError, 'last,best was expected'):
        model_rounds.parse_rounds(values)

  def test_usual_ones(self):
    config = {}
    self.assertEqual(model_rounds.usual_of_transfer(config), ('half', 'last'))
    config['early_stopping'] = early_stopping.defaults('stop')
    self.assertEqual(model_rounds.usual_of_transfer(config), ('best',))
    config['early_stopping']['restore_best'] = False
    self.assertEqual(model_rounds.usual_of_transfer(config), ('last',))
