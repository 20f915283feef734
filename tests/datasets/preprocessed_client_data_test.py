# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of preprocessing when a client is read."""

from fedfish_tff import errors
from fedfish_tff.datasets import client_data
from fedfish_tff.datasets import preprocessed_client_data

from absl.testing import absltest
import numpy as np
import tensorflow as tf


def _data():
  return client_data.InMemoryClientData(
    {
      c: (np.full([n, 2, 2], i, np.uint8), np.arange(n))
      for i, (c, n) in enumerate({'a': 2, 'b': 3}.items())
    }
  )


class PreprocessedClientDataTest(absltest.TestCase):
  def test_applies_the_function_to_whole_clients(self):
    data = preprocessed_client_data.PreprocessedClientData(
      _data(), lambda e: (e[0].reshape(len(e[0]), -1) / 2, e[1])
    )
    self.assertEqual(data.client_ids, ('a', 'b'))
    self.assertEqual(
      data.element_spec,
      (tf.TensorSpec([4], tf.float64), tf.TensorSpec([], tf.int64)),
    )
    x, y = data.load_client('b')
    np.testing.assert_array_equal(x, np.full([3, 4], 0.5))
    np.testing.assert_array_equal(y, [0, 1, 2])

  def test_results_are_validated(self):
    def only_ones_are_infinite(examples):
      x, y = examples
      return np.where(x == 1, np.inf, 0.0), y

    data = preprocessed_client_data.PreprocessedClientData(
      _data(), only_ones_are_infinite
    )
    data.load_client('a')
    with self.assertRaisesRegex(errors.InputError, "'x' of client 'b'.*12 NaN"):
      data.load_client('b')
    shorter = preprocessed_client_data.PreprocessedClientData(
      _data(), lambda e: (e[0][1:], e[1])
    )
    with self.assertRaisesRegex(errors.InputError, "client 'a' differ in len"):
      shorter.load_client('a')
    emptied = preprocessed_client_data.PreprocessedClientData(
      _data(), lambda e: (e[0][:0], e[1][:0])
    )
    with self.assertRaisesRegex(errors.InputError, "'a' has no examples"):
      emptied.load_client('a')

  def test_input_errors_get_the_clients_name(self):
    def refuse(examples):
      raise errors.InputError('labels of 0 to 9 were expected.')

    data = preprocessed_client_data.PreprocessedClientData(_data(), refuse)
    with self.assertRaisesRegex(errors.InputError, "^Client 'a': labels of 0"):
      data.load_client('b')

  def test_no_clients(self):
    data = preprocessed_client_data.PreprocessedClientData(
      _data().select([]), lambda e: e
    )
    self.assertEqual(data.client_ids, ())
    with self.assertRaisesRegex(errors.InputError, 'without clients'):
      _ = data.element_spec
