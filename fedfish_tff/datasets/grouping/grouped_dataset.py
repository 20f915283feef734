# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups a source by client into the files that Dataset Grouper reads."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff.datasets import flat_features
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets.grouping import beam_stages
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import client_table
from fedfish_tff.datasets.grouping import shard_writer
from fedfish_tff.datasets.grouping import sources

# How large a file is, about, and what a worker groups at a time.
_SHARD_BYTES = 2**28
_BUCKET_BYTES = 2**26
# A folder that has it goes on where an earlier call was.
WORK_FOLDER = 'work'
_SETTINGS_FILE = 'settings.json'

# Kinds of what is left out although nothing is wrong with it.
_TOO_FEW = 'too_few_examples'
_TOO_MANY = 'beyond_client_limit'


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupingOptions:
  """How to group.

  Attributes:
    splits: The division of clients.
    min_examples: Clients with fewer examples are left out.
    num_shards: How many files there are, if no split needs one more; None for
      files of about 256 MiB.
    max_bad_fraction: Grouping fails as soon as, by the size of what has been
      read, a larger share of all records cannot be used.
    max_client_bytes: What exceeds it is left out of a client's record.
  """

  splits: client_splits.ClientSplits = client_splits.ClientSplits()
  min_examples: int = 1
  num_shards: int | None = None
  max_bad_fraction: float = 0.01
  max_client_bytes: int = shard_writer.ShardLimits().max_client_bytes

  def __post_init__(self) -> None:
    for name in ('min_examples', 'num_shards'):
      value = getattr(self, name)
      if value is not None and value < 1:
        raise errors.InputError(
          f'{name} is {value}; a positive integer was expected.'
        )
    if not 0 <= self.max_bad_fraction <= 1:
      raise errors.InputError(
        f'max_bad_fraction is {self.max_bad_fraction}; a number from 0 to 1 '
        'was expected.'
      )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupedDataset:
  """What was written.

  Attributes:
    sizes: The sizes of the clients of each split.
    skipped: How many records of each kind were left out.
    named: Some of the records of each kind, or the clients that had them.
    small_clients: How many clients had too few examples.
  """

  sizes: Mapping[str, client_table.ClientSizes]
  skipped: Mapping[str, int]
  named: Mapping[str, Sequence[str]]
  small_clients: int

  def statistics(self) -> dict[str, Any]:
    """Returns all of it in numbers, as statistics.json has it."""
    splits = {
      split: client_table.summarize([sizes])
      for split, sizes in self.sizes.items()
    }
    return {
      'total': client_table.summarize(list(self.sizes.values())),
      'splits': splits,
      'skipped': dict(self.skipped),
      'named': {kind: list(named) for kind, named in self.named.items()},
      'clients_with_too_few_examples': self.small_clients,
    }


