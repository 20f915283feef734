# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The workloads are what the table says they are."""

from launch.benchmarks import plan
from launch.benchmarks import workloads

from absl.testing import absltest
import numpy as np


class WorkloadsTest(absltest.TestCase):
  def test_every_plan_has_its_workload(self):
    self.assertCountEqual(workloads.WORKLOADS, plan.PLANS)

  def test_clients_fit_their_models(self):
    for name, workload in workloads.WORKLOADS.items():
      with self.subTest(name):
        x_spec, y_spec = workload.network.create_functional().input_spec
        (x, y), other = workload.generate_clients(2, 100)
        for values, spec in ((x, x_spec), (y, y_spec)):
          self.assertEqual(values.dtype, spec.dtype.as_numpy_dtype)
          self.assertTrue(spec.shape.is_compatible_with(values.shape))
          self.assertLen(values, 100)
        self.assertFalse(np.array_equal(x, other[0]))

  def test_tokens_are_as_many_as_planned(self):
    for name, workload in workloads.WORKLOADS.items():
      if count := plan.PLANS[name].tokens_per_example:
        ((x, y),) = workload.generate_clients(1, 3)
        self.assertEqual(x.shape, (3, count))
        np.testing.assert_array_equal(x[:, 1:], y[:, :-1])
        # No padding, which would be no work.
        self.assertGreater(min(x.min(), y.min()), 0)


if __name__ == '__main__':
  absltest.main()
