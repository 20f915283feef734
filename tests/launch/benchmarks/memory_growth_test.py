# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory is sampled over rounds, and its growth is told."""

from unittest import mock

from fedfish_tff.datasets import batches
from fedfish_tff.execution import contexts
from launch.benchmarks import memory_growth
from launch.benchmarks import rounds

from absl.testing import parameterized
import tensorflow as tf


def setUpModule():
  contexts.set_default_context()


class MemoryGrowthTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('functional_on_datasets', False, True),
    ('keras_on_client_batches', True, False),
  )
  def test_a_sample_after_each_round(self, keras, datasets):
    cohorts = []
    build_process = rounds.build_process

    def build_watched(model):
      # Keras models are built by a function, functional ones are there.
      self.assertEqual(callable(model), keras)
      process = build_process(model)
      watched = mock.create_autospec(process, instance=True)
      watched.initialize.side_effect = process.initialize

      def run_round(state, cohort):
        cohorts.append(cohort)
        return process.next(state, cohort)

      watched.next.side_effect = run_round
      return watched

    with mock.patch.object(
      rounds, 'build_process', autospec=True, side_effect=build_watched
    ):
      samples = list(
        memory_growth.sample_memory(
          rounds=3, largest_cohort=2, keras=keras, datasets=datasets
        )
      )
    self.assertLen(samples, 3)
    self.assertGreater(min(samples), 100e6)
    self.assertLen(cohorts, 3)
    kind = tf.data.Dataset if datasets else batches.ClientBatches
    for client in sum(cohorts, []):
      self.assertIsInstance(client, kind)

  def test_cohorts_vary(self):
    clients = rounds.NETWORKS['softmax'].generate_clients(3, 100)
    cohorts = [memory_growth._cohort(clients, i) for i in range(1, 41)]
    self.assertEqual({len(cohort) for cohort in cohorts}, {1, 2, 3})
    sizes = [client.num_examples for cohort in cohorts for client in cohort]
    self.assertBetween(min(sizes), 1, 20)
    self.assertBetween(max(sizes), 80, 100)

  def test_growth(self):
    def growth(memory):
      return memory_growth.growth_bytes([memory(i) for i in range(1, 101)])

    self.assertEqual(growth(lambda i: 500 + 10 * i), 800)
    # The start, and a single round, do not count.
    self.assertEqual(growth(lambda i: 500 - 100 * (i < 10) + 9 * (i == 97)), 0)
