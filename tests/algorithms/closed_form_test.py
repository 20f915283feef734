# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contract of closed-form methods: one test that runs all of them."""

from tests import closed_form_builders
from tests import tolerance

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def _client(number, seed, value=None):
  rng = np.random.default_rng(seed)
  x = rng.normal(size=[number, 4]).astype(np.float32)
  if value is not None:
    x[-1, 0] = value
  y = rng.integers(0, closed_form_builders.NUM_CLASSES, number).astype(np.int32)
  return tf.data.Dataset.from_tensor_slices((x, y)).batch(4)


class ClosedFormTest(parameterized.TestCase):
  def _assert_same(self, process, state, expected):
    tolerance.assert_same(
      process.get_model_weights(state).trainable,
      process.get_model_weights(expected).trainable,
    )

  @parameterized.parameters(*closed_form_builders.BUILDERS)
  def test_contract(self, builder):
    process = closed_form_builders.BUILDERS[builder]()
    clients = [_client(9, 0), _client(6, 1)]
    start = process.initialize()
    state, metrics = process.next(start, clients)
    with self.subTest('is a learning process with its local training'):
      self.assertIsInstance(process, tff.learning.templates.LearningProcess)
      data_type = process.next.type_signature.parameter[1]
      self.assertEqual(
        process.local_training.type_signature.parameter[1], data_type.member
      )
      self.assertTrue(
        process.get_model_weights.type_signature.result.is_assignable_from(
          process.local_training.type_signature.result
        )
      )
    with self.subTest('before any data the classifier is zero'):
      *extractor, kernel, bias = process.get_model_weights(start).trainable
      self.assertFalse(np.any(kernel) or np.any(bias))
      tolerance.assert_same(
        extractor, closed_form_builders.FEATURE_MAP.initial_weights
      )
    with self.subTest('a round solves and reports'):
      self.assertTrue(np.any(process.get_model_weights(state).trainable[-2]))
      self.assertEqual(metrics['client_work']['train']['num_examples'], 15)
      self.assertEqual(metrics['client_work']['excluded_clients'], 0)
      self.assertEqual(metrics['finalizer']['total_examples'], 15)
    with self.subTest('a round repeats bit for bit'):
      self._assert_same(process, process.next(start, clients).state, state)
    with self.subTest('clients of no use change nothing'):
      broken = _client(5, 2, np.nan)
      more, metrics = process.next(state, [broken, _client(0, 3)])
      self.assertEqual(metrics['client_work']['excluded_clients'], 1)
      self.assertEqual(metrics['client_work']['train']['num_examples'], 0)
      self.assertEqual(metrics['finalizer']['total_examples'], 15)
      self._assert_same(process, more, state)
      weights = process.get_model_weights(state)
      told = [
        bool(process.update_is_finite(weights, c)) for c in (*clients, broken)
      ]
      self.assertEqual(told, [True, True, False])
    with self.subTest('an empty cohort changes nothing'):
      self._assert_same(process, process.next(state, []).state, state)
    with self.subTest('weights that are set come back, and training starts'):
      zero = process.set_model_weights(state, process.get_model_weights(start))
      self._assert_same(process, zero, start)
      self._assert_same(process, process.next(zero, clients).state, state)
