# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of declared methods and what finds and lists them."""

import dataclasses
import re

from fedfish_tff import errors
from launch.methods import description
from launch.methods import fed_avg
from launch.methods import fed_fish
from launch.methods import method
from launch.methods import registry
from tasks import registry as task_registry

from absl.testing import absltest


class MethodTest(absltest.TestCase):
  def test_supports_what_somebody_asks_for(self):
    with self.assertRaisesRegex(ValueError, 'supports flying, which nobody'):
      dataclasses.replace(fed_fish.METHOD, supports={'flying'})

  def test_variants_change_fields_that_there_are(self):
    with self.assertRaisesRegex(ValueError, 'changes the field wings'):
      dataclasses.replace(fed_fish.METHOD, variants={'bird': {'wings': 2}})

  def test_says_why_not(self):
    self.assertEqual(
      fed_fish.METHOD.why_not('fine_tuning_start'),
      method.SUPPORTS['fine_tuning_start'],
    )
    self.assertEqual(
      fed_fish.METHOD.why_not('client_keeps'),
      fed_fish.METHOD.reasons['client_keeps'],
    )


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


class DescriptionTest(absltest.TestCase):
  def test_names_every_method_variant_and_field(self):
    text = description.describe()
    for own in registry.own_methods().values():
      for said in (
        f'{own.name} ({own.title})',
        *own.variants,
        *(f'  {n}={f.default!r}: {f.help}' for n, f in own.fields.items()),
        '  rounds: ',
        '  evaluate_every=5: ',
        '  share=0.5: ',
        '  temperature=0.1: ',
        '  noise_multiplier=1.0: ',
        '  trimmed_share=0.2: ',
        '  bits=8: ',
        'aggregation, of what supports model_aggregator: ',
        '  rounds_per_stage=10: ',
        '  dropout=0.0: ',
        '  scales=(1.0, 100.0): ',
        '  aggregator                   the aggregation of updates; ',
      ):
        self.assertIn(said, text)

  def test_lists_every_task_and_option(self):
    text = description.list_configs()
    for name in task_registry.task_names():
      self.assertIn(f'\n{name}\n', text)
      for option, field in task_registry.own_options(name).items():
        self.assertRegex(text, f'  {option}(=.*)?: {re.escape(field.help)}\n')
