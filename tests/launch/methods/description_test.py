# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the text on all methods and tasks."""

import re

from launch.methods import description
from launch.methods import registry
from tasks import registry as task_registry

from absl.testing import absltest


class DescriptionTest(absltest.TestCase):
  def test_names_every_method_variant_and_field(self):
    text = description.describe()
    for method in registry.own_methods().values():
      for said in (
        f'{method.name} ({method.title})',
        *method.variants,
        *(f'  {n}={f.default!r}: {f.help}' for n, f in method.fields.items()),
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
