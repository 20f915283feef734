# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Grouping on a runner of Apache Beam, with Beam's own shuffle.

Workers share only the folder of shards with this process. Create, ParDo and
GroupByKey suffice, without side inputs, state or output at the end of a bundle,
since runners differ in the rest.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import json
import operator
import posixpath
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff.datasets.grouping import beam_options
from fedfish_tff.datasets.grouping import record_counts
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import work as work_lib

import apache_beam as beam
from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner
import numpy as np
import psutil
import pyarrow as pa
import tensorflow as tf

# The key of counts of records, where others have the number of a shard.
_COUNTS = -1
# The memory that the in-process runner needs, per byte of examples.
_DIRECT_FACTOR = 5


def group(
  work: work_lib.Work,
  parts: Sequence[sources.Part],
  *,
  beam_flags: Sequence[str],
) -> tuple[record_counts.RecordCounts, list[pa.Table]]:
  """Reads all parts and writes all shards.

  The runner must write to the folder of `work`.

  Args:
    work: The reading and writing.
    parts: The parts of its source.
    beam_flags: Flags of Beam, with '--runner'.

  Returns:
    The counts of records, and the index of each shard.
  """
  runner, flags = beam_options.create_beam_runner(beam_flags)
  is_direct = 'Direct' in type(runner).__name__
  if is_direct:
    _check_memory(work.source.estimated_bytes(parts))
  # Reports of an earlier call, which may have had other options, are removed.
  if tf.io.gfile.exists(_report_folder(work)):
    tf.io.gfile.rmtree(_report_folder(work))
  tf.io.gfile.makedirs(_report_folder(work))
  options = pipeline_options.PipelineOptions(flags)
  setup = options.view_as(pipeline_options.SetupOptions)
  if setup.pickle_library == 'default':
    # Beam's own pickling fails on a source that a script defines as a data
    # class.
    setup.pickle_library = 'cloudpickle'
  try:
    pipeline = beam.Pipeline(runner, options=options)
    _ = (
      pipeline
      | 'Plan' >> beam.Create(list(parts))
      | 'Distribute' >> beam.Reshuffle()
      | 'Read' >> beam.FlatMap(_read_part, work)
      | 'Group' >> beam.GroupByKey()
      | 'Write' >> beam.Map(_write_group, work)
    )
    state = pipeline.run().wait_until_finish()
  except Exception as error:
    # Beam turns the interrupt of a worker in this process into an error.
    if isinstance(error, RuntimeError) and 'KeyboardInterrupt' in str(error):
      raise KeyboardInterrupt from None
    if is_direct:
      raise
    # Other runners raise their own errors: without a flag, a jar, or workers.
    reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.InputError(
      f'The runner {type(runner).__name__} of Beam has failed: '
      f'{reason.rstrip(".")}.'
    ) from error
  if state != beam_runner.PipelineState.DONE:
    raise errors.InputError(
      f'The runner of Beam ended with state {state}; its log says why.'
    )
  return _collect(work)


def _check_memory(num_bytes: int) -> None:
  """Refuses data too large for the memory of the in-process runner."""
  needed, free = _DIRECT_FACTOR * num_bytes, psutil.virtual_memory().available
  if needed > free:
    raise errors.InputError(
      f'--runner=DirectRunner holds all in memory, about {needed / 1e9:,.1f} '
      f'GB, and {free / 1e9:,.1f} GB are free; without --runner, the engine of '
      'this machine groups on disk.'
    )


def _read_part(
  part: sources.Part, work: work_lib.Work
) -> Iterator[tuple[int, tuple]]:
  """Yields the examples of a part by shard, and the counts of its records."""
  counts, failure = record_counts.RecordCounts(), None
  try:
    for row in work.read([part], counts):
      yield row.bucket // work.placement.buckets_per_shard, tuple(row)
  # Runners do not pass on this package's errors unchanged.
  except (errors.InputError, OSError) as error:
    failure = str(error)
  yield _COUNTS, (dataclasses.asdict(counts), failure)


def _write_group(
  group: tuple[int, Iterable[tuple]], work: work_lib.Work
) -> None:
  """Writes a shard and the counts of what it leaves out, or of all parts."""
  number, values = group
  if number == _COUNTS:
    _write_json(
      _report_path(work, 'counts'),
      [{'counts': counts, 'failure': failure} for counts, failure in values],
    )
    return
  shard = work.placement.shards()[number]
  rows = sorted(
    itertools.starmap(work_lib.Row, values), key=operator.itemgetter(0, 1, 2, 3)
  )
  counts = work.write_shard(shard, _clients(rows))
  _write_json(_report_path(work, shard.file_name), dataclasses.asdict(counts))


def _clients(rows: Sequence[work_lib.Row]) -> Iterator[work_lib.Client]:
  for (_, client_id), some in itertools.groupby(
    rows, operator.itemgetter(0, 1)
  ):
    examples = list(some)
    yield work_lib.Client(
      client_id=client_id,
      sizes=np.array([len(row.example) for row in examples], np.int64),
      words=np.array([row.words for row in examples], np.int64),
      examples=[row.example for row in examples],
    )


def _collect(
  work: work_lib.Work,
) -> tuple[record_counts.RecordCounts, list[pa.Table]]:
  """Reads the workers' results, and writes shards without clients."""
  try:
    parts = _read_json(_report_path(work, 'counts'))
  except tf.errors.NotFoundError:
    raise errors.InputError(
      f'The workers of Beam must write to {work.folder}, a folder that they '
      'share with this process; nothing is there.'
    ) from None
  counts = record_counts.RecordCounts()
  for part in parts:
    if part['failure'] is not None:
      raise errors.InputError(part['failure'])
    counts.merge(record_counts.RecordCounts(**part['counts']))
  counts.check(work.options.max_bad_fraction, total_size=None)
  for name in tf.io.gfile.listdir(work.folder):
    if new_files.is_temporary(name):  # From a worker that was killed.
      tf.io.gfile.remove(posixpath.join(work.folder, name))
  tables = []
  for shard in work.placement.shards():
    try:
      report = _read_json(_report_path(work, shard.file_name))
      counts.merge(record_counts.RecordCounts(**report))
    except tf.errors.NotFoundError:
      work.write_shard(shard, [])
    tables.append(work.read_index(shard))
  tf.io.gfile.rmtree(_report_folder(work))
  return counts, tables


def _report_folder(work: work_lib.Work) -> str:
  return posixpath.join(work.folder, 'reports')


def _report_path(work: work_lib.Work, name: str) -> str:
  return posixpath.join(_report_folder(work), f'{name}.json')


def _write_json(path: str, content: Any) -> None:
  # Written under another name first, since workers may be killed.
  temporary = new_files.temporary_name(path)
  with tf.io.gfile.GFile(temporary, 'w') as file:
    file.write(json.dumps(content))
  tf.io.gfile.rename(temporary, path, overwrite=True)


def _read_json(path: str) -> Any:
  with tf.io.gfile.GFile(path, 'r') as file:
    return json.loads(file.read())
