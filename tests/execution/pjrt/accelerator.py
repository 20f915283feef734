# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The accelerator environment, which tests of PJRT need.

`make accelerator PLATFORM=cpu` makes it, as CI does; where it is not there such
tests are skipped. `make test-gpu` names another platform for tests of equality.
"""

import os

from fedfish_tff.execution.pjrt import device_client

from absl.testing import absltest

PLATFORM = os.environ.get('FEDFISH_TFF_PLATFORM', 'cpu')


def is_installed() -> bool:
  """Whether the environment is there."""
  return device_client.default_python().exists()


class TestCase(absltest.TestCase):
  """Tests that need the environment."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not is_installed():
      raise absltest.SkipTest('make accelerator PLATFORM=cpu was not run')
