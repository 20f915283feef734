# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `compression`: its checks, and what runs make of it."""

from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch.methods import compression
from launch.methods import config_checks
from launch.methods import registry
from launch.results import run_reader
from launch.runs import training_run
from tests.launch import small_configs

from absl.testing import parameterized
import pytest

_METHODS = registry.names('model_aggregator')
_OTHERS = sorted(set(registry.own_methods()) - set(_METHODS))


def setUpModule():
  contexts.set_default_context()


class CheckTest(parameterized.TestCase):
  @parameterized.parameters(
    ('', {'compression.bits': 17}, 'bits is 17; an integer of at most 16'),
    ('', {'compression.bits': 0}, 'compression.bits is 0; a positive integer'),
    ('', {'compression.rounding': 'up'}, "rounding is 'up'; one of stochastic"),
    (',exchange=coordinates', {}, 'block exchange, which sums a denominator'),
    (',privacy=gaussian', {}, 'a block privacy, which needs the sum of what'),
  )
  def test_fields(self, axes, changes, message):
    config = small_configs.make_config(
      f'fed_avg{axes},compression=quantized', **changes
    )
    with self.assertRaisesRegex(errors.InputError, message):
      config_checks.check_config(config)

  @parameterized.parameters(*_OTHERS)
  def test_what_it_does_not_go_with(self, name):
    config = small_configs.make_config(f'{name},compression=quantized')
    with self.assertRaisesRegex(errors.InputError, f'not exist for {name}: it'):
      config_checks.check_config(config)

  @parameterized.product(
    name=_METHODS,
    preset=tuple(compression.PRESETS),
    rule=('clipped', 'adaptive'),
  )
  def test_presets(self, name, preset, rule):
    config_checks.check_config(
      small_configs.make_config(
        f'{name},compression={preset},aggregation={rule}'
      )
    )

  def test_runs_of_other_seeds_round_otherwise(self):
    keys = [
      [
        registry.sharing_key(
          small_configs.make_config(f'fed_avg,compression={preset}', seed=seed)
        )
        for seed in (0, 1)
      ]
      for preset in ('quantized', 'nearest')
    ]
    self.assertNotEqual(*keys[0])
    self.assertEqual(*keys[1])


class RunTest(parameterized.TestCase):
  def _train(self, variant, **changes):
    """The summary of a run of two rounds, and its last row."""
    config = small_configs.make_config(variant, rounds=2, **changes)
    workdir = self.create_tempdir().full_path
    with small_configs.built_once():
      summary = training_run.train(config, workdir=workdir)
    return summary, run_reader.read_run(workdir).rounds.iloc[-1]

  def _check(self, name, axes=''):
    """What is sent is nearly the same, in about half of the bytes."""
    _, plain = self._train(f'{name},server=sgd{axes}')
    summary, found = self._train(
      f'{name},server=sgd{axes},compression=quantized',
      # Two numbers to an int32.
      **{'compression.bits': 14},
    )
    self.assertAlmostEqual(found['train/loss'], plain['train/loss'], places=2)
    payload = found['communication/payload_bytes']
    self.assertEqual(summary['totals']['payload_bytes'], 2 * payload)
    saved = (
      plain['communication/wire_bytes'] - found['communication/wire_bytes']
    )
    # Both are of whole numbers; each tensor also has two ends, of 8 bytes.
    self.assertBetween(saved / payload, 0.75, 1.0)

  def test_counts_bytes(self):
    self._check('fed_avg')

  @pytest.mark.thorough
  def test_counts_bytes_behind_a_clip(self):
    self._check('fed_avg', ',aggregation=adaptive')

  @parameterized.parameters(*(name for name in _METHODS if name != 'fed_avg'))
  @pytest.mark.thorough
  def test_any_method(self, name):
    self._check(name)
