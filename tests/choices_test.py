# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that choices can be named without waiting for TensorFlow."""

import subprocess
import sys

from absl.testing import absltest


class ChoicesTest(absltest.TestCase):
  def test_are_there_without_tensorflow(self):
    program = (
      'import sys; from fedfish_tff import choices; '
      'print(choices.Direction("largest").name, "tensorflow" in sys.modules)'
    )
    said = subprocess.run(
      [sys.executable, '-c', program],
      check=True,
      capture_output=True,
      text=True,
      timeout=300,
    ).stdout
    self.assertEqual(said.split(), ['LARGEST', 'False'])
