# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests with a folder of their own."""

import pathlib

from absl.testing import parameterized


class TestCase(parameterized.TestCase):
  """Gives each test `folder`, which is empty."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
