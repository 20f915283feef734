# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ray, which tests of its context need; `make ray` installs it, as CI does."""

import importlib.util

from absl.testing import absltest


class TestCase(absltest.TestCase):
  """Tests that need Ray."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not importlib.util.find_spec('ray'):
      raise absltest.SkipTest('make ray was not run')
