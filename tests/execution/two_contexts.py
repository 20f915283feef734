# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that compare the cohort context with TFF's own runtime."""

from fedfish_tff.execution import contexts

from absl.testing import absltest
import tensorflow_federated as tff


class TestCase(absltest.TestCase):
  """Has a new cohort context for each test, and one worker of TFF's for all."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.worker = contexts.create_context('local_worker')
    cls.addClassCleanup(cls.worker.close)

  def setUp(self):
    super().setUp()
    self.cohort = contexts.create_context()

  def here(self, comp, *args):
    with tff.framework.get_context_stack().install(self.cohort):
      return comp(*args)

  def there(self, comp, *args):
    with tff.framework.get_context_stack().install(self.worker):
      return comp(*args)
