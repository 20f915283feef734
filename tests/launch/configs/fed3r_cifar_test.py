# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the configs of photographs' features."""

from launch.configs import features
from launch.configs import fed3r_cifar

from absl.testing import parameterized


class ImageFeaturesTest(parameterized.TestCase):
  @parameterized.parameters(*features.VARIANTS)
  def test_only_what_trains_the_extractor_has_inputs_before_it(self, variant):
    for images in ('cifar10', 'cifar100'):
      task = fed3r_cifar.get_config(f'{variant},images={images}').task
      self.assertEqual(task.name, f'{images}_features')
      self.assertEqual(
        task.inputs,
        'fire8/expand'
        if 'fine_tuning=ft,' in variant or 'ft_feat' in variant
        else 'features',
      )

  def test_a_file_of_weights_can_be_named(self):
    """As --config.task.weights=name does."""
    config = fed3r_cifar.get_config('fed3r').lock()
    self.assertIsNone(config.task.weights)
    config.task.weights = 'other.npz'
    with self.assertRaises(TypeError):
      config.task.weights = 3
