# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import unittest
from unittest import mock

from tests import local_data

from absl.testing import absltest


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
