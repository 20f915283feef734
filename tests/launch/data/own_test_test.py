# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of holding out clients' own test data."""

from fedfish_tff import errors
from launch.data import own_test

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

_CLIENTS = [np.arange(0, 20), np.arange(20, 22), np.array([22])]
_NAMES = ['a', 'b', 'c']


def _hold_out(names=_NAMES, clients=_CLIENTS, *, seed=0, fraction=0.3):
  return own_test.hold_out(names, clients, 30, fraction=fraction, seed=seed)


class HoldOutTest(parameterized.TestCase):
  @parameterized.parameters(
    (0.3, [6, 1, 0]), (0.99, [19, 1, 0]), (0.001, [1, 1, 0])
  )
  def test_numbers(self, fraction, expected):
    is_test = _hold_out(fraction=fraction)
    self.assertEqual([is_test[rows].sum() for rows in _CLIENTS], expected)
    self.assertFalse(is_test[23:].any())

  def test_a_function_of_seed_and_client(self):
    np.testing.assert_array_equal(
      _hold_out()[:20], _hold_out(_NAMES[:1], _CLIENTS[:1])[:20]
    )
    for other in (_hold_out(seed=1), _hold_out(['z', 'b', 'c'])):
      self.assertTrue((_hold_out()[:20] != other[:20]).any())

  def test_each_example_is_as_likely(self):
    total = sum(_hold_out(seed=seed)[:20].astype(int) for seed in range(400))
    # Five standard deviations of a binomial.
    np.testing.assert_allclose(total, 120, atol=5 * np.sqrt(400 * 0.3 * 0.7))

  @parameterized.parameters(0.0, 1.0, -0.1, float('nan'))
  def test_bad_fractions(self, fraction):
    with self.assertRaisesRegex(errors.InputError, 'above 0 and below 1, got'):
      _hold_out(fraction=fraction)

  def test_clients_of_one_example(self):
    with self.assertRaisesRegex(errors.InputError, '2 examples, got 1 of 1'):
      _hold_out(['c'], [np.array([22])])


if __name__ == '__main__':
  absltest.main()
