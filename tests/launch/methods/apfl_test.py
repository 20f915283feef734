# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of APFL as configs build it."""

from fedfish_tff import errors
from tests.launch import small_configs

from absl.testing import absltest


class ApflTest(absltest.TestCase):
  def test_a_mixture_is_a_share_of_two_models(self):
    for mixture in (0.0, 1.0):
      small_configs.read_config('apfl', **{'algorithm.mixture': mixture})
    with self.assertRaisesRegex(
      errors.InputError, 'algorithm.mixture must be .* from 0 to 1, got 1.5'
    ):
      small_configs.read_config('apfl', **{'algorithm.mixture': 1.5})

  def test_takes_its_mixture_and_counts_both_gradients(self):
    process = small_configs.build(
      'apfl', **{'algorithm.mixture': 0.25, 'local_epochs': 3}
    ).process
    new = process.initialize_client(process.initialize())
    self.assertEqual(new['mixture'], 0.25)
    self.assertEqual(process.extra_passes, 3)
