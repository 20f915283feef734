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


if __name__ == '__main__':
  absltest.main()
