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
        (x, y), other = workload.generate_clients(2)
        self.assertEqual(x.shape, (100, *x_spec.shape[1:]))
        self.assertEqual(x.dtype, x_spec.dtype.as_numpy_dtype)
        self.assertEqual(y.dtype, y_spec.dtype.as_numpy_dtype)
        self.assertFalse(np.array_equal(x, other[0]))


if __name__ == '__main__':
  absltest.main()
