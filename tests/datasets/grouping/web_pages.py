# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Generated pages in files, good and bad."""

import collections
from collections.abc import Iterable
import gzip
import json
import pathlib

from fedfish_tff.datasets import grouping
from tests import temporary_folders

import dataset_grouper
import tensorflow_datasets as tfds

_BAD_LINES = (
  (b'{"url": "http://a.org", "te', 'malformed_json'),
  (b'{"text": "no address"}', 'missing_url'),
  (b'{"text": "x", "url": "not an address"}', 'invalid_url'),
  (b'{"text": "\xff\xfe", "url": "http://a.org"}', 'invalid_utf8'),
  (b'{"url": "http://a.org"}', 'missing_text'),
)


def good_lines(count: int) -> list[bytes]:
  """Returns pages of hosts that have one page to many."""
  return [
    json.dumps(
      {
        'url': f'http://{"www." * (i % 2)}host{int(i**0.5)}.org/{i}',
        'text': f'page {i} ' + 'wörd ' * (i % 13),
        'timestamp': f'2019-04-{i % 30 + 1:02d}',
      },
      ensure_ascii=bool(i % 3),
    ).encode()
    for i in range(count)
  ]


def write_files(folder: pathlib.Path, num_pages: int = 400) -> dict[str, int]:
  """Writes pages to three files, one of them truncated, among bad lines.

  Returns:
    How many records of each kind cannot be used.
  """
  lines, kinds = [], collections.Counter()
  for i, line in enumerate(good_lines(num_pages)):
    lines.append(line)
    if i % 40 == 7:
      bad, kind = _BAD_LINES[i // 40 % len(_BAD_LINES)]
      lines.append(bad)
      kinds[kind] += 1
  third = len(lines) // 3
  (folder / 'a.jsonl').write_bytes(b'\n'.join(lines[:third]))
  (folder / 'b.json.gz').write_bytes(
    gzip.compress(b'\n'.join(lines[third : 2 * third]) + b'\n')
  )
  cut = b'\n'.join(lines[2 * third :]) + b'\n{"text": "the rest is lost'
  (folder / 'c.json.gz').write_bytes(gzip.compress(cut)[:-4])
  kinds['truncated_gzip'] += 1
  return dict(kinds)


def read_stock(folder: pathlib.Path, pattern: str = '*') -> collections.Counter:
  """Counts the examples that the stock loader reads, each as sorted items."""
  described = json.loads((folder / 'dataset.json').read_text())
  stock = dataset_grouper.PartitionedDataset(
    f'{folder}/{pattern}.tfrecord',
    grouping.features_from_json(described['features']),
  )
  examples = stock.build_group_stream().flat_map(lambda group: group)
  return collections.Counter(map(as_item, tfds.as_numpy(examples)))


def read_shards(folder: pathlib.Path) -> dict[str, bytes]:
  """Returns the content of all files of clients."""
  return {path.name: path.read_bytes() for path in folder.glob('*.tfrecord')}


def as_item(example: dict[str, bytes | str]) -> tuple[tuple[str, bytes], ...]:
  """Returns an example in a form that can be counted."""
  return tuple(
    sorted(
      (name, value.encode() if isinstance(value, str) else value)
      for name, value in example.items()
    )
  )


def count_items(lines: Iterable[bytes], names: Iterable[str]):
  """Counts the examples of lines, with some of their features."""
  return collections.Counter(
    as_item({name: record[name] for name in names})
    for record in map(json.loads, lines)
  )


class TestCase(temporary_folders.TestCase):
  """A test case with a folder for pages, to group by host."""

  def setUp(self):
    super().setUp()
    self.pages = self.folder / 'pages'
    self.pages.mkdir()

  def source(self, pattern=None, *, format_name='c4'):
    return grouping.TextSource(
      format=format_name,
      pattern=pattern or f'{self.pages}/*',
      key=grouping.ClientKey(name='host'),
    )

  def group(self, name='out', *, pattern=None, engine=None, **options):
    folder = self.folder / name
    folder.mkdir(exist_ok=True)
    source = self.source(pattern, format_name=options.pop('format', 'c4'))
    options = {'max_bad_fraction': 0.1, **options}
    grouped = grouping.group(
      source,
      folder,
      options=grouping.GroupingOptions(**options),
      key={'name': 'host'},
      **(engine or {}),
    )
    return folder, grouped
