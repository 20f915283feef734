# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what methods with local layers have in common."""

import dataclasses

from fedfish_tff import errors
from launch.methods import building
from launch.methods import local_layers
from tests.launch import small_configs

from absl.testing import parameterized
import tensorflow_federated as tff


class LocalLayersTest(small_configs.TaskTestCase):
  def _parts(self, variant='fed_per', task=None, **changes):
    return building.Ingredients(
      config=small_configs.read_config(variant, **changes),
      task=task or self.task,
    )

  @parameterized.parameters(
    ('', (False, False, True, True)),
    ('hidden_0', (True, True, False, False)),
    ('hidden_0/bias, output', (False, True, True, True)),
  )
  def test_select(self, layers, expected):
    parts = self._parts(**{'algorithm.local_layers': layers})
    self.assertEqual(local_layers.select(parts, 'local_layers'), expected)

  @parameterized.parameters(
    ('head', "^algorithm.local_layers is 'head': No tensor .* output/bias"),
    ('hidden_0,output', '4 tensors .*output/bias'),
  )
  def test_refuses_layers(self, layers, message):
    parts = self._parts(**{'algorithm.local_layers': layers})
    with self.assertRaisesRegex(errors.InputError, message):
      local_layers.select(parts, 'local_layers')

  def test_needs_names(self):
    nameless = dataclasses.replace(self.task, tensor_names=())
    with self.assertRaisesRegex(
      errors.InputError, "'digits' must have tensor_names, .*local_layers"
    ):
      local_layers.select(self._parts(task=nameless), 'local_layers')

  def test_an_exchange_is_of_what_is_shared(self):
    parts = self._parts('fed_per,exchange=partial')
    arguments = local_layers.arguments(parts, (False, False, True, True))
    self.assertEqual(
      arguments['tensor_names'], ('hidden_0/kernel', 'hidden_0/bias')
    )
    built = building.build_method(parts.config, parts.task)
    measured = built.process.next.type_signature.result['metrics'].member
    self.assertEqual(
      tff.structure.name_list(measured['aggregator']['sent']),
      ['hidden_0/kernel', 'hidden_0/bias'],
    )
