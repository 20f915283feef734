# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for contexts."""

import importlib.util
import os
from unittest import mock

from fedfish_tff import errors
from fedfish_tff import execution
from fedfish_tff.execution import contexts
from fedfish_tff.execution.running import cohort_stages
from tests.execution.pjrt import accelerator

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


class ContextsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    default = tff.framework.get_context_stack().current
    self.addCleanup(tff.framework.set_default_context, default)
    # Where programs would be kept.
    self.enter_context(
      mock.patch.dict(
        os.environ, XDG_CACHE_HOME=self.create_tempdir().full_path
      )
    )

  def test_default_is_the_cohort_context(self):
    self.assertEqual(contexts.DEFAULT_CONTEXT_NAME, 'cohort')
    contexts.set_default_context()
    self.assertIsInstance(
      tff.framework.get_context_stack().current,
      execution.SyncExecutionContext,
    )
    self.assertIsInstance(
      tff.framework.get_context_stack().current.runner,
      cohort_stages.CohortStageRunner,
    )

  @pytest.mark.thorough
  def test_computes_in_each_context(self):
    @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
    def compute(values):
      return tff.federated_sum(values)

    optional = {
      'pjrt': accelerator.is_installed(),
      'ray': importlib.util.find_spec('ray'),
    }
    for name in contexts.context_names():
      if not optional.get(name, True):
        continue
      with self.subTest(name):
        contexts.set_default_context(name)
        self.assertEqual(compute([1, 2, 3]), 6)

  def test_client_work_on_a_device(self):
    @tff.tensorflow.computation(tff.TensorType(np.float32))
    def halve(value):
      return value / 2.0

    @tff.federated_computation(tff.FederatedType(np.float32, tff.CLIENTS))
    def compute(values):
      return tff.federated_sum(tff.federated_map(halve, values))

    contexts.set_default_context('cohort', device='cpu')
    self.assertEqual(compute([1.0, 2.0]), 1.5)
    if tf.config.list_logical_devices('GPU'):
      contexts.set_default_context('cohort', device='gpu')
      self.assertEqual(compute([1.0, 2.0]), 1.5)
      return
    with self.assertRaisesRegex(
      errors.InputError, r'needs a GPU .* got none: .*tensorflow\[and-cuda\]'
    ):
      contexts.create_context(device='gpu')
    with self.assertRaisesRegex(errors.InputError, "cpu or gpu, got 'tpu'"):
      contexts.create_context(device='tpu')

  def test_takes_the_place_of_tffs_own(self):
    execution.set_default_context(default_num_clients=3)
    one = tff.federated_computation(
      lambda: tff.federated_sum(tff.federated_value(1, tff.CLIENTS))
    )
    self.assertEqual(one(), 3)

  def test_unknown_name(self):
    default = tff.framework.get_context_stack().current
    with self.assertRaisesRegex(
      errors.InputError, "must be one of .*local_worker.*, got 'worker'"
    ):
      contexts.set_default_context('worker')
    self.assertIs(tff.framework.get_context_stack().current, default)

  def test_unknown_option(self):
    with self.assertRaisesRegex(
      errors.InputError,
      "'local_worker' must be one of default_num_clients, .* got 'clients'",
    ):
      contexts.set_default_context('local_worker', clients=4)
