# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of client data and the split of clients."""

from fedfish_tff import errors
from fedfish_tff.datasets import client_data

from absl.testing import absltest
from absl.testing import parameterized
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf


def _pair(n, offset=0):
  x = offset + np.arange(2 * n, dtype=np.float32).reshape(n, 2)
  return x, np.arange(n, dtype=np.int32)


def _clients(*sizes):
  return {f'client_{i}': _pair(n, 100 * i) for i, n in enumerate(sizes)}


class InMemoryClientDataTest(absltest.TestCase):
  def test_clients_are_sorted_and_load(self):
    data = client_data.InMemoryClientData({'b': _pair(2), 'a': _pair(3)})
    self.assertEqual(data.client_ids, ('a', 'b'))
    self.assertEqual(
      data.element_spec,
      (tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int32)),
    )
    np.testing.assert_array_equal(data.load_client('b')[0], _pair(2)[0])

  def test_unknown_client(self):
    data = client_data.InMemoryClientData(_clients(2, 2, 2, 2))
    with self.assertRaisesRegex(errors.InputError, "client .*'x'"):
      data.load_client('x')

  def test_bad_clients_are_named(self):
    bad_dtype = (_pair(2)[0].astype(np.float64), _pair(2)[1])
    for client, regex in (
      (_pair(0), "'z'"),
      (bad_dtype, "'z' .*as .*first client"),
    ):
      with self.assertRaisesRegex(errors.InputError, regex):
        client_data.InMemoryClientData({'a': _pair(2), 'z': client})

  def test_clients_without_examples_can_be_allowed(self):
    data = client_data.InMemoryClientData(_clients(0, 2), allow_empty=True)
    self.assertEmpty(data.load_client('client_0')[1])

  def test_no_clients_and_odd_ids(self):
    with self.assertRaisesRegex(errors.InputError, 'mapping from .*list'):
      client_data.InMemoryClientData([np.ones(3)])
    with self.assertRaisesRegex(
      errors.InputError, 'at least one client, got none'
    ):
      client_data.InMemoryClientData({})
    with self.assertRaisesRegex(errors.InputError, 'a string, got 7'):
      client_data.InMemoryClientData({7: _pair(2)})


class SelectTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._data = client_data.InMemoryClientData(_clients(1, 2, 3))

  def test_view_holds_the_selected_clients(self):
    view = self._data.select(['client_2', 'client_0'])
    self.assertEqual(view.client_ids, ('client_0', 'client_2'))
    self.assertEqual(view.element_spec, self._data.element_spec)
    self.assertLen(view.load_client('client_2')[1], 3)
    with self.assertRaisesRegex(errors.InputError, "client .*'client_1'"):
      view.load_client('client_1')
    self.assertEqual(self._data.select(iter(())).client_ids, ())

  def test_unknown_and_duplicate_ids(self):
    with self.assertRaisesRegex(errors.InputError, "client .*'nobody'"):
      self._data.select(['client_0', 'nobody'])
    with self.assertRaisesRegex(errors.InputError, "'client_1' 2 times"):
      self._data.select(['client_1', 'client_0', 'client_1'])


class SplitClientsTest(parameterized.TestCase):
  @settings(max_examples=60)
  @given(
    n=st.integers(5, 60),
    validation=st.floats(0, 0.4),
    test=st.floats(0, 0.4),
    seed=st.integers(0, 1000),
  )
  def test_parts_are_disjoint_and_complete(self, n, validation, test, seed):
    data = client_data.InMemoryClientData(_clients(*[1] * n))
    parts = client_data.split_clients(
      data, validation_fraction=validation, test_fraction=test, seed=seed
    )
    ids = [client_id for part in parts for client_id in part.client_ids]
    self.assertLen(ids, n)
    self.assertEqual(tuple(sorted(ids)), data.client_ids)
    for part, fraction in zip(parts[1:], (validation, test)):
      self.assertEqual(bool(part.client_ids), fraction > 0)
      self.assertLessEqual(abs(len(part.client_ids) - fraction * n), 1)
    self.assertNotEmpty(parts[0].client_ids)

  def test_split_is_stable_and_differs_by_seed(self):
    data = client_data.InMemoryClientData(_clients(*[1] * 40))

    def test_ids(seed):
      return client_data.split_clients(
        data, validation_fraction=0.2, test_fraction=0.2, seed=seed
      )[2].client_ids

    self.assertEqual(test_ids(3), test_ids(3))
    self.assertNotEqual(test_ids(3), test_ids(4))

  @parameterized.parameters(-0.1, 1, 1.5, float('nan'))
  def test_fractions_are_checked(self, fraction):
    data = client_data.InMemoryClientData(_clients(1, 1, 1))
    for name in ('validation_fraction', 'test_fraction'):
      fractions = {'validation_fraction': 0, 'test_fraction': 0, name: fraction}
      with self.assertRaisesRegex(errors.InputError, f'^{name} must be'):
        client_data.split_clients(data, seed=0, **fractions)

  def test_too_few_clients(self):
    data = client_data.InMemoryClientData(_clients(1, 1))
    with self.assertRaisesRegex(
      errors.InputError, r'2 client\(s\) cannot give 1 .* 1 for test'
    ):
      client_data.split_clients(
        data, validation_fraction=0.1, test_fraction=0.1, seed=0
      )
