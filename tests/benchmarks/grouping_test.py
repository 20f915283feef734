# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the benchmark of grouping."""

import pathlib

from benchmarks import grouping
from fedfish_tff.datasets import grouping as grouping_lib
from tests.launch import binary_runner

from absl.testing import absltest
import dataset_grouper
import pytest

pytestmark = pytest.mark.thorough

_FEATURES = {
  name: {'dtype': 'string', 'shape': []}
  for name in ('text', 'timestamp', 'url')
}


def _read(folder):
  """The addresses of each client, as Dataset Grouper reads them."""
  stock = dataset_grouper.PartitionedDataset(
    f'{folder}/train*', grouping_lib.features_from_json(_FEATURES)
  )
  return sorted(
    sorted(page['url'].decode() for page in client.as_numpy_iterator())
    for client in stock.build_group_stream()
  )


class GroupingTest(absltest.TestCase):
  def test_all_ways_group_the_same_pages(self):
    parent = pathlib.Path(self.create_tempdir().full_path)
    pattern = grouping.write_lines(parent, 40_000, page_bytes=100, share=0.4)
    found = {}
    for way in ('local, 1 process', 'Beam', 'Dataset Grouper'):
      (parent / way).mkdir()
      grouping._WAYS[way](pattern, str(parent / way))
      found[way] = _read(parent / way)
    pages = found['Dataset Grouper']
    self.assertEqual(sum(map(len, pages)), 400)
    self.assertBetween(max(map(len, pages)), 100, 220)
    for way, others in found.items():
      self.assertEqual(others, pages, way)

  def test_the_table(self):
    outcome = binary_runner.run_here(
      'benchmarks.grouping',
      '--megabytes=1',
      '--repeats=1',
      '--way=local, 1 process',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertRegex(
      outcome.stdout, r'(?m)^\| local, 1 process \|( +[\d.,]+ \|){4}$'
    )
