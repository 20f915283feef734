# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedNova as configs build it."""

from fedfish_tff import errors
from tests.launch import small_configs

from absl.testing import absltest


class FedNovaTest(absltest.TestCase):
  def test_other_optimizers_are_refused_with_the_config(self):
    with self.assertRaisesRegex(errors.InputError, 'client_optimizer.*adam'):
      small_configs.read_config(
        'fed_nova', **{'algorithm.client_optimizer': 'adam'}
      )
