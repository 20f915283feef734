# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the digits task."""

from fedfish_tff import errors
from tasks.images import digits
from tests import tolerance
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np
from sklearn import datasets as sklearn_datasets
import tensorflow as tf


def _splits(task):
  return task.train, task.validation, task.test


class DigitsTest(parameterized.TestCase):
  @parameterized.parameters(
    dict(), dict(num_clients=100, alpha=0.01), dict(num_clients=5, alpha=100.0)
  )
  def test_clients_divide_all_images(self, **options):
    task = digits.create_task(seed=0, **options)
    clients = usable_tasks.load_clients(*_splits(task)).values()
    self.assertLen(clients, options.get('num_clients', 40))
    x, y = usable_tasks.pool(*_splits(task))
    images, labels = sklearn_datasets.load_digits(return_X_y=True)
    found = np.column_stack([x * 16, y])
    expected = np.column_stack([images, labels])
    np.testing.assert_array_equal(
      found[np.lexsort(found.T)], expected[np.lexsort(expected.T)]
    )
    self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))
    self.assertEqual((x.min(), x.max()), (0, 1))
    self.assertGreaterEqual(min(len(client[1]) for client in clients), 8)

  def test_default_clients_differ_in_labels(self):
    task = digits.create_task(seed=0)
    clients = usable_tasks.load_clients(task.train).values()
    labels_held = [len(np.unique(y)) for _, y in clients]
    self.assertLess(np.mean(labels_held), 6)

  def test_the_partition_does_not_depend_on_the_model(self):
    a = digits.create_task(seed=0)
    b = digits.create_task(seed=0, hidden_units=(8, 8))
    for first, second in zip(_splits(a), _splits(b)):
      self.assertEqual(first.client_ids, second.client_ids)
    shapes = [w.shape for w in b.create_model().initial_weights[0]]
    self.assertEqual(shapes, [(64, 8), (8,), (8, 8), (8,), (8, 10), (10,)])

  @parameterized.parameters((64,), (8, 5))
  def test_features_are_the_model_s_last_hidden_layer(self, *hidden_units):
    task = digits.create_task(seed=3, hidden_units=list(hidden_units))
    features, model = task.feature_map, task.create_model()
    self.assertEqual(features.num_features, hidden_units[-1])
    *inner, kernel, bias = model.initial_weights[0]
    tolerance.assert_same(features.initial_weights, inner)
    x, _ = task.train.load_client(task.train.client_ids[0])
    phi = features(features.initial_weights, tf.constant(x))
    logits = model.predict_on_batch(
      model.initial_weights, tf.constant(x), training=False
    )
    # Sums of a few dozen float32 products.
    np.testing.assert_allclose(phi @ kernel + bias, logits, rtol=0, atol=1e-5)

  def test_without_hidden_layers_the_features_are_the_pixels(self):
    task = digits.create_task(seed=0, hidden_units=())
    x, _ = task.train.load_client(task.train.client_ids[0])
    np.testing.assert_array_equal(task.feature_map((), tf.constant(x)), x)

  @parameterized.parameters(
    (dict(num_clients=225), '1797 examples cannot give 225 clients'),
    (dict(num_clients=2), r'2 client\(s\) cannot give'),
  )
  def test_bad_options(self, options, regex):
    with self.assertRaisesRegex(errors.InputError, regex):
      digits.create_task(seed=0, **options)
