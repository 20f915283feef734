# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouping on one machine, in several processes, without Apache Beam.

Examples are divided on disk by bucket, in Arrow's IPC files, and Arrow sorts
one bucket at a time. Parts that have been read and shards that have been
written are kept, so interrupted work continues with the others.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import process
import contextlib
import dataclasses
import functools
import itertools
import json
import multiprocessing
from multiprocessing import connection
from multiprocessing import forkserver
import os
import pathlib
import signal
import threading
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import record_counts
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import work as work_lib

import numpy as np
import pyarrow as pa
from pyarrow import compute
import tqdm

# The bytes of examples that a process holds after reading them.
_HELD_BYTES = 2**26
# Larger clients are read only while they are written.
_LARGE_CLIENT_BYTES = 2**24
# The bytes that Python needs for a row besides its texts.
_ROW_OVERHEAD = 200
# Enough batches for that many processes, but few files, if parts are small.
_LEAST_BATCHES = 32
_MOST_BATCH_BYTES = 2**27
_ROWS_AT_A_TIME = 2**8
_SCHEMA = pa.schema(
  [
    ('client_id', pa.string()),
    ('size', pa.int64()),
    ('words', pa.int64()),
    ('example', pa.binary()),
  ]
)
# Numbers of the columns.
_ALL_BUT_EXAMPLE = [0, 1, 2]
_EXAMPLE = [3]

_Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


def group(
  work: work_lib.Work,
  parts: Sequence[sources.Part],
  *,
  folder: pathlib.Path,
  num_processes: int,
) -> tuple[record_counts.RecordCounts, list[pa.Table]]:
  """Reads all parts and writes all shards, except those already done.

  Args:
    work: The reading and writing.
    parts: The parts of its source.
    folder: The folder for finished work.
    num_processes: The number of processes; with 1, this process does all the
      work.

  Returns:
    The counts of records, and the index of each shard.
  """
  read_folder, shard_folder = folder / 'read', folder / 'shards'
  for path in (read_folder, shard_folder):
    path.mkdir(exist_ok=True)
  # Temporary files of processes that were killed.
  new_files.remove_temporaries(work.folder)
  batches = list(enumerate(_batches(work, parts)))
  shards = work.placement.shards()
  counts = record_counts.RecordCounts()
  with _processes(num_processes) as run:
    read = functools.partial(_read_batch, work, read_folder)
    with _bar('read', work.total_size, work.source.size_unit) as bar:
      for more in run(read, batches):
        counts.merge(more)
        bar.update(more.size)
        counts.check(work.options.max_bad_fraction, total_size=work.total_size)
    counts.check(work.options.max_bad_fraction, total_size=None)
    files = [_batch_path(read_folder, number, 'arrow') for number, _ in batches]
    write = functools.partial(_write_shard, work, files, shard_folder)
    tables = []
    with _bar('write', len(shards), ' shards') as bar:
      for more, table in run(write, shards):
        counts.merge(more)
        tables.append(table)
        bar.update()
  return counts, tables


def _batches(
  work: work_lib.Work, parts: Sequence[sources.Part]
) -> list[list[sources.Part]]:
  """Divides parts, in order, into batches to read, and keep, at a time."""
  share = _MOST_BATCH_BYTES / max(work.source.estimated_bytes(parts), 1)
  limit = work.total_size * min(1 / _LEAST_BATCHES, share)
  batches, filled = [], limit
  for part in parts:
    if filled >= limit:
      batches.append([])
      filled = 0
    batches[-1].append(part)
    filled += part.size
  return batches


