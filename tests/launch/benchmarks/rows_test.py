# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All rows of the table compute the same round."""

from launch.benchmarks import models
from launch.benchmarks import plan
from launch.benchmarks import rows as rows_lib
from launch.benchmarks import workloads

from absl.testing import absltest
import numpy as np
import pytest


class RowsTest(absltest.TestCase):
  # The CNN's rows differ from these by the network only.
  def test_rows_of_fed_fish_agree(self):
    self._check_softmax(fed_fish=True)

  @pytest.mark.slow
  def test_rows_of_fed_avg_agree(self):
    self._check_softmax(fed_fish=False)

  def _check_softmax(self, *, fed_fish):
    workload = workloads.Workload(
      network=workloads.WORKLOADS['softmax'].network,
      batch_size=10,
      fed_fish=fed_fish,
    )
    self._check_rows_agree(workload, plan.ROWS, num_examples=25)

  @pytest.mark.slow
  def test_rows_of_tokens_agree(self):
    workload = workloads.Workload(
      network=models.Transformer(
        size='tiny', vocabulary_size=32, sequence_length=6
      ),
      batch_size=2,
    )
    # Other rows differ from these as they do for the network above.
    self._check_rows_agree(workload, ('bare', 'cohort'), num_examples=5)

  def _check_rows_agree(self, workload, names, *, num_examples):
    rows = rows_lib.Rows(workload, workload.generate_clients(2, num_examples))
    self.addCleanup(rows.close)
    results = {}
    for name in names:
      run = rows.build(name)()
      run()
      results[name] = run()
    expected = results.pop(plan.YARDSTICK)
    for name, weights in results.items():
      with self.subTest(name):
        for a, b in zip(weights, expected, strict=True):
          np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    self.assertEmpty(rows.general_path_reasons)


if __name__ == '__main__':
  absltest.main()
