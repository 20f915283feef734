# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What clients with states send is aggregated; contract_test has the rounds."""

import collections

from fedfish_tff.algorithms import client_state_composition

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


class ComposeMeanAndSumsTest(absltest.TestCase):
  def test_a_weighted_mean_of_deltas_and_sums_of_all_else(self):
    tensors = tff.to_type(((np.float32, [2]),))
    process = client_state_composition.compose_mean_and_sums(
      tff.to_type(
        collections.OrderedDict(
          update=collections.OrderedDict(delta=tensors, control=tensors),
          update_weight=np.float32,
        )
      ),
      tff.aggregators.MeanFactory(),
    )
    updates = [
      collections.OrderedDict(
        delta=(np.float32([value, 1]),), control=(np.float32([value, 0]),)
      )
      for value in (2, 6)
    ]
    output = process.next(process.initialize(), updates, [1.0, 3.0])
    np.testing.assert_array_equal(output.result['delta'][0], [5, 1])
    np.testing.assert_array_equal(output.result['control'][0], [8, 0])
    self.assertEqual([*output.measurements], ['delta', 'control'])