def group(
  source: sources.Source,
  folder: str | os.PathLike[str],
  *,
  options: GroupingOptions | None = None,
  key: Mapping[str, Any] | None = None,
  beam_flags: Sequence[str] = (),
  write_more: Callable[[GroupedDataset], None] | None = None,
) -> GroupedDataset:
  """Groups the examples of a source by client, on Apache Beam.

  Written are `<split>-SSSSS-of-NNNNN.tfrecord`, uncompressed, one record a
  client as Dataset Grouper (arXiv:2307.09619) has it; clients.parquet, where
  each record is; and at last dataset.json: without it, the rest is not whole.
  The same source gives the same files, whoever reads its parts.

  Memory holds a record that is read, 128 MiB of examples on their way, and of
  64 MiB of clients, or a single larger one, 150 bytes an example; all that
  of each worker.

  What was interrupted, or failed for too many records that cannot be used, goes
  on where it was by another call with the same folder, source and options;
  `min_examples`, `max_bad_fraction` and `max_client_bytes` may be others.

  Args:
    source: The examples.
    folder: An empty folder, or one of a call that did not end; the workers of
      Beam share it with this process.
    options: How to group.
    key: What dataset.json says of the key of clients.
    beam_flags: Flags of Beam, such as '--runner=...'; by default the work is
      done in this process.
    write_more: Is called before dataset.json is written, to write what else
      belongs to the folder.

  Returns:
    What was written.

  Raises:
    errors.InputError: If the source cannot be read, has no examples to keep, or
      too many records that cannot be used; or the folder cannot be written, or
      belongs to a call with another source or other options.
    OSError: If the index cannot be written.
  """
  options = options or GroupingOptions()
  folder = pathlib.Path(folder).resolve()
  parts = source.parts()
  total_bytes = source.estimated_bytes(parts)
  work = beam_stages.Work(
    source=source,
    placement=client_splits.plan_placement(
      options.splits,
      num_shards=options.num_shards or max(1, -(-total_bytes // _SHARD_BYTES)),
      total_bytes=total_bytes,
      bucket_bytes=_BUCKET_BYTES,
    ),
    limits=shard_writer.ShardLimits(
      min_examples=options.min_examples,
      max_client_bytes=options.max_client_bytes,
    ),
    folder=str(folder),
    work_folder=str(folder / WORK_FOLDER),
    max_bad_fraction=options.max_bad_fraction,
  )
  described = source.description(parts)
  features = flat_features.features_to_json(source.features)
  key = dict(key or {})
  done = folder / f'{WORK_FOLDER}.done'
  shutil.rmtree(done, ignore_errors=True)
  work.path().mkdir(exist_ok=True)
  _check_settings(
    work.path(_SETTINGS_FILE),
    {
      'source': described,
      'files': hashlib.sha256(repr(parts).encode()).hexdigest(),
      'features': features,
      'key': key,
      'splits': dataclasses.asdict(options.splits),
      'num_shards': options.num_shards,
    },
  )
  found = beam_stages.read(work, parts, beam_flags=beam_flags)
  reports = beam_stages.write(work, found['runs'], beam_flags=beam_flags)
  shards = work.placement.shards()
  parts_of = {split: [] for split in work.placement.shards_of}
  for shard in shards:
    parts_of[shard.split].append(
      work.path(beam_stages.INDEX, f'{shard.file_name}.parquet')
    )
  sizes = client_table.write_client_table(
    folder / grouped_folder.INDEX_FILE, parts_of
  )
  dataset = _describe(found, [reports[s.file_name] for s in shards], sizes)
  _check_is_not_empty(dataset, options)
  if write_more:
    write_more(dataset)
  _write_json(
    folder / grouped_folder.DESCRIPTION_FILE,
    {
      'format_version': grouped_folder.FORMAT_VERSION,
      'features': features,
      'key': key,
      'splits': {
        split: {
          'shards': work.placement.shards_of[split],
          'clients': len(sizes[split].examples),
          'examples': int(sizes[split].examples.sum()),
          'words': int(sizes[split].words.sum()),
        }
        for split in work.placement.shards_of
      },
      'skipped': dict(dataset.skipped),
      'source': described,
      'options': {
        **dataclasses.asdict(options.splits),
        'min_examples': options.min_examples,
      },
    },
  )
  # They are large, and all shards are written; what else there is goes at once,
  # since a part of it would be nothing to go on with.
  shutil.rmtree(work.path(beam_stages.RUNS))
  shutil.rmtree(work.path().rename(done), ignore_errors=True)
  return dataset


def _describe(
  found: beam_stages.Report,
  reports: Sequence[shard_writer.ShardReport],
  sizes: Mapping[str, client_table.ClientSizes],
) -> GroupedDataset:
  """Returns what was written, with all that was left out."""
  skipped, named = dict(found['skipped']), dict(found['named'])
  too_few = sum(report.small_client_examples for report in reports)
  if too_few:
    skipped[_TOO_FEW] = too_few
  too_many = sum(report.excess_examples for report in reports)
  if too_many:
    skipped[_TOO_MANY] = too_many
    large = sorted(name for report in reports for name in report.large_clients)
    named[_TOO_MANY] = large[: beam_stages.MOST_NAMED]
  return GroupedDataset(
    sizes=sizes,
    skipped=dict(sorted(skipped.items())),
    named=dict(sorted(named.items())),
    small_clients=sum(report.small_clients for report in reports),
  )


def _check_settings(path: pathlib.Path, settings: Mapping[str, Any]) -> None:
  """Checks that work goes on with the settings with which it began.

  Args:
    path: The file of them, which is written if it is not there.
    settings: What decides what is read and where it goes, as JSON has it.

  Raises:
    errors.InputError: If they differ.
  """
  try:
    known = regular_files.read_json(path, dict)
  except regular_files.MissingFileError:
    _write_json(path, settings)
    return
  others = [name for name in settings if known.get(name) != settings[name]]
  if others:
    raise errors.InputError(
      f'The folder {path.parent.parent} has unfinished work of which '
      f'{" and ".join(others)} differ; the same command was expected, which goes '
      'on with it, or that the folder is removed.'
    )


def _check_is_not_empty(
  dataset: GroupedDataset, options: GroupingOptions
) -> None:
  if any(len(sizes.examples) for sizes in dataset.sizes.values()):
    return
  if dataset.small_clients:
    raise errors.InputError(
      f'None of {dataset.small_clients:,} clients has '
      f'{options.min_examples:,} examples (min_examples); fewer were expected '
      'of a client.'
    )
  raise errors.InputError(
    'No record of the input can be used; examples were expected.'
  )


def _write_json(path: pathlib.Path, content: Mapping[str, Any]) -> None:
  text = json.dumps(content, indent=2, ensure_ascii=False)
  beam_stages.write_text(path, f'{text}\n')
