# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the columns' names and numbers."""

import collections

from fedfish_tff.simulation import metrics_flattening

from absl.testing import parameterized
from hypothesis import given
from hypothesis import strategies as st
import numpy as np

_Pair = collections.namedtuple('_Pair', ('low', 'high'))


class FlattenMetricsTest(parameterized.TestCase):
  def test_names_the_metrics_of_a_learning_process(self):
    metrics = collections.OrderedDict(
      distributor=(),
      client_work=collections.OrderedDict(
        train=collections.OrderedDict(loss=np.float32(0.1), num_examples=7),
        excluded_clients=np.int32(2),
      ),
      aggregator=collections.OrderedDict(
        mean_value=(),
        fisher=[np.array([1.0, 2.0]), np.array(3.0)],
        range=_Pair(True, np.int64(2**40)),
        sent=collections.OrderedDict({'layer/kernel': np.float32(0.5)}),
        payload_bytes=np.int64(2**33),
      ),
      finalizer=collections.OrderedDict(update_non_finite=0),
    )
    flat = metrics_flattening.flatten_metrics(metrics)
    self.assertEqual(
      list(flat.items()),
      [
        ('train/loss', float(np.float32(0.1))),
        ('train/num_examples', 7),
        ('train/excluded_clients', 2),
        ('aggregator/fisher/0/0', 1.0),
        ('aggregator/fisher/0/1', 2.0),
        ('aggregator/fisher/1', 3.0),
        ('aggregator/range/low', 1),
        ('aggregator/range/high', 2**40),
        ('aggregator/sent/layer/kernel', 0.5),
        ('communication/payload_bytes', 2**33),
        ('finalizer/update_non_finite', 0),
      ],
    )
    self.assertEqual({type(v) for v in flat.values()}, {int, float})

  @given(st.floats(width=32) | st.floats() | st.integers(-(2**63), 2**63 - 1))
  def test_keeps_every_bit(self, number):
    dtype = np.int64 if isinstance(number, int) else np.float64
    found = metrics_flattening.to_number(np.asarray(number, dtype))
    np.testing.assert_array_equal(found, number)

  @parameterized.parameters('text', None, b'bytes', 1j)
  def test_rejects_what_is_not_a_number(self, value):
    with self.assertRaisesRegex(TypeError, 'must be a number'):
      metrics_flattening.flatten_metrics({'a': value})
