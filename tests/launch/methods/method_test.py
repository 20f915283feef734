# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a method declares."""

import dataclasses

from launch.methods import fed_fish
from launch.methods import method

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
