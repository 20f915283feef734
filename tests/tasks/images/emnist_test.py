# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the EMNIST task, on random images."""

import sqlite3

from fedfish_tff import errors
from tasks.images import emnist
from tests import temporary_folders
from tests import tff_database
from tests import usable_tasks

from absl.testing import parameterized
import numpy as np


class EmnistTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self._arrays = tff_database.write_emnist(self.folder)

  def _create(self, **options):
    return emnist.create_task(seed=0, data_dir=str(self.folder), **options)

  def _both_parts(self, writer):
    return tuple(
      np.concatenate(parts)
      for parts in zip(
        self._arrays['all_train'][writer], self._arrays['all_test'][writer]
      )
    )

  def _assert_has(self, data, writer, pixels, labels):
    x, y = data.load_client(writer)
    np.testing.assert_array_equal(x, pixels[..., np.newaxis])
    np.testing.assert_array_equal(y, labels)
    self.assertEqual((x.dtype, y.dtype), (np.float32, np.int32))

  def test_training_writers_have_the_training_part_of_their_examples(self):
    task = self._create()
    self.assertLen(task.train.client_ids, 7)
    self.assertLen(task.validation.client_ids, 1)
    self.assertLen(task.test.client_ids, 2)
    for writer in task.train.client_ids:
      self._assert_has(task.train, writer, *self._arrays['all_train'][writer])
    for data in (task.validation, task.test):
      for writer in data.client_ids:
        self._assert_has(data, writer, *self._both_parts(writer))

  def test_or_all_of_them(self):
    task = self._create(train_part='all')
    for writer in task.train.client_ids:
      self._assert_has(task.train, writer, *self._both_parts(writer))

  def test_alpha_deals_the_images_of_training_writers_alone(self):
    published, dealt = self._create(), self._create(alpha=0.1)
    self.assertEqual(
      dealt.validation.client_ids, published.validation.client_ids
    )
    self.assertEqual(dealt.test.client_ids, published.test.client_ids)
    before, after = map(usable_tasks.pool, (published.train, dealt.train))
    self.assertNoCommonElements(
      dealt.train.client_ids, published.train.client_ids
    )
    self.assertCountEqual(after[1], before[1])

  def test_digits_only(self):
    task = self._create(only_digits=True, train_part='all')
    writers = usable_tasks.load_clients(task.train, task.validation, task.test)
    # The last writer wrote none.
    self.assertCountEqual(writers, [f'w{n}' for n in range(9)])
    for writer in task.train.client_ids:
      pixels, labels = self._both_parts(writer)
      self._assert_has(
        task.train, writer, pixels[labels < 10], labels[labels < 10]
      )
    self.assertEqual(task.create_model().initial_weights[0][-1].shape, (10,))

  def test_the_same_writers_are_held_out_whatever_they_wrote(self):
    held_out = [
      self._create(train_part=part).test.client_ids for part in ('train', 'all')
    ]
    self.assertEqual(*held_out)

  @parameterized.parameters(
    {}, {'model': 'dropout_cnn'}, {'model': 'compact_cnn'}
  )
  def test_models(self, **options):
    weights = usable_tasks.check(self._create(**options)).initial_weights[0]
    self.assertLen(weights[-1], 62)

  def test_missing_file(self):
    with self.assertRaisesRegex(
      errors.InputError, "'emnist' found no file .*/x/emnist_all.sqlite; fetch"
    ):
      emnist.create_task(seed=0, data_dir=str(self.folder / 'x'))

  def test_other_data_base(self):
    with sqlite3.connect(self.folder / 'emnist_all.sqlite') as connection:
      connection.execute(
        "DELETE FROM client_metadata WHERE split_name = 'digits_only_test'"
      )
    self._create()
    with self.assertRaisesRegex(
      errors.InputError, "no clients in split 'digits_only_test'"
    ):
      self._create(only_digits=True)

  def test_label_out_of_range(self):
    example = {'pixels': np.zeros(784), 'label': [62]}
    clients = {f'w{number}': [example] for number in range(3)}
    path = self.folder / 'emnist_all.sqlite'
    path.unlink()
    tff_database.write_tff_database(
      path, {'all_train': clients, 'all_test': clients}
    )
    task = self._create()
    with self.assertRaisesRegex(
      errors.InputError,
      "Client .*array 'label' .*1 .*such as 62",
    ):
      task.train.load_client(task.train.client_ids[0])
