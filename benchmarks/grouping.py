# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures grouping of text, next to Dataset Grouper's own pipeline.

  python -m benchmarks.grouping
  python -m benchmarks.grouping --megabytes=1000 --share=1 --way=local

Groups generated lines of web pages, of which one host has --share. The ways
are: the local engine, in one process and in one process per core; Beam's runner
within its process; and on that runner, Dataset Grouper's transforms, which read
the same lines, extract the host and write, without checks or an index. Prints a
table of seconds, CPU seconds and peak memory. The ways are measured in turns,
each in its own process, imports included.
"""

from collections.abc import Callable
from collections.abc import Sequence
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

from benchmarks import report
from launch import cli

from absl import flags
import numpy as np
import psutil

_MEGABYTES = flags.DEFINE_integer(
  'megabytes', 107, 'The text of all pages, in 10^6 bytes.', lower_bound=1
)
_PAGE_BYTES = flags.DEFINE_integer(
  'page_bytes', 2000, 'The text of a page.', lower_bound=1
)
_SHARE = flags.DEFINE_float(
  'share', 0.5, 'The share of pages that one host has.', 0, 1
)
_WAY = flags.DEFINE_multi_string('way', None, 'The ways; by default all.')
_REPEATS = flags.DEFINE_integer(
  'repeats', 3, 'Measurements of each way, of which the median counts.'
)
_MEASURED = flags.DEFINE_multi_string(
  'measured', None, 'A way, a pattern and a folder: what a child process does.'
)

_NUM_FILES = 8
_NUM_HOSTS = 5000
_SECONDS_BETWEEN_LOOKS = 0.1


def write_lines(
  folder: pathlib.Path, num_bytes: int, *, page_bytes: int, share: float
) -> str:
  """Writes files of JSON lines in the form of C4.

  Args:
    folder: An existing folder.
    num_bytes: The number of bytes of text of all pages.
    page_bytes: The number of bytes of text of a page.
    share: The share of pages of one host.

  Returns:
    A pattern for the files.
  """
  generator = np.random.default_rng(0)
  letters = generator.choice(list('etaoin shrdlu '), 10**6 + page_bytes)
  text = ''.join(letters)
  num_pages = max(1, num_bytes // page_bytes)
  for file in range(_NUM_FILES):
    with open(folder / f'{file}.jsonl', 'w', encoding='utf-8') as lines:
      for page in range(file, num_pages, _NUM_FILES):
        is_large = generator.random() < share
        host = 'large' if is_large else f'host{page % _NUM_HOSTS}'
        start = int(generator.integers(10**6))
        record = {
          'text': text[start : start + page_bytes],
          'timestamp': '2019-04-01T00:00:00Z',
          'url': f'https://{host}.example.com/{page}',
        }
        lines.write(f'{json.dumps(record)}\n')
  return str(folder / '*.jsonl')


def _group_ours(pattern: str, folder: str, **options) -> None:
  from fedfish_tff.datasets import grouping  # pylint: disable=g-import-not-at-top

  key = grouping.ClientKey(name='host')
  source = grouping.TextSource(format='c4', pattern=pattern, key=key)
  grouping.group(source, folder, **options)


def _group_stock(pattern: str, folder: str) -> None:
  import apache_beam as beam  # pylint: disable=g-import-not-at-top
  import dataset_grouper  # pylint: disable=g-import-not-at-top
  import tensorflow as tf  # pylint: disable=g-import-not-at-top
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  names = ('text', 'timestamp', 'url')
  features = tfds.features.FeaturesDict(
    {name: tfds.features.Text() for name in names}
  )
  with beam.Pipeline() as pipeline:
    examples = (
      pipeline
      | beam.io.ReadFromText(pattern)
      | beam.Map(json.loads)
      # The form in which TFDS gives pages to Dataset Grouper.
      | 'Convert'
      >> beam.Map(
        lambda page: {name: tf.constant(page[name]) for name in names}
      )
    )
    _ = (
      dataset_grouper.beam.to_keyed_sequence_examples(
        examples,
        lambda page: urllib.parse.urlsplit(page['url'].numpy()).hostname,
        features,
      )
      | beam.Values()
      | beam.io.WriteToTFRecord(
        f'{folder}/train',
        coder=beam.coders.ProtoCoder(tf.train.SequenceExample),
      )
    )


_WAYS: dict[str, Callable[[str, str], None]] = {
  'local': lambda pattern, folder: _group_ours(
    pattern, folder, num_processes=len(os.sched_getaffinity(0))
  ),
  'local, 1 process': _group_ours,
  'Beam': lambda pattern, folder: _group_ours(
    pattern, folder, beam_flags=['--runner=DirectRunner']
  ),
  'Dataset Grouper': _group_stock,
}


def measure(way: str, pattern: str) -> tuple[float, float, float]:
  """Measures a way in a new process.

  Args:
    way: The way.
    pattern: The pattern of the files.

  Returns:
    The seconds, the CPU seconds and the peak bytes of memory of the process and
    all its children; memory that they share counts once.
  """
  cpu, peak = {}, 0.0
  with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    child = psutil.Popen(
      [sys.executable, '-m', 'benchmarks.grouping']
      + [f'--measured={item}' for item in (way, pattern, folder)],
      stdout=subprocess.DEVNULL,
    )
    while child.poll() is None:
      memory = 0
      try:
        for process in (child, *child.children(recursive=True)):
          times = process.cpu_times()
          cpu[process.pid] = times.user + times.system
          memory += process.memory_full_info().pss
      except psutil.Error:  # It has just ended.
        continue
      peak = max(peak, memory)
      time.sleep(_SECONDS_BETWEEN_LOOKS)
    seconds = time.perf_counter() - start
  if child.returncode:
    raise RuntimeError(f'{way} ended with code {child.returncode}.')
  return seconds, sum(cpu.values()), peak


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  if _MEASURED.value:
    way, pattern, folder = _MEASURED.value
    _WAYS[way](pattern, folder)
    return
  ways = _WAY.value or list(_WAYS)
  with tempfile.TemporaryDirectory() as folder:
    pattern = write_lines(
      pathlib.Path(folder),
      _MEGABYTES.value * 10**6,
      page_bytes=_PAGE_BYTES.value,
      share=_SHARE.value,
    )
    results = {way: [] for way in ways}
    for _ in range(_REPEATS.value):
      for way in ways:
        results[way].append(measure(way, pattern))
  lines = [('', 'Seconds', 'MB/s', 'CPU seconds', 'Peak, MB')]
  for way, measured in results.items():
    seconds, cpu, peak = np.median(measured, axis=0)
    speed = _MEGABYTES.value / seconds
    lines.append(
      (
        way,
        f'{seconds:.1f}',
        f'{speed:.1f}',
        f'{cpu:.1f}',
        f'{peak / 1e6:,.0f}',
      )
    )
  print(report.format_table(lines, [f'{report.processor()}.']))


if __name__ == '__main__':
  cli.run(main)
