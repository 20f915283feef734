# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Setters take what creates a context, and say so."""

import inspect

from fedfish_tff.execution import cohort_context

from absl.testing import absltest


class SettersTest(absltest.TestCase):
  def test_it_looks_like_a_function_of_its_own(self):
    setter = cohort_context.set_sync_cohort_execution_context
    self.assertEqual(setter.__name__, 'set_sync_cohort_execution_context')
    self.assertIn('create_sync_cohort_execution_context', setter.__doc__)
    self.assertEqual(
      list(inspect.signature(setter).parameters),
      [
        'default_num_clients',
        'max_concurrent_computation_calls',
        'devices',
        'use_xla',
      ],
    )
