# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The accelerator environment, which tests of PJRT need.

`make accelerator PLATFORM=tpu` makes it, as CI does, for TPUs that need not be
there and the CPU; where it is not there such tests are skipped. `make test-gpu`
names another platform for tests of equality.
"""

import os

from fedfish_tff.execution.pjrt import device_client

from absl.testing import absltest
import tensorflow as tf

PLATFORM = os.environ.get('FEDFISH_TFF_PLATFORM', 'cpu')
# TensorFlow 2.14 compiles the same work for two bounds to programs that differ
# in more than sizes, so most ragged batches run in this process there.
COMPARES_BOUNDS = not tf.__version__.startswith('2.14.')


def is_installed(with_tpus: bool = False) -> bool:
  """Returns whether the environment is there, for TPUs too if asked."""
  python = device_client.default_python()
  if not with_tpus:
    return python.exists()
  packages = python.parent.parent.glob('lib/python*/site-packages/libtpu')
  return any(packages)


class TestCase(absltest.TestCase):
  """Tests that need the environment."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not is_installed():
      raise absltest.SkipTest('make accelerator PLATFORM=tpu was not run')
