# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of tasks, their options and labels of classes."""

import dataclasses
import functools
import inspect

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import models
from tasks import class_labels
from tasks import options
from tasks import task as task_lib

from absl.testing import absltest
import numpy as np
import tensorflow as tf


def _clients(*client_ids):
  return datasets.InMemoryClientData(
    {
      c: (np.ones([3, 2], np.float32), np.zeros(3, np.int32))
      for c in client_ids
    }
  )


def _task(**changed):
  return task_lib.Task(
    **{
      **dict(
        name='tiny',
        train=_clients('a', 'b'),
        validation=_clients('c'),
        test=_clients('d'),
        create_model=lambda: models.create_mlp_classifier(
          num_features=2, num_classes=2, hidden_units=(), seed=0
        ),
        metric='accuracy',
        higher_is_better=True,
      ),
      **changed,
    }
  )


class TaskTest(absltest.TestCase):
  def test_clients_in_two_splits_are_refused(self):
    with self.assertRaisesRegex(
      errors.InputError, "task 'tiny' .*'b' .*train and test"
    ):
      _task(test=_clients('b', 'd'))

  def test_preprocesses_each_client_once(self):
    calls = []

    def double(examples):
      calls.append(len(examples[0]))
      return examples[0] * 2, examples[1]

    task = _task(preprocess=double)
    for data in (task.train, task.validation, task.test):
      for client_id in data.client_ids:
        for _ in range(3):
          np.testing.assert_array_equal(data.load_client(client_id)[0], 2)
    # One call more for each split's first client, to know its spec.
    self.assertLen(calls, 4 + 3)

  def test_replacing_a_field_does_not_preprocess_again(self):
    task = _task(preprocess=lambda e: (e[0] * 2, e[1]))
    task = dataclasses.replace(task, eval_batch_size=7)
    self.assertEqual(task.eval_batch_size, 7)
    np.testing.assert_array_equal(task.train.load_client('a')[0], 2)

  def test_a_split_may_be_without_clients(self):
    task = _task(validation=_clients('c').select([]), preprocess=lambda e: e)
    self.assertEqual(task.validation.client_ids, ())

  def test_a_model_that_does_not_go_with_the_clients_is_refused(self):
    self.assertIs(
      _task().create_checked_model().input_spec[0].dtype, tf.float32
    )
    model = _task().create_model()
    x, y = np.ones([3, 2], np.float32), np.zeros(3, np.int32)
    for changed, message in (
      ({'create_model': model}, "'tiny' must be .*got a FunctionalModel"),
      (
        {'create_model': lambda: lambda: model},
        'functional one.*got a function',
      ),
      ({'metric': 'recall'}, "must have the metric 'recall', got loss"),
      (
        {'train': (x, y.astype(np.int64))},
        r"'y' .*int64\[\]",
      ),
      (
        {'train': (x, y[:, np.newaxis])},
        r"'y' .*int32\[\] per example.*got int32\[1\]",
      ),
      ({'train': (x, y, y)}, r"must have the arrays \['x', 'y'\]"),
    ):
      if 'train' in changed:
        changed = {
          'train': datasets.InMemoryClientData({'a': changed['train']})
        }
      with self.assertRaisesRegex(errors.InputError, message):
        _task(**changed).create_checked_model()


def _create(name, *, seed: int, size: int, share: float | None):
  """Creates something."""
  return name, seed, size, share


_OPTIONS = {
  'size': fields.Field(3, fields.integer(2), 'The size.'),
  'share': fields.Field(
    None, fields.Optional(float, fields.share), 'The share; None for all.'
  ),
}

_declared = options.declare(_OPTIONS)(functools.partial(_create, 'a'))


class OptionsTest(absltest.TestCase):
  def test_defaults_are_filled_in(self):
    self.assertEqual(_declared(seed=1), ('a', 1, 3, None))
    self.assertEqual(
      _declared(seed=1, share=0.5, size=np.int64(4)), ('a', 1, 4, 0.5)
    )

  def test_values_are_checked(self):
    for wrong, message in (
      ({'size': 1}, 'task.size must be an integer of at least 2, got 1.'),
      ({'share': 0}, 'task.share must be a number above 0'),
      ({'sizes': 2}, r'task.sizes does not exist.* Did you mean size\?'),
    ):
      with self.assertRaisesRegex(errors.InputError, message):
        _declared(seed=0, **wrong)

  def test_help_shows_the_declaration(self):
    self.assertEqual(
      str(inspect.signature(_declared)),
      '(*, seed: int, size: int = 3, share: float | None = None)',
    )
    self.assertEqual(
      inspect.getdoc(_declared),
      'Creates something.\n\nOptions:\n  size=3: The size.\n'
      '  share: The share; None for all.',
    )

  def test_no_data_dir(self):
    options.check_no_data_dir('digits', None)
    for data_dir in ('data', ''):
      with self.assertRaisesRegex(
        errors.InputError,
        f"data_dir must be None for task 'digits'.*got {data_dir!r}",
      ):
        options.check_no_data_dir('digits', data_dir)


class ClassLabelsTest(absltest.TestCase):
  def test_labels(self):
    class_labels.check_labels('y', np.array([0, 4]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*2 label\(s\) such as -1"
    ):
      class_labels.check_labels('y', np.array([0, -1, 5]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*1 label\(s\) such as nan"
    ):
      class_labels.check_labels('y', np.array([0, np.nan]), 5)