def _read_batch(
  work: work_lib.Work,
  folder: pathlib.Path,
  batch: tuple[int, Sequence[sources.Part]],
) -> record_counts.RecordCounts:
  """Writes a batch of parts to a file, bucket by bucket, and its counts."""
  number, parts = batch
  path = _batch_path(folder, number, 'json')
  if path.exists():
    return record_counts.RecordCounts(**json.loads(path.read_bytes()))
  counts = record_counts.RecordCounts()
  with (
    new_files.new_file(_batch_path(folder, number, 'arrow')) as file,
    pa.ipc.new_file(file, _SCHEMA) as writer,
  ):
    rows, held = [], 0
    for row in work.read(parts, counts):
      rows.append(row)
      held += len(row.example) + _ROW_OVERHEAD
      if held >= _HELD_BYTES:
        _write_rows(rows, work.placement.num_buckets, writer)
        rows, held = [], 0
    _write_rows(rows, work.placement.num_buckets, writer)
  # This file marks the other one as complete.
  with new_files.new_file(path) as file:
    file.write(json.dumps(dataclasses.asdict(counts)).encode())
  return counts


def _write_rows(
  rows: list[work_lib.Row], num_buckets: int, writer: pa.RecordBatchFileWriter
) -> None:
  """Writes a record batch for each bucket, with rows in the source's order."""
  rows_of = [[] for _ in range(num_buckets)]
  for row in rows:
    rows_of[row.bucket].append(row)
  for some in rows_of:
    columns = (
      [row.client_id for row in some],
      [len(row.example) for row in some],
      [row.words for row in some],
      [row.example for row in some],
    )
    arrays = [
      pa.array(column, field.type) for column, field in zip(columns, _SCHEMA)
    ]
    writer.write_batch(pa.record_batch(arrays, schema=_SCHEMA))


def _write_shard(
  work: work_lib.Work,
  files: Sequence[pathlib.Path],
  folder: pathlib.Path,
  shard: client_splits.Shard,
) -> tuple[record_counts.RecordCounts, pa.Table]:
  """Writes a shard; returns the counts of what it leaves out, and its index."""
  path = folder / f'{shard.file_name}.json'
  min_examples = work.options.min_examples
  content = json.loads(path.read_bytes()) if path.exists() else {}
  if content.get('min_examples') == min_examples:
    counts = record_counts.RecordCounts(**content['counts'])
  else:
    # A shard written with another limit is written again.
    path.unlink(missing_ok=True)
    buckets = (
      _Bucket(files, bucket, work.placement.num_buckets)
      for bucket in shard.buckets
    )
    counts = work.write_shard(
      shard, itertools.chain.from_iterable(b.clients() for b in buckets)
    )
    content = {
      'min_examples': min_examples,
      'counts': dataclasses.asdict(counts),
    }
    with new_files.new_file(path) as file:
      file.write(json.dumps(content).encode())
  return counts, work.read_index(shard)


class _Bucket:
  """The rows of a bucket in all files, in the source's order."""

  def __init__(
    self, files: Sequence[pathlib.Path], bucket: int, num_buckets: int
  ) -> None:
    """Reads everything except the examples."""
    self._batches = []
    tables = [_SCHEMA.empty_table().select(_ALL_BUT_EXAMPLE)]
    for path in files:
      with _opened(path, _ALL_BUT_EXAMPLE) as reader:
        for number in range(bucket, reader.num_record_batches, num_buckets):
          self._batches.append((path, number))
          tables.append(pa.Table.from_batches([reader.get_batch(number)]))
    self._starts = np.cumsum([0, *(len(table) for table in tables[1:])])
    table = pa.concat_tables(tables).combine_chunks()
    self._sizes = table['size'].to_numpy()
    self._words = table['words'].to_numpy()
    # Sorts the ids of clients, not those of rows, of which there may be many.
    ids = table['client_id'].combine_chunks().dictionary_encode()
    by_id = compute.sort_indices(ids.dictionary)
    self._ids = ids.dictionary.take(by_id).to_pylist()
    # The client of each row, and the rows of the first, the second ... client.
    self._client_of = np.argsort(by_id.to_numpy())[ids.indices.to_numpy()]
    self._order = np.argsort(self._client_of, kind='stable')
    self._stops = np.cumsum(np.bincount(self._client_of))

  def clients(self) -> Iterator[work_lib.Client]:
    """Yields the clients by id; large ones are read as they are written."""
    is_large = np.bincount(self._client_of, self._sizes) > _LARGE_CLIENT_BYTES
    rows = np.flatnonzero(~is_large[self._client_of])
    loaded = dict(zip(rows.tolist(), self._read(rows), strict=True))
    start = 0
    for client_id, stop, large in zip(self._ids, self._stops, is_large):
      rows, start = self._order[start:stop], stop
      yield work_lib.Client(
        client_id=client_id,
        sizes=self._sizes[rows],
        words=self._words[rows],
        examples=self._read(rows)
        if large
        else map(loaded.__getitem__, rows.tolist()),
      )

  def _read(self, rows: np.ndarray) -> Iterator[bytes]:
    """Yields the examples of rows, which must be in order."""
    borders = np.searchsorted(rows, self._starts)
    for place, (path, number) in enumerate(self._batches):
      some = rows[borders[place] : borders[place + 1]] - self._starts[place]
      if not len(some):
        continue
      with _opened(path, _EXAMPLE) as reader:
        (column,) = reader.get_batch(number).columns
      for start in range(0, len(some), _ROWS_AT_A_TIME):
        yield from column.take(
          pa.array(some[start : start + _ROWS_AT_A_TIME])
        ).to_pylist()


