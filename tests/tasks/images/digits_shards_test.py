# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the digits among clients of a few digits."""

from tasks.images import digits_shards
from tests import named_tensors

from absl.testing import absltest
import numpy as np
from sklearn import datasets as sklearn_datasets


class DigitsShardsTest(absltest.TestCase):
  def test_all_digits_are_divided(self):
    task = digits_shards.create_task(seed=0)
    parts = [task.own_test.load_client(c) for c in task.own_test.client_ids]
    self.assertAlmostEqual(sum(len(y) for _, y in parts), 599, delta=1)
    for data in (task.train, task.validation, task.test):
      parts += [data.load_client(c) for c in data.client_ids]
    x, y = (np.concatenate(arrays) for arrays in zip(*parts))
    images, labels = sklearn_datasets.load_digits(return_X_y=True)
    found = np.column_stack([x * 16, y])
    expected = np.column_stack([images, labels])
    np.testing.assert_array_equal(
      found[np.lexsort(found.T)], expected[np.lexsort(expected.T)]
    )
    self.assertLen(task.train.client_ids, 64)
    named_tensors.assert_named(
      task.tensor_names, task.create_model().initial_weights[0]
    )
