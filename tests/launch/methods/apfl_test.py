# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of APFL as configs build it."""

from tests.launch import small_configs

from absl.testing import absltest


class ApflTest(absltest.TestCase):
  def test_takes_its_mixture_and_counts_both_gradients(self):
    process = small_configs.build(
      'apfl', **{'algorithm.mixture': 0.25, 'local_epochs': 3}
    ).process
    new = process.initialize_client(process.initialize())
    self.assertEqual(new['mixture'], 0.25)
    self.assertEqual(process.extra_passes, 3)
