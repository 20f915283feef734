# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A source of one's own can be grouped."""

import dataclasses
import os
import pathlib

from fedfish_tff.datasets import grouping
from fedfish_tff.datasets.grouping import sources

from absl.testing import absltest
import dataset_grouper
import psutil
from pyarrow import parquet


def _child_processes() -> frozenset[int]:
  return frozenset(child.pid for child in psutil.Process().children())


@dataclasses.dataclass(frozen=True)
class Squares(sources.Source):
  """Numbers and their squares; the client is the last digit."""

  count: int
  process: int
  # Of other tests before.
  children: frozenset[int] = dataclasses.field(default_factory=_child_processes)

  @property
  def features(self):
    return {
      'number': {'dtype': 'int64', 'shape': []},
      'square': {'dtype': 'float32', 'shape': [1]},
    }

  @property
  def size_unit(self):
    return ' numbers'

  def parts(self):
    return [
      sources.Part(number=i, content=range(i, self.count, 3), size=1)
      for i in range(3)
    ]

  def estimated_bytes(self, parts):
    return 10 * self.count

  def read(self, part, progress):
    # In this process, which waits for no connection.
    assert os.getpid() == self.process
    listening = [
      connection
      for connection in psutil.Process().connections('inet')
      if connection.status == psutil.CONN_LISTEN
    ]
    assert not listening, listening
    assert _child_processes() == self.children
    for i in part.content:
      if i % 50 == 49:
        yield sources.Skipped(kind='ugly', where=str(i))
        continue
      yield sources.SourceExample(
        client_id=str(i % 10), values={'number': i, 'square': [i**2]}
      )
    progress(1)

  def description(self, parts):
    return {'format': 'squares'}


class SourcesTest(absltest.TestCase):
  def test_a_source_of_ones_own(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    grouped = grouping.group(
      Squares(100, os.getpid()),
      folder,
      options=grouping.GroupingOptions(max_bad_fraction=0.02),
    )
    self.assertEqual(grouped.skipped, {'ugly': 2})
    # 99 is in the first part.
    self.assertEqual(grouped.named, {'ugly': ['99', '49']})
    features = grouping.features_from_json(Squares(0, 0).features)
    stock = dataset_grouper.PartitionedDataset(
      f'{folder}/train-*.tfrecord', features
    )
    found = [
      [(int(e['number']), float(e['square'][0])) for e in group]
      for group in stock.build_group_stream(num_parallel_reads=1)
    ]
    rows = parquet.read_table(folder / 'clients.parquet').to_pylist()
    self.assertEqual([row['client_id'] for row in rows], list('0123456789'))
    # In the order of the source, whose first part has every third number.
    numbers = [i for start in range(3) for i in range(start, 100, 3)]
    expected = [
      [(i, float(i**2)) for i in numbers if i % 10 == digit and i % 50 != 49]
      for digit in range(10)
    ]
    self.assertCountEqual(found, expected)
    self.assertEqual(sum(row['words'] for row in rows), 0)
