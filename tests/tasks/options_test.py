# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of options of tasks and of labels of classes."""

import functools
import inspect

from fedfish_tff import errors
from fedfish_tff import fields
from tasks import class_labels
from tasks import options

from absl.testing import absltest
import numpy as np


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
