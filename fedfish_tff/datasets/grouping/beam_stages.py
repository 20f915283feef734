# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The two stages of grouping, as pipelines of Apache Beam.

Examples do not pass through Beam's GroupByKey: the runner that needs no cluster
keeps all of its input in memory. Workers rather write what they read to runs
sorted by bucket, in a folder that all of them see, and group a bucket at a
time. What passes through Beam are parts of the source, names of files, counts.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import os
import pathlib
from typing import Any
import uuid

from fedfish_tff import errors
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import shard_writer
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import spilled_runs
from fedfish_tff.datasets.grouping import work_progress

import apache_beam as beam
from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner
from apache_beam.transforms import window
from apache_beam.utils import windowed_value
import tensorflow as tf

# What a worker holds of the examples that it has read.
_RUN_BYTES = 2**27
# Of each kind, how many skipped records are named.
MOST_NAMED = 20

# The folder that workers share has these.
RUNS = 'runs'
PROGRESS = 'progress'
INDEX = 'index'

Report = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
  """What both stages know.

  Attributes:
    source: What is grouped.
    placement: The place of each client.
    limits: What is left out.
    folder: Where shards are written.
    work_folder: Where everything else is.
    run_bytes: How many bytes of examples a worker holds.
  """

  source: sources.Source
  placement: client_splits.Placement
  limits: shard_writer.ShardLimits
  folder: str
  work_folder: str
  run_bytes: int = _RUN_BYTES

  def path(self, *names: str) -> pathlib.Path:
    """A path in the folder that workers share."""
    return pathlib.Path(self.work_folder, *names)


def read(
  work: Work, parts: Sequence[sources.Part], *, beam_flags: Sequence[str]
) -> Report:
  """Reads all parts of the source into runs.

  Args:
    work: What to do.
    parts: The parts of its source.
    beam_flags: Flags of Beam.

  Returns:
    'runs', the names of the files; 'examples', how many they hold; 'skipped',
    how many records of each kind; and 'named', some of these.

  Raises:
    errors.InputError: If a part cannot be read, or a run not be written.
  """
  total = sum(part.size for part in parts)
  with work_progress.watched(
    work.path(PROGRESS, RUNS),
    total=total,
    description='read',
    unit=work.source.size_unit,
  ):
    work.path(RUNS).mkdir(exist_ok=True)
    reports = _run(work, _ReadParts(work, total), parts, RUNS, beam_flags)
  merged = {'runs': [], 'examples': 0, 'skipped': {}, 'named': {}}
  for report in reports:
    merged['runs'] += report['runs']
    merged['examples'] += report['examples']
    for kind, count in report['skipped'].items():
      merged['skipped'][kind] = merged['skipped'].get(kind, 0) + count
    for kind, named in report['named'].items():
      merged['named'].setdefault(kind, []).extend(named)
  for kind, named in merged['named'].items():
    merged['named'][kind] = [name for *_, name in sorted(named)][:MOST_NAMED]
  return merged


def write(
  work: Work, runs: Sequence[str], *, beam_flags: Sequence[str]
) -> dict[str, shard_writer.ShardReport]:
  """Writes all shards, and an index of each.

  Args:
    work: What to do.
    runs: The names of the runs.
    beam_flags: Flags of Beam.

  Returns:
    For each file name of a shard, what it left out.

  Raises:
    errors.InputError: If a run cannot be read, or a shard not be written.
  """
  shards = work.placement.shards()
  with work_progress.watched(
    work.path(PROGRESS, INDEX),
    total=len(shards),
    description='write',
    unit=' shards',
  ):
    work.path(INDEX).mkdir(exist_ok=True)
    do_fn = _WriteShards(work, tuple(runs), len(shards))
    reports = _run(work, do_fn, shards, INDEX, beam_flags)
  return {
    report['shard']: shard_writer.ShardReport(**report['report'])
    for report in reports
  }


