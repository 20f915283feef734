# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All rows of the table compute the same round."""

from launch.benchmarks import models
from launch.benchmarks import plan
from launch.benchmarks import rows as rows_lib
from launch.benchmarks import workloads

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class RowsTest(parameterized.TestCase):
  # The CNN's rows differ from these by the network only.
  @parameterized.named_parameters(('fed_avg', False), ('fed_fish', True))
  def test_rows_agree(self, fed_fish):
    workload = workloads.Workload(
      network=workloads.WORKLOADS['softmax'].network,
      batch_size=10,
      fed_fish=fed_fish,
    )
    self._check_rows_agree(workload, plan.ROWS, num_examples=25)

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
