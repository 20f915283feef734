# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each part of an update has its own aggregator."""

import collections

from fedfish_tff import aggregators
from fedfish_tff.execution import contexts

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff


def setUpModule():
  contexts.set_default_context()


class NamedPartsTest(absltest.TestCase):
  def test_a_weighted_mean_and_a_plain_sum(self):
    process = aggregators.NamedPartsFactory(
      {
        'delta': tff.aggregators.clipping_factory(
          100.0, tff.aggregators.MeanFactory()
        ),
        'number': tff.aggregators.SumFactory(),
      }
    ).create(
      tff.to_type(
        collections.OrderedDict(delta=(np.float32, [2]), number=np.float32)
      ),
      tff.TensorType(np.float32),
    )
    values = [
      collections.OrderedDict(delta=np.float32(delta), number=np.float32(2))
      for delta in ([1, 2], [4, 8])
    ]
    output = process.next(process.initialize(), values, [1.0, 2.0])
    np.testing.assert_array_equal(output.result['delta'], [3, 6])
    self.assertEqual(output.result['number'], 4)
    # As if there were nothing but delta.
    self.assertEqual(output.measurements['clipped_count'], 0)
