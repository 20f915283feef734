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

  def _create(self, seed=0, **options):
    return arrays.create_task(seed=seed, data_dir=str(self.folder), **options)

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

  def test_the_seed_is_of_held_out_clients_and_weights(self):
    self._save_clients(num_clients=40)
    first, again, other = (
      (task.test.client_ids, task.create_model().initial_weights[0][0])
      for task in map(self._create, (0, 0, 1))
    )
    self.assertEqual(first[0], again[0])
    self.assertNotEqual(first[0], other[0])
    np.testing.assert_array_equal(first[1], again[1])
    self.assertGreater(np.abs(first[1] - other[1]).max(), 1e-3)

  def test_features_are_flattened_in_order_and_not_scaled(self):
    self._save_clients(num_clients=3)
    task = self._create()
    client_id = task.train.client_ids[0]
    with np.load(self.folder / f'{client_id}.npz') as saved:
      expected_x, expected_y = saved['x'], saved['y']
    x, y = task.train.load_client(client_id)
    np.testing.assert_array_equal(x, expected_x.reshape(len(x), 12))
    np.testing.assert_array_equal(y, expected_y)

  def test_pictures_have_a_convolutional_network(self):
    rng = np.random.default_rng(0)
    for i in range(4):
      x = rng.integers(0, 256, [5, 16, 17, 3]).astype(np.uint8)
      self._save(f'c{i}', x, self._labels(rng, 5))
    task = self._create(scale=255.0)
    kernel, *_ = task.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (5, 5, 3, 16))
    self.assertLen(task.tensor_names, 8)
    usable_tasks.check(task)
    client_id = task.train.client_ids[0]
    with np.load(self.folder / f'{client_id}.npz') as saved:
      expected = saved['x']
    x, _ = task.train.load_client(client_id)
    np.testing.assert_allclose(x, expected / 255, rtol=1e-6)
    x, _ = self._create(standardize=True).train.load_client(client_id)
    self.assertEqual(x.shape, expected.shape)
    flat = self._create(model='perceptron', hidden_units=(7,))
    kernel, *_ = flat.create_model().initial_weights[0]
    self.assertEqual(kernel.shape, (16 * 17 * 3, 7))
    with self.assertRaisesRegex(errors.InputError, r'left out .*, got \(7,\)'):
      self._create(hidden_units=(7,))

  @parameterized.parameters(
    ((16, 16, 4), True), ((15, 40, 4), False), ((16, 16, 5), False)
  )
  def test_which_pictures_have_one(self, shape, expected):
    for i in range(4):
      self._save(f'c{i}', np.ones([2, *shape], np.uint8), np.array([0, 1]))
    self.assertEqual(
      'by a convolutional network' in self._create().description, expected
    )

  def test_a_convolutional_network_for_grey_pictures_on_request(self):
    self._save_clients()
    x, _ = self._create(model='cnn').train.load_client('c2')
    self.assertEqual(x.shape, (6, 4, 3, 1))
    with self.assertRaisesRegex(errors.InputError, 'got cnn .* regression'):
      self._create(model='cnn', kind='regression')

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
    self.assertEndsWith(task.description, '; regression, 3 targets')
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
      errors.InputError, "Client .*array 'y' .*labels of 0 to 1"
    ):
      for client_id in too_few.train.client_ids:
        too_few.train.load_client(client_id)

  @parameterized.parameters(
    np.int32(2 * 10**9), np.int64(10**12), np.uint64(2**64 - 1), np.int64(-1)
  )
  def test_labels_that_are_no_classes(self, label):
    x = np.ones([2, 4, 3], np.uint8)
    for i in range(3):
      self._save(f'c{i}', x, np.array([0, label], label.dtype))
    with self.assertRaisesRegex(
      errors.InputError,
      f"Array 'y' of client 'c.' holds the label {label};.*task.kind=regression",
    ):
      self._create()
    self.assertEqual(self._create(kind='regression').metric, 'mse')

  @parameterized.parameters(
    (np.int64([0, 0]), 'auto'),
    (np.int64([5, 5]), 'auto'),
    (np.float64([0, 0]), 'classification'),
    (np.eye(3)[[1, 1]], 'classification'),
  )
  def test_labels_of_one_class(self, y, kind):
    self._save_labels(*[y] * 4)
    label = int(y[0].argmax() if y.ndim > 1 else y[0])
    with self.assertRaisesRegex(
      errors.InputError,
      f"'y' must hold labels of two classes or more, got {label} alone",
    ):
      self._create(kind=kind)
    # Other clients than these may have the other classes.
    usable_tasks.check(self._create(kind=kind, num_classes=6))
    with self.assertRaisesRegex(errors.InputError, '2 or more, or 0 .* got 1'):
      self._create(kind=kind, num_classes=1)

  def test_values_beyond_float32(self):
    for i in range(3):
      self._save(f'c{i}', np.full([4, 2], 1e300), np.arange(4))
    task = self._create()
    with self.assertRaisesRegex(errors.InputError, "'x' .* 8 NaN or infinite"):
      task.train.load_client(task.train.client_ids[0])

  @parameterized.parameters((0, 1, 'x'), (2, 0, 'y'))
  def test_examples_without_numbers(self, width, targets, name):
    for i in range(3):
      self._save(f'c{i}', np.ones([4, width]), np.ones([4, targets]))
    with self.assertRaisesRegex(
      errors.InputError, rf"'{name}' of client 'c0' .* got the shape \[0\]"
    ):
      self._create(standardize=True)

  def test_clients_without_examples(self):
    self._save_clients()
    self._save('z', np.ones([0, 4, 3], np.uint8), np.ones([0], np.int64))
    with self.assertRaisesRegex(errors.InputError, "'z' .*skip_empty_clients"):
      self._create()
    usable_tasks.check(self._create(skip_empty_clients=True))

  def test_bad_clients_are_found_when_classes_are_counted(self):
    self._save_clients()
    self._save('z', np.ones([2, 3], np.uint8), np.ones([2], np.int64))
    with self.assertRaisesRegex(errors.InputError, "'x' of client 'z' .*uint8"):
      self._create()

  def test_a_scale_of_standardized_features(self):
    self._save_clients()
    with self.assertRaisesRegex(errors.InputError, 'scale must be 1.0, .* 255'):
      self._create(scale=255, standardize=True)

  def test_odd_labels(self):
    self._save('a', np.ones([2, 3]), np.array(['cat', 'dog']))
    with self.assertRaisesRegex(errors.InputError, "'y' .*'a' .* got string"):
      self._create()
    for i in range(3):
      self._save(f'c{i}', np.ones([2, 3]), np.ones([2]))
    (self.folder / 'a.npz').unlink()
    with self.assertRaisesRegex(errors.InputError, 'num_classes .* got 3 with'):
      self._create(num_classes=3)
    for i in range(3):
      self._save(f'c{i}', np.ones([2, 3]), np.ones([2, 2], np.int64))
    with self.assertRaisesRegex(errors.InputError, r'one class .*int64\[2\]'):
      self._create()

  def _save_labels(self, *labels):
    for i, y in enumerate(labels):
      self._save(f'c{i}', np.linspace(0, 1, 2 * len(y)).reshape(-1, 2), y)

  def test_warns_of_negative_classes_and_narrow_features(self):
    for i in range(10):
      x = 1.7e12 + np.arange(4.0).reshape(-1, 1)
      self._save(f'c{i}', x, np.array([-1.0, 1.0, 1.0, -1.0]))
    features, labels = self._create().warnings
    self.assertIn('task.standardize=True', features)
    self.assertRegex(
      labels, r'whole numbers \(-1, 1\), .* if they count from 0'
    )
    standardized = self._create(standardize=True)
    x, _ = standardized.train.load_client(standardized.train.client_ids[0])
    self.assertLen(np.unique(x), 4)

  def test_says_what_it_has_found(self):
    self._save_clients()
    task = self._create(scale=255)
    self.assertRegex(
      task.description,
      r'7 train, 1 validation, 2 test clients of 4 to 13 examples \(85 in all\); '
      r'features uint8\[4, 3\] of 0 to 255; classification, 5 classes',
    )
    self.assertEmpty(task.warnings)

  def test_scale(self):
    self._save_clients()
    (warning,) = self._create().warnings
    self.assertIn('task.scale=255', warning)
    plain, scaled = self._create(), self._create(scale=255)
    client_id = plain.train.client_ids[0]
    np.testing.assert_allclose(
      scaled.train.load_client(client_id)[0],
      plain.train.load_client(client_id)[0] / 255,
      rtol=1e-6,
    )

  @parameterized.parameters(False, True)
  def test_standardize(self, regression):
    rng = np.random.default_rng(0)
    for i in range(10):
      x = rng.normal(i, 1 + i, [5 + i, 4]) * [1e6, 1, 1e-6, 0] + [0, 5, 0, 7]
      self._save(f'c{i}', x, self._labels(rng, 5 + i, regression=regression))
    task = self._create(standardize=True)
    self.assertEmpty(task.warnings)
    self.assertIn(', standardized;', task.description)

    def saved(ids):
      return [
        np.load(self.folder / f'{client_id}.npz')['x'] for client_id in ids
      ]

    pooled = np.concatenate(saved(task.train.client_ids))
    deviation = np.where(pooled.std(axis=0) > 1e-12, pooled.std(axis=0), 1)
    for clients in (task.train, task.test):
      for client_id, x in zip(clients.client_ids, saved(clients.client_ids)):
        np.testing.assert_allclose(
          clients.load_client(client_id)[0],
          (x - pooled.mean(axis=0)) / deviation,
          rtol=1e-6,
          atol=1e-6,
        )
    usable_tasks.check(task)

  @parameterized.parameters(np.inf, np.nan, 1e200)
  def test_values_that_cannot_be_standardized(self, value):
    for i in range(3):
      self._save(f'c{i}', np.full([2, 1], value), np.zeros(2, np.int64))
    with self.assertRaisesRegex(errors.InputError, "'x' of client 'c.' must"):
      self._create(standardize=True)

  @parameterized.named_parameters(
    ('whole_floats', [np.array([0.0, 1.0, 2.0])] * 5),
    ('one_hot_floats', [np.eye(3)] * 5),
    ('one_hot_integers', [np.eye(3, dtype=np.int64)] * 5),
  )
  def test_kind_decides_where_labels_do_not(self, labels):
    self._save_labels(*labels)
    if labels[0].dtype == np.float64:
      (warning,) = self._create().warnings
      self.assertIn('task.kind=classification', warning)
      self.assertEqual(self._create().metric, 'mse')
    else:
      with self.assertRaisesRegex(errors.InputError, 'kind=classification'):
        self._create()
    for num_classes in (0, 3):
      task = self._create(kind='classification', num_classes=num_classes)
      self.assertIn('; features float64[2] of 0 to 1;', task.description)
      self.assertEqual(task.metric, 'accuracy')
      _, y = task.train.load_client(task.train.client_ids[0])
      np.testing.assert_array_equal(y, [0, 1, 2])
      usable_tasks.check(task)

  def test_labels_between_classes(self):
    self._save_labels(*[np.array([0.0, 1.5])] * 5)
    self.assertEmpty(self._create().warnings)
    with self.assertRaisesRegex(errors.InputError, 'must hold one class'):
      self._create(kind='classification')

  def test_a_client_that_was_not_looked_at(self):
    self._save_labels(*[np.array([0.0, 1.0])] * 400)
    task = self._create(kind='classification', num_classes=2)
    self.assertRegex(task.description, r'\(520 in the 260 looked at\)')
    bad = task.train.client_ids[1]
    np.savez(self.folder / f'{bad}.npz', x=np.ones([2, 2]), y=[0, 1.5])
    with self.assertRaisesRegex(errors.InputError, f'{bad}.*one class per'):
      task.train.load_client(bad)

  def _save_own_test(self, without=()):
    """Saves ten clients, with x_test and y_test but for some."""
    clients = {}
    for i in range(10):
      x, y = np.full([5, 2], i / 10), np.arange(5) % 2
      own = dict(x_test=x[:3] + 0.05, y_test=np.array([2, 1, 0]))
      clients[f'c{i}'] = own
      np.savez(
        self.folder / f'c{i}.npz', x=x, y=y, **({} if i in without else own)
      )
    return clients

  def test_own_test_data(self):
    expected = self._save_own_test(without=(3,))
    task = self._create()
    del expected['c3']
    self.assertEqual(list(task.own_test.client_ids), list(expected))
    for client_id, own in expected.items():
      x, y = task.own_test.load_client(client_id)
      np.testing.assert_allclose(x, own['x_test'], rtol=1e-6)
      np.testing.assert_array_equal(y, own['y_test'])
    # A class of test data alone is one of the model's.
    self.assertEqual(task.create_model().initial_weights[0][-1].shape, (3,))
    self.assertRegex(
      task.description,
      r'clients of 5 examples \(50 in all\); own test data at 9 of 3 '
      r'examples \(27 in all\);',
    )
    self.assertRegex(task.warnings[0], 'test data of clients, have .* of 2,')
    usable_tasks.check(task)
    task = self._create(validation_fraction=0.0)
    self.assertEmpty(task.validation.client_ids)

  def test_own_test_data_are_prepared_alike(self):
    self._save_own_test()
    task = self._create(standardize=True)
    pooled = np.concatenate(
      [np.load(self.folder / f'{c}.npz')['x'] for c in task.train.client_ids]
    )
    own = np.load(self.folder / 'c0.npz')['x_test']
    np.testing.assert_allclose(
      task.own_test.load_client('c0')[0],
      (own - pooled.mean(axis=0)) / pooled.std(axis=0),
      rtol=1e-5,
    )

  def test_each_split_needs_own_test_data(self):
    self._save_own_test(without=range(1, 10))
    with self.assertRaisesRegex(
      errors.InputError, 'clients must have test data of its own, which 1 cl'
    ):
      self._create()

  def test_no_folder(self):
    with self.assertRaisesRegex(errors.InputError, 'must have a data_dir'):
      arrays.create_task(seed=0)
    with self.assertRaisesRegex(
      errors.InputError, "'/nowhere' .*cannot be read"
    ):
      arrays.create_task(seed=0, data_dir='/nowhere')
