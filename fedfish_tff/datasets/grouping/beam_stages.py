# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The two stages of grouping, as pipelines of Apache Beam.

Examples do not pass through Beam's GroupByKey: the runner that needs no cluster
keeps all of its input in memory. Workers rather write what they read to runs
sorted by bucket, in a folder that all of them see, and group a bucket at a
time. What passes through Beam are parts of the source, and failures.

What is done is written down in the same folder: with each run, which examples
of which parts it holds; with each shard, what it left out. Work that was
interrupted goes on with what is not done.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import pathlib
import shutil
from typing import Any
import uuid

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff import regular_files
from fedfish_tff.datasets.grouping import beam_options
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import shard_writer
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import spilled_runs
from fedfish_tff.datasets.grouping import work_progress

import apache_beam as beam
from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner

# What a worker holds of the examples that it has read.
_RUN_BYTES = 2**27
# Work for as many workers, and yet few runs, where there are many small parts.
_LEAST_BATCHES = 32
_RUNS_OF_BATCH = 4
# From how many records on they tell how many there are in all.
_FEWEST_RECORDS = 100
# Of each kind, how many skipped records are named.
MOST_NAMED = 20

# The folder that workers share has these.
RUNS = 'runs'
READ = 'read'
PROGRESS = 'progress'
INDEX = 'index'

