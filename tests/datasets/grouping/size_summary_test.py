# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the index of all clients."""

import json

from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets.grouping import size_summary

from absl.testing import absltest
import numpy as np


class SummaryTest(absltest.TestCase):
  def test_counts_and_quantiles(self):
    examples = np.arange(1, 101)
    sizes = [
      folder_writer.ClientSizes(examples=part, words=part * 3)
      for part in (examples[60:], examples[:60])
    ]
    summary = size_summary.summarize(sizes)
    self.assertEqual(
      (summary['clients'], summary['examples'], summary['words']),
      (100, 5050, 15150),
    )
    self.assertEqual(
      summary['examples_per_client'],
      {
        'mean': 50.5,
        'min': 1,
        'p10': 10,
        'p25': 25,
        'median': 50,
        'p75': 75,
        'p90': 90,
        'p99': 99,
        'max': 100,
      },
    )
    self.assertEqual(summary['words_per_client']['median'], 150)
    json.dumps(summary)

  def test_no_clients(self):
    none = np.zeros(0, np.int64)
    summary = size_summary.summarize(
      [folder_writer.ClientSizes(examples=none, words=none)]
    )
    self.assertEqual(summary['clients'], 0)
    self.assertEqual(summary['examples_per_client'], {})
