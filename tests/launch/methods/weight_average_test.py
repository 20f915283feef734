# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block weight_average, and of runs that have it."""

import pathlib

from fedfish_tff import errors
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import absltest
import pytest


class BuildTest(absltest.TestCase):
  def test_clients_that_keep_something(self):
    with self.assertRaisesRegex(errors.InputError, 'scaffold keep something'):
      small_configs.build('scaffold,weight_average=ema')

  def test_a_server_that_keeps_models(self):
    for method in ('fed_buff', 'fed_async'):
      with self.assertRaisesRegex(errors.InputError, f'{method}: its server'):
        small_configs.read_config(f'{method},weight_average=ema')


class RunTest(small_configs.TestCase):
  def _train(self, variant):
    config = small_configs.make_config(
      variant,
      **{
        'rounds': 3,
        'evaluate_every': 1,
        'checkpoint_every': 1,
        'evaluation.barrier': True,
        'evaluation.personalization_epochs': 1,
      },
    )
    if config.get('weight_average'):
      config['weight_average']['decay'] = 0.5
    folder = pathlib.Path(self.create_tempdir().full_path) / 'w'
    small_configs.train(config, folder)
    return run_files.read_rows(folder)

  @pytest.mark.thorough
  def test_what_it_changes(self):
    """Only what is scored: training and the barrier are of the raw weights."""
    averaged = self._train('fed_avg,weight_average=ema')
    plain = self._train('fed_avg')
    self.assertEqual(averaged[:2], plain[:2])
    for one, other in zip(averaged[2:], plain[2:], strict=True):
      self.assertEqual(one.keys(), other.keys())
      changed = {name for name in one if one[name] != other[name]}
      self.assertTrue(
        changed and all(name.startswith('eval/') for name in changed), changed
      )
      self.assertIn('eval/global/loss', changed)
      self.assertIn('csb/loss', one)
