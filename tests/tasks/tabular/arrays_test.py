# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the task on a folder of arrays."""

from fedfish_tff import errors
from tasks.tabular import arrays
from tests import temporary_folders
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np


class ArraysTest(temporary_folders.TestCase):
  def _save(self, client_id, x, y):
    np.savez(self.folder / f'{client_id}.npz', x=x, y=y)

  def _save_clients(self, num_clients=10, **kwargs):
    rng = np.random.default_rng(0)
    for i in range(num_clients):
      n = 4 + i
      x = rng.integers(0, 256, [n, 4, 3]).astype(np.uint8)
      self._save(f'c{i}', x, self._labels(rng, n, **kwargs))

  def _labels(self, rng, n, regression=False):
    if regression:
      return rng.normal(size=n)
    return rng.integers(0, 5, n)

  def _create(self, **options):
    return arrays.create_task(seed=0, data_dir=str(self.folder), **options)

  def test_classification(self):
    self._save_clients()
    self._save('c_top', np.ones([2, 4, 3], np.uint8), np.array([0, 6]))
    task = self._create(hidden_units=(8,))
    self.assertEqual((task.metric, task.higher_is_better), ('accuracy', True))
    self.assertLen(task.test.client_ids, 2)
    self.assertLen(task.validation.client_ids, 1)
    weights = task.create_model().initial_weights[0]
    self.assertEqual([w.shape for w in weights[::2]], [(12, 8), (8, 7)])
    usable_tasks.check(task)

  def test_features_are_flattened_in_order_and_not_scaled(self):
    self._save_clients(num_clients=3)
    task = self._create()
    client_id = task.train.client_ids[0]
    with np.load(self.folder / f'{client_id}.npz') as saved:
      expected_x, expected_y = saved['x'], saved['y']
    x, y = task.train.load_client(client_id)
    np.testing.assert_array_equal(x, expected_x.reshape(len(x), 12))
    np.testing.assert_array_equal(y, expected_y)

  def test_regression(self):
    self._save_clients(regression=True)
    task = self._create()
    self.assertEqual((task.metric, task.higher_is_better), ('mse', False))
    usable_tasks.check(task)
    self.assertEqual(
      task.train.load_client(task.train.client_ids[0])[1].shape[1:], (1,)
    )

  def test_regression_with_several_targets(self):
    for i in range(3):
      self._save(f'c{i}', np.ones([4, 2]), np.ones([4, 3]))
    task = self._create(hidden_units=())
    self.assertEqual(
      [w.shape for w in task.create_model().initial_weights[0]], [(2, 3), (3,)]
    )
    usable_tasks.check(task)

  def test_given_number_of_classes(self):
    self._save_clients()
    task = self._create(num_classes=9, hidden_units=())
    self.assertEqual(task.create_model().initial_weights[0][1].shape, (9,))
    too_few = self._create(num_classes=2)
    with self.assertRaisesRegex(
      errors.InputError, "^Client 'c.': array 'y' holds .*labels of 0 to 1 were"
    ):
      for client_id in too_few.train.client_ids:
        too_few.train.load_client(client_id)

  def test_negative_labels(self):
    self._save_clients()
    self._save('a', np.ones([2, 4, 3], np.uint8), np.array([0, -1]))
    task = self._create(validation_fraction=0, test_fraction=0)
    with self.assertRaisesRegex(
      errors.InputError, r"'a': array 'y' holds 1 label\(s\) such as -1"
    ):
      task.train.load_client('a')

  @parameterized.parameters(
    np.int32(2 * 10**9), np.int64(10**12), np.uint64(2**64 - 1)
  )
  def test_labels_that_are_no_classes(self, label):
    x = np.ones([2, 4, 3], np.uint8)
    for i in range(3):
      self._save(f'c{i}', x, np.array([0, label], label.dtype))
    with self.assertRaisesRegex(
      errors.InputError, f"Array 'y' of client 'c0' holds the label {label};"
    ):
      self._create()

  def test_values_beyond_float32(self):
    for i in range(3):
      self._save(f'c{i}', np.full([4, 2], 1e300), np.zeros(4, np.int64))
    task = self._create()
    with self.assertRaisesRegex(errors.InputError, "'x' .* 8 NaN or infinite"):
      task.train.load_client(task.train.client_ids[0])

  def test_clients_without_examples(self):
    self._save_clients()
    self._save('z', np.ones([0, 4, 3], np.uint8), np.ones([0], np.int64))
    with self.assertRaisesRegex(errors.InputError, "'z' has no examples"):
      self._create()
    usable_tasks.check(self._create(skip_empty_clients=True))

  def test_bad_clients_are_found_when_classes_are_counted(self):
    self._save_clients()
    self._save('z', np.ones([2, 3], np.uint8), np.ones([2], np.int64))
    with self.assertRaisesRegex(errors.InputError, "'x' of client 'z' .*uint8"):
      self._create()

  @parameterized.parameters(
    (dict(num_classes=-1), 'num_classes is -1'),
    (dict(cache_megabytes=0), 'cache_megabytes is 0'),
    (dict(test_fraction=-0.5), 'test_fraction is -0.5'),
  )
  def test_bad_options(self, options, regex):
    self._save_clients()
    with self.assertRaisesRegex(errors.InputError, regex):
      self._create(**options)

  def test_odd_labels(self):
    self._save('a', np.ones([2, 3]), np.array(['cat', 'dog']))
    with self.assertRaisesRegex(errors.InputError, "'y' .*'a' holds string"):
      self._create()
    self._save('a', np.ones([2, 3]), np.ones([2, 2], np.int64))
    with self.assertRaisesRegex(errors.InputError, r"'y' .*\[2\] integers"):
      self._create()
    self._save('a', np.ones([2, 3]), np.ones([2]))
    with self.assertRaisesRegex(errors.InputError, 'num_classes is 3, but'):
      self._create(num_classes=3)

  def test_no_folder(self):
    with self.assertRaisesRegex(errors.InputError, 'no data_dir'):
      arrays.create_task(seed=0)
    with self.assertRaisesRegex(errors.InputError, "'/nowhere' cannot be read"):
      arrays.create_task(seed=0, data_dir='/nowhere')