Report = dict[str, Any]
# The forms of the files of reports.
_REPORT = {
  'run': (str, None),
  'examples': int,
  'skipped': {...: int},
  'named': {...: [list]},
  'parts': [list],
}
_SHARD = {
  'limits': dict,
  'report': {
    'small_clients': int,
    'small_client_examples': int,
    'excess_examples': int,
    'large_clients': [str],
  },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
  """What both stages know.

  Attributes:
    source: What is grouped.
    placement: The place of each client.
    limits: What is left out.
    folder: Where shards are written.
    work_folder: Where everything else is.
    max_bad_fraction: The share of the records that may be unusable.
    run_bytes: How many bytes of examples a worker holds.
  """

  source: sources.Source
  placement: client_splits.Placement
  limits: shard_writer.ShardLimits
  folder: str
  work_folder: str
  max_bad_fraction: float
  run_bytes: int = _RUN_BYTES

  def path(self, *names: str) -> pathlib.Path:
    """A path in the folder that workers share."""
    return pathlib.Path(self.work_folder, *names)


def read(
  work: Work, parts: Sequence[sources.Part], *, beam_flags: Sequence[str]
) -> Report:
  """Reads all parts of the source into runs, but for what is in runs by now.

  Args:
    work: What to do.
    parts: The parts of its source.
    beam_flags: Flags of Beam.

  Returns:
    'runs', the names of the files; 'examples', how many they hold; 'skipped',
    how many records of each kind; and 'named', some of these.

  Raises:
    errors.InputError: If a part cannot be read, a run not be written, or more
      of the records than `max_bad_fraction` not be used. What was read is kept.
  """
  for name in (RUNS, READ):
    work.path(name).mkdir(exist_ok=True)
  while True:
    found, items = _merge(_load_reports(work))
    missing = [part for part in parts if items.get(part.number, 0) is not None]
    if not missing:
      _check_quality(found, work.max_bad_fraction, is_all=True)
      return found
    total = sum(part.size for part in parts)
    with _watched(
      work, RUNS, total=total, description='read', unit=work.source.size_unit
    ):
      try:
        do_fn = _ReadParts(work, total, items, found)
        _run(work, do_fn, _batches(work, missing), RUNS, beam_flags)
      except _TooManyBadError:
        found, _ = _merge(_load_reports(work))
        _check_quality(found, work.max_bad_fraction, is_all=False)


def write(
  work: Work, runs: Sequence[str], *, beam_flags: Sequence[str]
) -> dict[str, shard_writer.ShardReport]:
  """Writes all shards that are not written yet, and an index of each.

  Args:
    work: What to do.
    runs: The names of the runs.
    beam_flags: Flags of Beam.

  Returns:
    For each file name of a shard, what it left out.

  Raises:
    errors.InputError: If a run cannot be read, or a shard not be written.
  """
  work.path(INDEX).mkdir(exist_ok=True)
  for folder in (pathlib.Path(work.folder), work.path(INDEX)):
    new_files.remove_temporaries(folder)  # Of a worker that was killed.
  shards = work.placement.shards()
  missing = [shard for shard in shards if _load_shard(work, shard) is None]
  if missing:
    with _watched(
      work, INDEX, total=len(missing), description='write', unit=' shards'
    ):
      do_fn = _WriteShards(work, tuple(runs), len(missing))
      _run(work, do_fn, missing, INDEX, beam_flags)
  return {shard.file_name: _load_shard(work, shard) for shard in shards}


@contextlib.contextmanager
def _watched(work: Work, name: str, **options: Any) -> Iterator[None]:
  folder = work.path(PROGRESS, name)
  # Of what was interrupted.
  shutil.rmtree(folder, ignore_errors=True)
  with work_progress.watched(folder, **options):
    yield


def _load_reports(work: Work) -> list[Report]:
  """Returns reports on runs that have no example twice.

  A runner may do work twice. Of what is the same, one report counts, and those
  go on with a part which begin where others end.
  """
  waiting = [
    regular_files.read_json(path, _REPORT)
    for path in sorted(work.path(READ).glob('*.json'))
  ]
  taken, items = [], {}
  while True:
    others = []
    for report in waiting:
      if all(
        items.get(part, 0) == start for part, start, _, _ in report['parts']
      ):
        taken.append(report)
        for part, _, stop, is_whole in report['parts']:
          items[part] = None if is_whole else stop
      else:
        others.append(report)
    if len(others) == len(waiting):
      return taken
    waiting = others


def _merge(reports: Sequence[Report]) -> tuple[Report, dict[int, int | None]]:
  """Returns what `read` does, and how much is read of parts: None for all."""
  merged = {'runs': [], 'examples': 0, 'skipped': {}, 'named': {}}
  items = {}
  for report in reports:
    if report['run'] is not None:
      merged['runs'].append(report['run'])
    merged['examples'] += report['examples']
    for kind, count in report['skipped'].items():
      merged['skipped'][kind] = merged['skipped'].get(kind, 0) + count
    for kind, named in report['named'].items():
      merged['named'].setdefault(kind, []).extend(named)
    for part, _, stop, is_whole in report['parts']:
      items[part] = None if is_whole else stop
  for kind, named in merged['named'].items():
    merged['named'][kind] = [name for *_, name in sorted(named)][:MOST_NAMED]
  return merged, items


def _check_quality(
  found: Report, max_bad_fraction: float, *, is_all: bool
) -> None:
  """Raises an InputError if too many records cannot be used.

  Args:
    found: What `read` returns.
    max_bad_fraction: The share of the records that may be unusable.
    is_all: Whether all records have been read; else there are too many anyway.
  """
  num_bad = sum(found['skipped'].values())
  total = num_bad + found['examples']
  if not total:
    raise errors.InputError('The input has no record; examples were expected.')
  if is_all and num_bad <= max_bad_fraction * total:
    return
  kinds = ', '.join(
    f'{count:,} {kind} (such as {found["named"][kind][0]})'
    for kind, count in sorted(found['skipped'].items())
  )
  raise errors.InputError(
    f'{num_bad:,} of {total:,} records read cannot be used: {kinds}; at most '
    f'{max_bad_fraction:.2%} of all (max_bad_fraction) were expected; with a '
    'larger one, the same goes on from what was read.'
  )


class _TooManyBadError(Exception):
  """More records than are allowed cannot be used."""


def _batches(
  work: Work, parts: Sequence[sources.Part]
) -> list[list[sources.Part]]:
  """Divides parts, in order, into what a worker reads at a time.

  Beam's bundles would not do: to some runners one is a single element, and that
  for Dask drops what a DoFn returns at the end of one.
  """
  total_bytes = max(work.source.estimated_bytes(parts), 1)
  share = _RUNS_OF_BATCH * work.run_bytes / total_bytes
  limit = sum(part.size for part in parts) * min(1 / _LEAST_BATCHES, share)
  batches, filled = [], limit
  for part in parts:
    if filled >= limit:
      batches.append([])
      filled = 0
    batches[-1].append(part)
    filled += part.size
  return batches


class _ReadParts(beam.DoFn):
  """Reads batches of parts, reports on each run, and returns what failed."""

  def __init__(
    self,
    work: Work,
    total: int,
    items: Mapping[int, int | None],
    found: Report,
  ) -> None:
    """Prepares.

    Args:
      work: What to do.
      total: The size of all parts of the source.
      items: How much of parts is in runs by now.
      found: What `read` returns, of what is in runs by now.
    """
    self._work = work
    self._total = total
    self._items = items
    self._bad_before = sum(found['skipped'].values())
    self._records_before = self._bad_before + found['examples']

  def start_bundle(self) -> None:
    self._runs = spilled_runs.RunWriter(
      self._work.path(RUNS),
      num_buckets=self._work.placement.num_buckets,
      max_bytes=self._work.run_bytes,
    )
    self._name, self._number = uuid.uuid4().hex, 0
    self._failures = {}
    self._bad, self._records, self._size = self._bad_before, 0, 0

  def process(self, parts: Sequence[sources.Part]) -> Iterable[Report]:
    if self._failures:
      return
    self._begin_report()
    with _failures_reported(self._failures):
      for part in parts:
        self._read_part(part)
    # Runs outlast parts, so that there are few; what there is is written now.
    with _failures_reported(self._failures):
      self._end_report()
    yield dict(self._failures)

  def _read_part(self, part: sources.Part) -> None:
    told = work_progress.WorkProgress(
      self._work.path(PROGRESS, RUNS), str(part.number), total=self._total
    )

    def progress(amount: int) -> None:
      self._size += amount
      told(amount)

    first = self._items.get(part.number, 0)
    self._parts[part.number] = [first, first, False]
    for number, item in enumerate(self._work.source.read(part, progress)):
      is_bad = isinstance(item, sources.Skipped)
      self._records += item.count if is_bad else 1
      if number < first:
        continue
      if is_bad:
        self._skip((part.number, number), item)
      else:
        self._add(part, item)
      self._parts[part.number][1] = number + 1
      if self._runs.is_full:
        self._end_report()
        self._begin_report()
        self._parts[part.number] = [number + 1, number + 1, False]
      if is_bad and self._are_too_many_bad():
        raise _TooManyBadError
    self._parts[part.number][2] = True

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

  def _skip(self, place: tuple[int, int], item: sources.Skipped) -> None:
    self._bad += item.count
    skipped = self._report['skipped']
    skipped[item.kind] = skipped.get(item.kind, 0) + item.count
    named = self._report['named'].setdefault(item.kind, [])
    # Parts come in any order: the first of all are among the first of each.
    if sum(part == place[0] for part, *_ in named) < MOST_NAMED:
      named.append((*place, item.where))

  def _are_too_many_bad(self) -> bool:
    """Whether there are, even if all is good that has not been read yet.

    How many records that is follows from the size of those that have been, but
    it is no less than these are.
    """
    if self._records < _FEWEST_RECORDS:
      return False
    known = self._records_before + self._records
    expected = self._records * self._total / max(self._size, 1)
    return self._bad > self._work.max_bad_fraction * max(known, expected)

  def _begin_report(self) -> None:
    self._parts = {}
    self._report = {'run': None, 'examples': 0, 'skipped': {}, 'named': {}}

  def _end_report(self) -> None:
    """Writes a run, and what it holds."""
    if not self._parts:
      return
    # Where a report could not be written, the run that it is of is there.
    self._report['run'] = self._runs.flush() or self._report['run']
    self._report['parts'] = [
      (part, *state) for part, state in self._parts.items()
    ]
    self._number += 1
    _write_json(
      self._work.path(READ, f'{self._name}-{self._number:06}.json'),
      self._report,
    )


class _WriteShards(beam.DoFn):
  """Writes shards and a report on each, and returns what failed."""

  def __init__(self, work: Work, runs: Sequence[str], num_shards: int) -> None:
    self._work = work
    self._runs = runs
    self._num_shards = num_shards

  def process(self, shard: client_splits.Shard) -> Iterable[Report]:
    failures = {}
    with _failures_reported(failures):
      # Of other limits, with which it is no longer written.
      _shard_report_path(self._work, shard).unlink(missing_ok=True)
      left_out = shard_writer.write_shard(
        shard,
        runs=[self._work.path(RUNS, name) for name in self._runs],
        num_buckets=self._work.placement.num_buckets,
        limits=self._work.limits,
        folder=self._work.folder,
        index_folder=self._work.path(INDEX),
      )
      _write_json(
        _shard_report_path(self._work, shard),
        {
          'limits': dataclasses.asdict(self._work.limits),
          'report': dataclasses.asdict(left_out),
        },
      )
      work_progress.WorkProgress(
        self._work.path(PROGRESS, INDEX),
        shard.file_name,
        total=self._num_shards,
      )(1)
    yield failures


def _shard_report_path(work: Work, shard: client_splits.Shard) -> pathlib.Path:
  return work.path(INDEX, f'{shard.file_name}.json')


def _load_shard(
  work: Work, shard: client_splits.Shard
) -> shard_writer.ShardReport | None:
  """Returns what a shard left out; None if it is not written like this."""
  path = _shard_report_path(work, shard)
  try:
    content = regular_files.read_json(path, _SHARD)
  except regular_files.MissingFileError:
    return None
  if content['limits'] != dataclasses.asdict(work.limits):
    return None
  return shard_writer.ShardReport(**content['report'])


@contextlib.contextmanager
def _failures_reported(report: Report) -> Iterator[None]:
  """Reports errors that are not ours as results: no runner changes these."""
  try:
    yield
  except _TooManyBadError:
    report['too_many_bad'] = True
  except errors.InputError as error:
    report['failure'] = str(error)
  except OSError as error:
    where = f' {error.filename}' if error.filename else ''
    reason = error.strerror or error
    report['failure'] = f'Cannot read or write{where}: {reason}.'


def _run(
  work: Work,
  do_fn: beam.DoFn,
  elements: Sequence[Any],
  name: str,
  beam_flags: Sequence[str],
) -> None:
  """Lets a DoFn do its work on all elements; raises what failed."""
  path = work.path(f'{name}.json')
  path.unlink(missing_ok=True)
  options = pipeline_options.PipelineOptions(list(beam_flags))
  setup = options.view_as(pipeline_options.SetupOptions)
  if setup.pickle_library == 'default':
    # Beam's own fails on a source that a script defines as a data class.
    setup.pickle_library = 'cloudpickle'
  runner = beam_options.create_beam_runner(beam_flags)
  try:
    pipeline = beam.Pipeline(runner, options=options)
    _ = (
      pipeline
      | 'Plan' >> beam.Create(list(elements))
      | 'Distribute' >> beam.Reshuffle()
      | name.capitalize() >> beam.ParDo(do_fn)
      # With defaults, it takes a side input, for which Dask would do all again.
      | 'Collect' >> beam.combiners.ToList().without_defaults()
      | 'Report' >> beam.Map(_write_reports, str(path))
    )
    state = pipeline.run().wait_until_finish()
  except Exception as error:
    # What a worker of this process is interrupted by, Beam makes an error of.
    if isinstance(error, RuntimeError) and 'KeyboardInterrupt' in str(error):
      raise KeyboardInterrupt from None
    if runner is None or 'Direct' in type(runner).__name__:
      raise
    # Others raise errors of their own: without a flag, a jar, or workers.
    reason = ' '.join(str(error).split()) or type(error).__name__
    raise errors.InputError(
      f'The runner {type(runner).__name__} of Beam has failed: '
      f'{reason.rstrip(".")}.'
    ) from error
  if state != beam_runner.PipelineState.DONE:
    raise errors.InputError(
      f'The runner of Beam ended with state {state}; its log says why.'
    )
  try:
    reports = regular_files.read_json(path, [{'failure': (str, None)}])
  except regular_files.MissingFileError:
    raise errors.InputError(
      f'The workers of Beam did not write to {work.folder}; a folder that all '
      'of them share with this process was expected.'
    ) from None
  for report in reports:
    if 'failure' in report:
      raise errors.InputError(report['failure'])
  if any(reports):
    raise _TooManyBadError


def _write_reports(reports: Sequence[Report], path: str) -> None:
  _write_json(pathlib.Path(path), reports)


def _write_json(path: pathlib.Path, content: Any) -> None:
  write_text(path, json.dumps(content))


def write_text(path: pathlib.Path, text: str) -> None:
  """Writes a file as `new_files.new_file` does.

  Args:
    path: The file.
    text: All of its content.

  Raises:
    OSError: If it cannot be written.
  """
  with new_files.new_file(path) as file:
    file.write(text.encode())
