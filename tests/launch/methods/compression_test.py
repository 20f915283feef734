# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the block `compression`: its checks, and what runs make of it."""

from fedfish_tff import errors
from launch.results import run_reader
from tests.launch import small_configs

from absl.testing import absltest
import pytest


class CheckTest(absltest.TestCase):
  def test_bits_are_at_most_16(self):
    with self.assertRaisesRegex(errors.InputError, 'bits must be .*got 17'):
      small_configs.read_config(
        'fed_avg,compression=quantized', **{'compression.bits': 17}
      )


class RunTest(absltest.TestCase):
  def _train(self, variant, **changes):
    """The summary of a run of two rounds, and its last row."""
    config = small_configs.make_config(variant, rounds=2, **changes)
    workdir = self.create_tempdir().full_path
    with small_configs.built_once():
      summary = small_configs.train(config, workdir)
    return summary, run_reader.read_run(workdir).rounds.iloc[-1]

  def _check(self, axes=''):
    """The sent values are nearly the same, in about half of the bytes."""
    variant = f'fed_avg{axes}'
    _, plain = self._train(variant)
    summary, found = self._train(
      f'{variant},compression=quantized',
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
    self._check()

  @pytest.mark.thorough
  def test_counts_bytes_behind_a_clip(self):
    self._check(',aggregation=adaptive')
