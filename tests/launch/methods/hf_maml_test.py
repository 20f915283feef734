# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of HF-MAML as configs build it."""

from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import choices
from tests.launch import small_configs

from absl.testing import absltest


class HfMamlTest(absltest.TestCase):
  def test_takes_its_fields(self):
    with mock.patch.object(
      algorithms, 'build_hf_maml', wraps=algorithms.build_hf_maml
    ) as build:
      built = small_configs.build(
        'hf_maml',
        **{
          'algorithm.personal_learning_rate': 0.25,
          'algorithm.order': 'exact',
          'algorithm.batches': 'shared',
          'local_epochs': 2,
        },
      )
    arguments = build.call_args.kwargs
    self.assertEqual(arguments['personal_learning_rate'], 0.25)
    self.assertIs(arguments['meta_gradient'], choices.MetaGradient.EXACT)
    self.assertEqual(arguments['difference'], 1e-3)
    self.assertIs(arguments['meta_batches'], choices.MetaBatches.SHARED)
    # Three gradients more in each of two epochs.
    self.assertEqual(built.process.extra_passes, 6)
