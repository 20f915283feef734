# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client work that draws random numbers is the same where XLA compiles it."""

from fedfish_tff.execution import cohort_context
from tests import tolerance
from tests.execution import learning_models
from tests.execution import learning_rounds

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def _in_context(run, **options):
  context = cohort_context.create_sync_cohort_execution_context(**options)
  with tff.framework.get_context_stack().install(context):
    return run()


class RandomNumbersTest(absltest.TestCase):
  def _check(self, run):
    expected = _in_context(run)
    with self.assertNoLogs(level='WARNING'):
      found = _in_context(run, use_xla=True)
    learning_rounds.assert_agree(
      found, expected, relative=tolerance.FLOAT32_SUMS
    )

  def test_sampled_labels(self):
    case = learning_models.MODELS['mlp']
    self._check(
      learning_rounds.ROUNDS['fed_fish_sampled_label'](case, 'functional')
    )

  @pytest.mark.thorough
  def test_dropout(self):
    self._check(learning_rounds.one_step_of_dropout())

  def test_a_generator_of_the_runtime_is_not_left_to_xla(self):
    @tff.tensorflow.computation(np.float32)
    def noise(x):
      return x + tf.random.uniform([])

    @tff.federated_computation(tff.FederatedType(np.float32, tff.CLIENTS))
    def comp(values):
      return tff.federated_map(noise, values)

    with self.assertLogs(level='WARNING') as logs:
      drawn = _in_context(lambda: comp([0.0] * 20), use_xla=True)
    self.assertIn('RandomUniform', '\n'.join(logs.output))
    self.assertLen(set(drawn), 20)
