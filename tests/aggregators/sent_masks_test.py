# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' sent parts and their bytes, against independent counts."""

import collections

from fedfish_tff import aggregators
from fedfish_tff import errors

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
import numpy as np
import tensorflow_federated as tff

_T = tff.to_type([(np.float32, [3]), (np.float32, [2, 2])])
_PER_TENSOR = tff.to_type([np.bool_, np.bool_])
_PER_COORDINATE = tff.to_type([(np.bool_, [3]), (np.bool_, [2, 2])])
_WEIGHT = tff.TensorType(np.float32)


def _fed_avg_type(mask):
  return tff.to_type(
    collections.OrderedDict(
      update=collections.OrderedDict(delta=_T, mask=mask), mask=mask
    )
  )


def _fed_avg_value(delta, mask):
  return collections.OrderedDict(
    update=collections.OrderedDict(delta=delta, mask=mask), mask=mask
  )


class SentPartsTest(parameterized.TestCase):
  @hypothesis.settings(max_examples=25)
  @hypothesis.given(
    data=st.data(), num_clients=st.integers(1, 4), coordinates=st.booleans()
  )
  def test_counts_equal_those_of_the_masks(
    self, data, num_clients, coordinates
  ):
    process = aggregators.SentPartsFactory(
      aggregators.PartialMeanFactory(),
      mask_bits=7 if coordinates else 2,
      tensor_names=('layer/kernel', 'layer/bias'),
    ).create(
      _fed_avg_type(_PER_COORDINATE if coordinates else _PER_TENSOR), _WEIGHT
    )
    masks = []
    for _ in range(num_clients):
      shapes = ((3,), (2, 2)) if coordinates else ((), ())
      masks.append([data.draw(hnp.arrays(np.bool_, s)) for s in shapes])
    weights = data.draw(
      st.lists(st.integers(0, 2), min_size=num_clients, max_size=num_clients)
    )
    delta = [np.ones(3, np.float32), np.ones((2, 2), np.float32)]
    output = process.next(
      process.initialize(),
      [_fed_avg_value(delta, m) for m in masks],
      [np.float32(w) for w in weights],
    )
    coming = [m for m, w in zip(masks, weights) if w]
    payload = 0
    for mask in coming:
      for m, size in zip(mask, (3, 4)):
        sent = int(m.sum()) if coordinates else size * bool(m)
        payload += 4 * sent
      payload += 1  # Seven bits, or two.
    measured = output.measurements
    self.assertEqual(measured['payload_bytes'], payload)
    for i, name in enumerate(('layer/kernel', 'layer/bias')):
      share = np.mean([np.mean(m[i]) for m in coming]) if coming else 0.0
      self.assertAlmostEqual(measured['sent'][name], share, places=5)
      anyone = np.any([m[i] for m in coming], axis=0) if coming else False
      np.testing.assert_array_equal(
        output.result['any_sent'][i], np.broadcast_to(anyone, masks[0][i].shape)
      )

  def test_fed_fish_sends_two_structures(self):
    update_type = collections.OrderedDict(delta=_T, fisher=_T)
    process = aggregators.SentPartsFactory(
      aggregators.FisherWeightedMeanFactory(), mask_bits=2
    ).create(
      tff.to_type(
        collections.OrderedDict(update=update_type, mask=_PER_TENSOR)
      ),
      _WEIGHT,
    )
    tensors = [np.ones(3, np.float32), np.zeros((2, 2), np.float32)]
    value = collections.OrderedDict(
      update=collections.OrderedDict(delta=tensors, fisher=tensors),
      mask=[True, False],
    )
    output = process.next(process.initialize(), [value], [np.float32(2)])
    self.assertEqual(output.measurements['payload_bytes'], 2 * 3 * 4 + 1)
    self.assertIn('zero_denominator_share', output.measurements)
    self.assertEqual(list(output.measurements['sent']), ['0_3', '1_2x2'])
    np.testing.assert_array_equal(output.result['delta'][0], np.ones(3))

  def test_bytes_beyond_31_bits(self):
    mask = tff.to_type([np.bool_])
    tensor = tff.to_type([(np.float32, [2**16])])
    process = aggregators.SentPartsFactory(
      aggregators.PartialMeanFactory(), mask_bits=2**36
    ).create(
      tff.to_type(
        collections.OrderedDict(
          update=collections.OrderedDict(delta=tensor, mask=mask), mask=mask
        )
      ),
      _WEIGHT,
    )
    value = _fed_avg_value([np.ones(2**16, np.float32)], [True])
    output = process.next(process.initialize(), [value], [np.float32(1)])
    self.assertEqual(output.measurements['payload_bytes'], 4 * 2**16 + 2**33)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(errors.InputError, 'mask_bits'):
      aggregators.SentPartsFactory(
        aggregators.PartialMeanFactory(), mask_bits=-1
      )
    with self.assertRaisesRegex(errors.InputError, 'tensor_names'):
      aggregators.SentPartsFactory(
        aggregators.PartialMeanFactory(), mask_bits=2, tensor_names=['one']
      ).create(_fed_avg_type(_PER_TENSOR), _WEIGHT)
