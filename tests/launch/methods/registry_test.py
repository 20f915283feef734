# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the registry."""

import dataclasses

from fedfish_tff import errors
from launch.methods import fed_avg
from launch.methods import registry

from absl.testing import absltest


class RegistryTest(absltest.TestCase):
  def test_somebody_else_s_method(self):
    name = 'launch.methods.fed_avg:METHOD'
    expected = dataclasses.replace(fed_avg.METHOD, name=name)
    self.assertEqual(registry.find_method(name), expected)
    self.assertEqual(registry.find_variant(name), (expected, ''))
    self.assertEqual(expected.defaults()['name'], name)

  def test_refuses_what_is_no_method(self):
    for name, message in (
      (
        'launch.methods.fed_avg:build_mean',
        'a launch.methods.method.Method, got .*a function',
      ),
      ('no_method', 'algorithm.name must be one of .*fed3r, .*no_method'),
      (None, 'algorithm.name must be one of .*fed3r, .*got None'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        registry.find_method(name)

  def test_variants_of_a_method(self):
    method, variant = registry.find_variant('damped')
    self.assertEqual((method.name, variant), ('fed_fish', 'damped'))
    self.assertEqual(method.defaults(variant)['damping'], 1e-4)
    with self.assertRaisesRegex(
      errors.InputError, 'variant must be .*damped, .*fed3r'
    ):
      registry.find_variant('damp')
