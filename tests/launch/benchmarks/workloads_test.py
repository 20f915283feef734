# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The workloads are what the table says they are."""

from launch.benchmarks import workloads

from absl.testing import absltest
import numpy as np


class WorkloadsTest(absltest.TestCase):
  def test_clients_fit_their_models(self):
    for workload in workloads.WORKLOADS.values():
      model = workload.create_model()
      x_spec, y_spec = model.input_spec
      (x, y), other = workload.generate_clients(2)
      self.assertEqual(x.shape, (100, *x_spec.shape[1:]))
      self.assertEqual(x.dtype, x_spec.dtype.as_numpy_dtype)
      self.assertEqual(y.dtype, y_spec.dtype.as_numpy_dtype)
      self.assertFalse(np.array_equal(x, other[0]))

  def test_cnn_has_the_parameters_it_is_named_for(self):
    trainable, _ = workloads.create_cnn().initial_weights
    self.assertEqual(round(sum(w.size for w in trainable) / 1e6, 1), 1.7)


if __name__ == '__main__':
  absltest.main()
