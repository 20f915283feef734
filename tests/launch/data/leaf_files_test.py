# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of LEAF's JSON files."""

import json

from fedfish_tff import errors
from launch.data import labelled_dataset
from launch.data import leaf_files
from launch.data import table_files
from tests import temporary_folders

from absl.testing import parameterized
import numpy as np


def _content(**users):
  """Returns the content of a file with users' x and y."""
  return {
    'users': list(users),
    'num_samples': [len(y) for _, y in users.values()],
    'user_data': {user: {'x': x, 'y': y} for user, (x, y) in users.items()},
  }


class LeafFilesTest(temporary_folders.TestCase):
  def _write(self, path, content):
    path = self.folder / path
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))
    return str(path)

  def _refused(self, regex):
    with self.assertRaisesRegex(errors.InputError, regex) as context:
      leaf_files.read(str(self.folder))
    self.assertNotIn('\n', str(context.exception))

  def test_folders_of_training_and_test_data(self):
    train = _content(a=([[0.5, 1], [2, 3]], [1, 0]), b=([[4, 5]], [2]))
    self._write('train/all_data_0_train.json', {**train, 'hierarchies': []})
    self._write('train/all_data_1_train.json', _content(c=([[9, 9]], [1])))
    self._write('test/all_data_0.json', _content(b=([[6, 7]], [1]), a=([], [])))
    self.assertTrue(leaf_files.is_leaf(str(self.folder)))
    data = leaf_files.read(str(self.folder))
    np.testing.assert_array_equal(
      data.x, np.float32([[0.5, 1], [2, 3], [4, 5], [9, 9], [6, 7]])
    )
    self.assertEqual(data.x.dtype, np.float32)
    np.testing.assert_array_equal(data.labels, [1, 0, 2, 1, 1])
    self.assertEqual(list(data.others[labelled_dataset.CLIENT]), [*'aabcb'])
    np.testing.assert_array_equal(data.is_test, [False] * 4 + [True])

  def test_one_file_with_names_of_classes(self):
    path = self._write(
      'all_data.json', _content(a=([1, 2], ['yes', 'no']), b=([3], ['maybe']))
    )
    self.assertTrue(leaf_files.is_leaf(path))
    self.assertFalse(table_files.is_table(path))
    for dataset in (path, str(self.folder)):
      data = leaf_files.read(dataset)
      self.assertEqual(data.names_of('y', data.labels), ['yes', 'no', 'maybe'])
      self.assertEqual(data.x.shape, (3,))
      self.assertIsNone(data.is_test)

  def test_amounts(self):
    self._write('a.json', _content(a=([True], [0.5]), b=([False], [2])))
    data = leaf_files.read(str(self.folder))
    np.testing.assert_array_equal(data.labels, np.float32([0.5, 2]))
    self.assertEqual((data.labels.dtype, data.x.dtype), (np.float32, np.uint8))

  def test_other_folders(self):
    self.assertFalse(leaf_files.is_leaf(str(self.folder)))
    self.assertFalse(leaf_files.is_leaf('mnist'))
    # As PFLlib writes it.
    self._write('config.json', {})
    (self.folder / 'train').mkdir()
    self.assertFalse(leaf_files.is_leaf(str(self.folder)))

  @parameterized.named_parameters(
    ('no_users', {}, 'users must be a list, got None'),
    ('empty', _content(), 'must have users, got none'),
    ('no_examples', _content(a=([], [])), "'a' .* training examples, got none"),
    ('text', _content(a=(['hello'], [0])), "'a' .* numbers x .* 'hello'"),
    ('ragged', _content(a=([[1], [1, 2]], [0, 1])), r"'a' .* such as \[1\]"),
    (
      'shapes',
      _content(a=([[1]], [0]), b=([[1, 2]], [0])),
      r"'b' .* shape \[1\], as the first user does, got \[2\]",
    ),
    ('vector_labels', _content(a=([1], [[0, 1]])), r"'a' .* y .* \[0, 1\]"),
    ('mixed_labels', _content(a=([1, 2], ['0', 1])), "'a' .* y .* '0'"),
    (
      'labels_of_two_kinds',
      _content(a=([1], ['0']), b=([1], [0])),
      'numbers y or all strings, got both',
    ),
    ('nul', _content(a=([1, 2], ['u', 'u\0'])), "'a' .* without .* NUL"),
    ('null', _content(a=([None], [0])), "'a' .* such as None"),
    ('no_features', _content(a=([[], []], [0, 1])), r"'a' .* such as \[\]"),
    ('huge_x', _content(a=([[1.0], [1e39]], [0, 1])), "x of user 'a' .* in 1;"),
    ('huge_y', _content(a=([1, 2], [0.5, 1e39])), "y of user 'a' .* in 1; sc"),
    ('lengths', _content(a=([1, 2], [0])), "'a' .* 1 examples,.* got 2 of x"),
    (
      'unknown_user',
      {**_content(a=([1], [0])), 'users': ['b']},
      'name each user once .* 1 users, 1 num_samples and 1 user_data',
    ),
  )
  def test_refused(self, content, regex):
    self._write('all_data.json', content)
    self._refused(regex)

  def test_a_user_twice_in_a_file(self):
    content = json.dumps(_content(a=([1], [0])))
    twice = content.replace('{"a":', '{"a": {"x": [2], "y": [1]}, "a":')
    (self.folder / 'a.json').write_text(twice)
    self._refused("the member 'a' twice")

  def test_test_users_without_training_data(self):
    self._write('train/0.json', _content(a=([1], [0])))
    self._write('test/0.json', _content(b=([1], [0])))
    self._refused("'b' of .*/test/0.json .* alone; '-t sample'")

  def test_a_user_in_two_files(self):
    for name in '01':
      self._write(f'{name}.json', _content(a=([1], [0])))
    self._refused("'a' must stand in one file, got .*0.json and .*1.json")

  def test_damaged_files(self):
    path = self.folder / 'all_data.json'
    content = json.dumps(_content(a=([1], [0])))
    for length in range(0, len(content), 5):
      path.write_text(content[:length])
      self._refused('all_data.json cannot be used: it is not valid JSON')