class _ReadParts(beam.DoFn):
  """Reads parts, and returns a report on each bundle of them."""

  def __init__(self, work: Work, total: int) -> None:
    self._work = work
    self._total = total

  def start_bundle(self) -> None:
    self._runs = spilled_runs.RunWriter(
      self._work.path(RUNS),
      num_buckets=self._work.placement.num_buckets,
      max_bytes=self._work.run_bytes,
    )
    self._report = {'examples': 0, 'skipped': {}, 'named': {}}

  def process(self, part: sources.Part) -> Iterable[Report]:
    if 'failure' in self._report:
      return ()
    with _failures_reported(self._report):
      progress = work_progress.WorkProgress(
        self._work.path(PROGRESS, RUNS), str(part.number), total=self._total
      )
      for item in self._work.source.read(part, progress):
        if isinstance(item, sources.Skipped):
          self._skip(part, item)
        else:
          self._add(part, item)
    return ()

  def finish_bundle(self) -> Iterator[windowed_value.WindowedValue]:
    # Runs outlast parts, so that there are few; they are all written now.
    with _failures_reported(self._report):
      self._runs.flush()
    yield windowed_value.WindowedValue(
      self._report | {'runs': self._runs.names},
      window.GlobalWindow().max_timestamp(),
      [window.GlobalWindow()],
    )

  def _add(self, part: sources.Part, item: sources.SourceExample) -> None:
    self._report['examples'] += 1
    self._runs.add(
      self._work.placement.bucket_of(item.client_id),
      spilled_runs.SpilledExample(
        client_id=item.client_id.encode(),
        order=(part.number, item.position),
        words=item.words,
        serialized=item.serialized,
      ),
    )

  def _skip(self, part: sources.Part, item: sources.Skipped) -> None:
    skipped = self._report['skipped']
    skipped[item.kind] = skipped.get(item.kind, 0) + 1
    named = self._report['named'].setdefault(item.kind, [])
    # Parts come in any order: the first of all are among the first of each.
    count = sum(number == part.number for number, *_ in named)
    if count < MOST_NAMED:
      named.append((part.number, count, item.where))


class _WriteShards(beam.DoFn):
  """Writes shards, and returns a report on each."""

  def __init__(self, work: Work, runs: Sequence[str], num_shards: int) -> None:
    self._work = work
    self._runs = runs
    self._num_shards = num_shards

  def process(self, shard: client_splits.Shard) -> Iterable[Report]:
    report = {'shard': shard.file_name}
    with _failures_reported(report):
      left_out = shard_writer.write_shard(
        shard,
        runs=[self._work.path(RUNS, name) for name in self._runs],
        num_buckets=self._work.placement.num_buckets,
        limits=self._work.limits,
        folder=self._work.folder,
        index_folder=self._work.path(INDEX),
      )
      report['report'] = dataclasses.asdict(left_out)
      work_progress.WorkProgress(
        self._work.path(PROGRESS, INDEX),
        shard.file_name,
        total=self._num_shards,
      )(1)
    yield report


@contextlib.contextmanager
def _failures_reported(report: Report) -> Iterator[None]:
  """Reports errors that are not ours as results: no runner changes these."""
  try:
    yield
  except errors.InputError as error:
    report['failure'] = str(error)
  except OSError as error:
    where = f' {error.filename}' if error.filename else ''
    reason = error.strerror or error
    report['failure'] = f'Cannot read or write{where}: {reason}.'
  except tf.errors.OpError as error:
    report['failure'] = f'Cannot write: {error.message.splitlines()[0]}.'


def _run(
  work: Work,
  do_fn: beam.DoFn,
  elements: Sequence[Any],
  name: str,
  beam_flags: Sequence[str],
) -> list[Report]:
  """Returns what a DoFn returns for all elements, in any order."""
  path = work.path(f'{name}.json')
  options = pipeline_options.PipelineOptions(list(beam_flags))
  setup = options.view_as(pipeline_options.SetupOptions)
  if setup.pickle_library == 'default':
    # Beam's own fails on a source that a script defines as a data class.
    setup.pickle_library = 'cloudpickle'
  pipeline = beam.Pipeline(options=options)
  _ = (
    pipeline
    | 'Plan' >> beam.Create(list(elements))
    | 'Distribute' >> beam.Reshuffle()
    | name.capitalize() >> beam.ParDo(do_fn)
    | 'Collect' >> beam.combiners.ToList()
    | 'Report' >> beam.Map(_write_reports, str(path))
  )
  try:
    state = pipeline.run().wait_until_finish()
  except RuntimeError as error:
    # What a worker of this process is interrupted by, Beam makes an error of.
    if 'KeyboardInterrupt' in str(error):
      raise KeyboardInterrupt from None
    raise
  if state != beam_runner.PipelineState.DONE:
    raise errors.InputError(
      f'The runner of Beam ended with state {state}; its log says why.'
    )
  try:
    reports = json.loads(path.read_bytes())
  except FileNotFoundError:
    raise errors.InputError(
      f'The workers of Beam did not write to {work.folder}; a folder that all '
      'of them share with this process was expected.'
    ) from None
  for report in reports:
    if 'failure' in report:
      raise errors.InputError(report['failure'])
  return reports


def _write_reports(reports: Sequence[Report], path: str) -> None:
  temporary = f'{path}.{uuid.uuid4().hex}.partial'
  with open(temporary, 'w', encoding='utf-8') as file:
    json.dump(list(reports), file)
  os.replace(temporary, path)
