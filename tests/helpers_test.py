# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of helpers of tests: tolerances and samples of data."""

import os
import pathlib
import unittest
from unittest import mock

from tests import local_data
from tests import tolerance

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np


class AssertCloseTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('small_beside_large', [1e-4, 100.0], [2e-4, 100.0], None),
    ('infinite', [np.inf, 1.0], [np.inf, 1.000001], None),
    ('cancelled', [1e-7, -1e-7], [0.0, 0.0], 0.5),
    ('exactly_zero', [0.0], [0.0], None),
    ('empty', [], [], None),
  )
  def test_close(self, actual, expected, scale):
    tolerance.assert_close(actual, expected, relative=1e-5, scale=scale)

  @parameterized.named_parameters(
    ('off', [1e-4, 100.0], [2e-3, 100.0], None),
    ('beside_infinity', [np.inf, 1.0], [np.inf, 1.1], None),
    ('not_a_number', [np.nan, 1.0], [0.0, 1.0], None),
    # Nothing tells how large zero's rounding may be.
    ('no_scale', [1e-30], [0.0], None),
    ('shape', [1.0, 1.0], [1.0, 1.0, 1.0], None),
  )
  def test_not_close(self, actual, expected, scale):
    with self.assertRaisesRegex(AssertionError, 'the third'):
      tolerance.assert_close(
        actual, expected, relative=1e-5, scale=scale, err_msg='the third'
      )


class FindSampleTest(absltest.TestCase):
  def test_finds_the_folder(self):
    parent = pathlib.Path(self.create_tempdir().full_path)
    (parent / 'femnist').mkdir()
    with mock.patch.dict(os.environ, {local_data.VARIABLE: str(parent)}):
      self.assertEqual(local_data.find_sample('femnist'), parent / 'femnist')

  def test_skips_without_the_folder(self):
    with mock.patch.dict(os.environ, {local_data.VARIABLE: '/nowhere'}):
      with self.assertRaisesRegex(unittest.SkipTest, '/nowhere/femnist is not'):
        local_data.find_sample('femnist')

  def test_skips_without_the_variable(self):
    with mock.patch.dict(os.environ):
      os.environ.pop(local_data.VARIABLE, None)
      with self.assertRaisesRegex(unittest.SkipTest, 'is not set'):
        local_data.find_sample('femnist')


class ExplainSkipsTest(absltest.TestCase):
  def test_counts_tests_and_names_samples(self):
    reasons = ['No GPU.']
    self.assertEmpty(local_data.explain_skips(reasons))
    with mock.patch.dict(os.environ, {local_data.VARIABLE: '/nowhere'}):
      for name in ('cifar10', 'ag_news', 'cifar10'):
        with self.assertRaises(unittest.SkipTest) as caught:
          local_data.find_sample(name)
        # As pytest reports it: path, line and reason.
        reasons.append(str(('a_test.py', 7, f'Skipped: {caught.exception}')))
    self.assertStartsWith(
      local_data.explain_skips(reasons),
      '3 tests were skipped for want of samples: ag_news, cifar10.\n'
      f'Set {local_data.VARIABLE} ',
    )
