# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for declared."""

from launch.configs import digits
from launch.methods import config_checks
from launch.methods import declared

from absl.testing import absltest
from absl.testing import parameterized


def _read(variant, **changes):
  config = digits.get_config(variant)
  config.update_from_flattened_dict(changes)
  return config_checks.read(config.to_dict())


class DeclaredTest(parameterized.TestCase):
  @parameterized.parameters(
    ('fed_avg', False, True),
    # Its clients keep their last layers.
    ('fed_per', True, False),
    # A block of any method.
    ('fed_avg,exchange=partial,unsent=client_keeps', True, False),
    ('fed_avg,exchange=partial', False, True),
    # A step makes the one model a client's own.
    ('hf_maml', False, False),
  )
  def test_models_at_the_end(self, variant, keeps, has_one):
    config = _read(variant)
    self.assertEqual(declared.clients_keep_models(config), keeps)
    self.assertEqual(declared.has_one_model(config), has_one)

  def test_origin(self):
    self.assertIsNone(declared.find_origin(_read('fed_avg')))
    config = _read('fed_avg,warm_start=model', **{'warm_start.path': 'runs/a'})
    self.assertEqual(declared.find_origin(config).path, 'runs/a')

  def test_best_model(self):
    kept = 'fed_avg,early_stopping=stop'
    self.assertTrue(declared.restores_best(_read(kept)))
    no = {'early_stopping.restore_best': False}
    self.assertFalse(declared.restores_best(_read(kept, **no)))
    self.assertFalse(declared.restores_best(_read('fed_avg')))
    self.assertIsNone(declared.find_stopping(_read('fed_avg')))


if __name__ == '__main__':
  absltest.main()
