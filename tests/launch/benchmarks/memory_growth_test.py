# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory is sampled over rounds, and its growth is told."""

from fedfish_tff.execution import contexts
from launch.benchmarks import memory_growth

from absl.testing import absltest
from absl.testing import parameterized


def setUpModule():
  contexts.set_default_context()


class MemoryGrowthTest(parameterized.TestCase):
  @parameterized.product(keras=(False, True), datasets=(False, True))
  def test_a_sample_a_round(self, keras, datasets):
    samples = list(
      memory_growth.sample_memory(
        rounds=3, largest_cohort=2, keras=keras, datasets=datasets
      )
    )
    self.assertEqual([s.round_number for s in samples], [1, 2, 3])
    self.assertGreater(min(s.resident_bytes for s in samples), 50e6)

  def test_growth(self):
    def growth(memory):
      return memory_growth.growth_bytes(
        [memory_growth.Sample(i, memory(i)) for i in range(1, 101)]
      )

    self.assertEqual(growth(lambda i: 500 + 10 * i), 800)
    # The start, and a single round, do not count.
    self.assertEqual(growth(lambda i: 500 - 100 * (i < 10) + 9 * (i == 97)), 0)


if __name__ == '__main__':
  absltest.main()
