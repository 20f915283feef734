# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of Ditto as configs build it."""

from unittest import mock

from fedfish_tff import algorithms
from tests.launch import small_configs

from absl.testing import absltest


class DittoTest(absltest.TestCase):
  def test_takes_its_strength_and_counts_both_trainings(self):
    with mock.patch.object(
      algorithms, 'build_ditto', wraps=algorithms.build_ditto
    ) as build:
      built = small_configs.build(
        'ditto', **{'algorithm.personal_strength': 0.25, 'local_epochs': 3}
      )
    self.assertEqual(build.call_args.kwargs['personal_strength'], 0.25)
    self.assertEqual(built.process.extra_passes, 3)