@contextlib.contextmanager
def _opened(
  path: pathlib.Path, columns: list[int]
) -> Iterator[pa.RecordBatchFileReader]:
  # Not memory-mapped: that would seem to take much memory.
  with (
    pa.OSFile(os.fspath(path)) as file,
    pa.ipc.open_file(
      file, options=pa.ipc.IpcReadOptions(included_fields=columns)
    ) as reader,
  ):
    yield reader


def _batch_path(folder: pathlib.Path, number: int, suffix: str) -> pathlib.Path:
  return folder / f'{number:06}.{suffix}'


def _bar(description: str, total: int, unit: str) -> tqdm.tqdm:
  return tqdm.tqdm(
    total=total,
    desc=description,
    unit=unit,
    unit_scale=unit == 'B',
    dynamic_ncols=True,
    disable=None,
  )


@contextlib.contextmanager
def _processes(count: int) -> Iterator[_Run]:
  """Gives a function that maps a function over items, in processes.

  Results come in the order of the items.
  """
  if count == 1:
    yield map
    return
  context = multiprocessing.get_context('forkserver')
  # Imported once for all processes, which share its memory.
  context.set_forkserver_preload(['fedfish_tff.datasets.client_files'])
  # Only this process handles Ctrl-C.
  blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
  try:
    forkserver.ensure_running()
  finally:
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
  # The pipe's other end is closed when this process ends, for any reason.
  reader, writer = context.Pipe(duplex=False)
  pool = futures.ProcessPoolExecutor(
    count, mp_context=context, initializer=_end_with, initargs=(reader,)
  )

  def run(
    function: Callable[[Any], Any], items: Sequence[Any]
  ) -> Iterator[Any]:
    try:
      yield from pool.map(function, items)
    except (process.BrokenProcessPool, EOFError, ConnectionError) as error:
      # Errors of the function have the text of their traceback as cause; the
      # others are those of pipes to a server or process that was killed.
      if (
        isinstance(error, process.BrokenProcessPool) or error.__cause__ is None
      ):
        raise errors.InputError(
          'A process that groups was killed, perhaps for want of memory; the '
          'same command goes on, and takes less memory with fewer processes.'
        ) from error
      raise

  try:
    yield run
  except BaseException:
    writer.close()
    raise
  finally:
    pool.shutdown(cancel_futures=True)
    writer.close()
    reader.close()


def _end_with(reader: connection.Connection) -> None:
  """Ends this process as soon as the other end of a pipe is closed."""

  def wait() -> None:
    reader.poll(None)
    os.kill(os.getpid(), signal.SIGKILL)

  threading.Thread(target=wait, daemon=True).start()
