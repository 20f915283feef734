# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The binary that measures the memory of grouping."""

from tests.launch import binary_runner

from absl.testing import absltest
import pytest


class GroupingMemoryTest(absltest.TestCase):
  # A process imports TensorFlow, the other one Beam.
  @pytest.mark.thorough
  def test_memory_is_as_documented(self):
    outcome = binary_runner.run_here(
      'launch.benchmarks.grouping_memory',
      '--client_megabytes=0.001',
      '--client_megabytes=20',
      '--page_bytes=100',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    header, *rows = (
      line for line in outcome.stdout.splitlines() if '  ' in line
    )
    self.assertIn('peak, MB', header)
    figures = [[float(c.replace(',', '')) for c in row.split()] for row in rows]
    _, examples, _, peaks, limits = zip(*figures)
    self.assertEqual(examples, (10, 200_000))
    for peak, limit in zip(peaks, limits):
      self.assertBetween(peak, 50, limit)

  def test_bad_input(self):
    outcome = binary_runner.run_here(
      'launch.benchmarks.grouping_memory', '--client_megabytes=0'
    )
    self.assertEqual((outcome.code, outcome.stdout), (2, ''))
    self.assertIn('--client_megabytes=0', outcome.stderr)
