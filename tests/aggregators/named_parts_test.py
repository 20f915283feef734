# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of named parts, names of tensors and sums of a type."""

import collections

from fedfish_tff import aggregators
from fedfish_tff import errors
from fedfish_tff.aggregators import fisher_weighted_mean
from fedfish_tff.aggregators import partial_mean
from fedfish_tff.aggregators import tensor_names
from fedfish_tff.aggregators import upper_triangle_sum
from fedfish_tff.execution import contexts

from absl.testing import absltest
from absl.testing import parameterized
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


_TYPES = [tff.TensorType(np.float32, s) for s in ((2, 3), (), (4,))]


class TensorNamesTest(parameterized.TestCase):
  def test_by_position_and_shape(self):
    self.assertEqual(
      tensor_names.name_tensors(_TYPES), ['0_2x3', '1_scalar', '2_4']
    )

  def test_given(self):
    names = ('a/kernel', 'a/bias', 'b')
    self.assertEqual(tensor_names.name_tensors(_TYPES, names), list(names))

  @parameterized.parameters((('a', 'b'),), (('a', 'b', 'a'),), ((),))
  def test_too_few_different_names(self, names):
    with self.assertRaisesRegex(errors.InputError, 'trainable tensors'):
      tensor_names.name_tensors(_TYPES, names)


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
