# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of clients from tables."""

from fedfish_tff import datasets
from fedfish_tff import errors

from absl.testing import parameterized
import numpy as np
import pyarrow as pa

_COLUMNS = {
  'user': ['b', 'a', 'b', 'c'],
  'age': [1, 2, 3, 4],
  'height': [0.5, 1.5, 2.5, 3.5],
  'city': ['Rome', 'Bonn', 'Rome', 'Köln'],
  'pixels': [[1, 2], [3, 4], [5, 6], [7, 8]],
  'label': [0, 1, 1, 0],
  'score': [0.1, 0.2, 0.3, 0.4],
  'odd': ['text', None, 'text', 'text'],
  'ragged': [[1], [1, 2], [1], [1]],
  'huge': [2**40, 1, 2, 3],
  'low': [1, 2, 3, -(2**40)],
}
# Columns that Arrow cannot hold.
_ODD_COLUMNS = {
  'mixed': [1, '1', 2, 2],
  'flags': [True, 1, False, 0],
  'broken': ['\ud800', 'a', 'a', 'a'],
  'words': [['a'], ['b'], ['c'], ['d']],
  'longer': [1, 2, 3, 4, 5],
}


def _object_arrays(columns):
  """As pandas has what is no number."""
  arrays = {}
  for name, values in columns.items():
    arrays[name] = np.empty(len(values), object)
    arrays[name][:] = values
  return arrays


_TABLES = (
  ('arrow', pa.table(_COLUMNS)),
  ('arrays', _object_arrays(_COLUMNS)),
  (
    'chunks',
    pa.concat_tables([pa.table(_COLUMNS)[:3], pa.table(_COLUMNS)[3:]]),
  ),
)
_LISTS = {**_COLUMNS, **_ODD_COLUMNS}


class GroupTableTest(parameterized.TestCase):
  def _assert_client(self, clients, client_id, x, y):
    examples = clients.load_client(client_id)
    for found, expected in zip(examples, (x, y), strict=True):
      self.assertEqual(found.dtype, expected.dtype)
      np.testing.assert_array_equal(found, expected)

  @parameterized.named_parameters(*_TABLES)
  def test_columns_become_features_of_each_client(self, table):
    clients = datasets.group_table(
      table, by='user', x=['age', 'height'], y='label'
    )
    self.assertEqual(clients.client_ids, ('a', 'b', 'c'))
    self._assert_client(
      clients, 'b', np.float32([[1, 0.5], [3, 2.5]]), np.int32([0, 1])
    )
    self._assert_client(clients, 'c', np.float32([[4, 3.5]]), np.int32([0]))

  @parameterized.named_parameters(*_TABLES)
  def test_columns_become_targets_of_a_regression(self, table):
    for y, expected in (
      (['score'], np.float32([[0.1], [0.3]])),
      (['score', 'age'], np.float32([[0.1, 1], [0.3, 3]])),
    ):
      clients = datasets.group_table(table, by='user', x=['height'], y=y)
      self._assert_client(clients, 'b', np.float32([[0.5], [2.5]]), expected)

  @parameterized.named_parameters(*_TABLES)
  def test_one_column_of_lists_or_texts(self, table):
    clients = datasets.group_table(table, by='user', x='pixels', y='score')
    self._assert_client(
      clients, 'b', np.int32([[1, 2], [5, 6]]), np.float32([0.1, 0.3])
    )
    clients = datasets.group_table(
      table, by='label', x='city', y='age', min_examples=2
    )
    self.assertEqual(clients.client_ids, ('0', '1'))
    self._assert_client(
      clients,
      '0',
      np.array([b'Rome', 'Köln'.encode()], object),
      np.int32([1, 4]),
    )

  @parameterized.named_parameters(
    ('text', {'x': ['age', 'city']}, "'city' of the table .*texts"),
    ('labels', {'y': 'city'}, "'city' of the table .*texts"),
    ('no_column', {'x': 'weight'}, "no column 'weight'"),
    ('odd', {'x': 'odd'}, "'odd' of the table .*object"),
    ('ragged', {'x': 'ragged'}, "'ragged' of the table .*object"),
    ('lists', {'x': ['pixels', 'age']}, r'shape \[2\]'),
    ('huge', {'y': 'huge'}, 'integers of 32 bits.*1099511627776'),
    ('low', {'y': 'low'}, 'integers of 32 bits.*-1099511627776'),
    ('no_keys', {'by': 'score'}, "'score' of the table: .* got float64"),
    ('no_features', {'x': []}, r'x must be the name of one .* got \[\]'),
    ('no_targets', {'y': ()}, r'y must be the name of one .* got \(\)'),
  )
  def test_what_cannot_be_used_is_named(self, changed, message):
    for _, table in _TABLES[:2]:
      with self.assertRaisesRegex(errors.InputError, message):
        datasets.group_table(
          table, **{'by': 'user', 'x': 'age', 'y': 'label', **changed}
        )

  @parameterized.named_parameters(
    ('number_and_text', {'by': 'mixed'}, "'mixed' of the table .*object"),
    ('true_and_one', {'by': 'flags'}, "'flags' of the table .*object"),
    ('no_unicode', {'by': 'broken'}, "'broken' of the table .*object"),
    ('nested_texts', {'x': 'words'}, "'words' of the table .*numbers"),
    ('ragged', {'x': 'ragged'}, "'ragged' of the table .*object"),
    ('longer', {'x': 'longer'}, "'longer' .* 4 rows, as 'user' has, got 5"),
  )
  def test_odd_columns_are_named(self, changed, message):
    for table in (_LISTS, _object_arrays(_LISTS)):
      with self.assertRaisesRegex(errors.InputError, message):
        datasets.group_table(
          table, **{'by': 'user', 'x': 'age', 'y': 'label', **changed}
        )

  def test_texts_that_end_in_null_characters(self):
    texts = ['a', 'a\0', 'a', 'a\0']
    for table in (pa.table({**_COLUMNS, 't': texts}), {**_COLUMNS, 't': texts}):
      clients = datasets.group_table(table, by='t', x='t', y='label')
      self.assertEqual(clients.client_ids, ('a', 'a\0'))
      self._assert_client(
        clients, 'a\0', np.array([b'a\0'] * 2, object), np.int32([1, 0])
      )
