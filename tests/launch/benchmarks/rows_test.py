# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""All rows of the table compute the same round."""

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
      network=workloads.WORKLOADS['softmax'].network, fed_fish=fed_fish
    )
    rows = rows_lib.Rows(workload, workload.generate_clients(2, 25))
    self.addCleanup(rows.close)
    results = {}
    for name in plan.ROWS:
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
