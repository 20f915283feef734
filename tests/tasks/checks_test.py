# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks that tasks share."""

from fedfish_tff import errors
from tasks import checks

from absl.testing import absltest
import numpy as np


class ChecksTest(absltest.TestCase):
  def test_choice(self):
    checks.check_choice('kind', 'b', {'a': 1, 'b': 2})
    with self.assertRaisesRegex(errors.InputError, "kind must be .*got 'c'"):
      checks.check_choice('kind', 'c', {'a': 1, 'b': 2})
    for value in (['a'], np.array(['a', 'b']), None):
      with self.assertRaisesRegex(errors.InputError, 'one of a, b'):
        checks.check_choice('kind', value, {'a': 1, 'b': 2})

  def test_integer(self):
    checks.check_integer('size', np.int64(3), 3)
    for value in (2, 3.0, '3', None):
      with self.assertRaisesRegex(
        errors.InputError, f'size .*an integer of at least 3, got {value!r}'
      ):
        checks.check_integer('size', value, 3)
    with self.assertRaisesRegex(errors.InputError, 'of at most 2147483647'):
      checks.check_integer('size', 2**31, 3)

  def test_boolean(self):
    checks.check_boolean('flag', False)
    checks.check_boolean('flag', np.bool_(True))
    for value in (1, 'True', None):
      with self.assertRaisesRegex(
        errors.InputError, f'flag must be True or False, got {value!r}'
      ):
        checks.check_boolean('flag', value)

  def test_positive(self):
    for value in (1e-9, 3, np.float32(2), np.int64(1)):
      checks.check_positive('beta', value)
    for value in (0, -1.0, np.inf, np.nan, '1', None, True, 1j):
      with self.assertRaisesRegex(errors.InputError, 'beta must be .*got .*'):
        checks.check_positive('beta', value)

  def test_share(self):
    for value in (0, 0.5, np.float32(0.25)):
      checks.check_share('part', value)
    checks.check_share('part', 1, with_one=True)
    for value, with_one in (
      (1, False),
      (1.01, True),
      (-0.1, True),
      (np.nan, False),
      ('0.5', False),
      (None, True),
      (False, False),
    ):
      end = r'\]' if with_one else r'\)'
      with self.assertRaisesRegex(
        errors.InputError, f'part must be a share in .0, 1{end}, got '
      ):
        checks.check_share('part', value, with_one=with_one)

  def test_no_data_dir(self):
    checks.check_no_data_dir('digits', None)
    for data_dir in ('data', ''):
      with self.assertRaisesRegex(
        errors.InputError,
        f"data_dir must be None for task 'digits'.*got {data_dir!r}",
      ):
        checks.check_no_data_dir('digits', data_dir)

  def test_labels(self):
    checks.check_labels('y', np.array([0, 4]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*2 label\(s\) such as -1"
    ):
      checks.check_labels('y', np.array([0, -1, 5]), 5)
    with self.assertRaisesRegex(
      errors.InputError, r"'y' .*1 label\(s\) such as nan"
    ):
      checks.check_labels('y', np.array([0, np.nan]), 5)
