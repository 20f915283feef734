# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weighted factories are refused where a sum is needed."""

from fedfish_tff.aggregators import fisher_weighted_mean
from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import upper_triangle_sum

from absl.testing import parameterized
import tensorflow_federated as tff


class SumFactoriesTest(parameterized.TestCase):
  @parameterized.parameters(
    fisher_weighted_mean.FisherWeightedMeanFactory,
    partial_mean.PartialMeanFactory,
    lambda inner: upper_triangle_sum.UpperTriangleSumFactory(['gram'], inner),
  )
  def test_weighted_factories_are_refused(self, build):
    for inner in (
      tff.aggregators.MeanFactory(),
      tff.aggregators.zeroing_factory(1.0, tff.aggregators.MeanFactory()),
      5,
    ):
      with self.assertRaisesRegex(TypeError, '^sum_factory must be .*, got '):
        build(inner)
    build(tff.aggregators.clipping_factory(1.0, tff.aggregators.SumFactory()))
