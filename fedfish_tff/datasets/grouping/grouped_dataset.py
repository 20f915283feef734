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
from fedfish_tff import new_files
from fedfish_tff import regular_files
from fedfish_tff.datasets import folder_writer
from fedfish_tff.datasets import grouped_folder
from fedfish_tff.datasets.grouping import client_splits
from fedfish_tff.datasets.grouping import local_engine
from fedfish_tff.datasets.grouping import sources
from fedfish_tff.datasets.grouping import work as work_lib

import numpy as np

# The approximate sizes of a file, and of the data that a process groups at a
# time.
_SHARD_BYTES = 2**28
_BUCKET_BYTES = 2**26
# A folder that contains it continues the work of an earlier call.
WORK_FOLDER = 'work'
_SETTINGS_FILE = 'settings.json'

_PERCENTILES = {
  'min': 0,
  'p10': 10,
  'p25': 25,
  'median': 50,
  'p75': 75,
  'p90': 90,
  'p99': 99,
  'max': 100,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GroupedDataset:
  """The result of grouping.

  Attributes:
    sizes: The sizes of the clients of each split.
    skipped: The number of records of each kind that were left out.
    named: Some of the records of each kind, or their clients.
    small_clients: The number of clients with too few examples.
  """

  sizes: Mapping[str, folder_writer.ClientSizes]
  skipped: Mapping[str, int]
  named: Mapping[str, Sequence[str]]
  small_clients: int

  def statistics(self) -> dict[str, Any]:
    """Returns these results as numbers, as in statistics.json."""
    splits = {split: _summarize([sizes]) for split, sizes in self.sizes.items()}
    return {
      'total': _summarize(list(self.sizes.values())),
      'splits': splits,
      'skipped': dict(self.skipped),
      'named': {kind: list(named) for kind, named in self.named.items()},
      'clients_with_too_few_examples': self.small_clients,
    }


def group(
  source: sources.Source,
  folder: str | os.PathLike[str],
  *,
  options: work_lib.GroupingOptions | None = None,
  key: Mapping[str, Any] | None = None,
  num_processes: int = 1,
  beam_flags: Sequence[str] = (),
  shard_folder: str | None = None,
  write_more: Callable[[GroupedDataset], None] | None = None,
) -> GroupedDataset:
  """Groups the examples of a source by client.

  The written files are `<split>-SSSSS-of-NNNNN.tfrecord`, uncompressed, with
  one record per client as in Dataset Grouper (arXiv:2307.09619);
  clients.parquet, the index of the records; and last dataset.json, without
  which the folder is incomplete. The same source gives the same files, with any
  number of processes and on any runner of Beam.

  Without flags of Beam, processes of this machine group on disk. Work that was
  interrupted, or failed for too many bad records, is continued by another call
  with the same folder, source and options, which skips the finished parts and
  shards. Only `min_examples` and `max_bad_fraction` may differ.

  Args:
    source: The source of examples.
    folder: An empty folder, or the folder of an unfinished call.
    options: The splits, sizes and limits; by default those of
      `GroupingOptions`.
    key: The entry of dataset.json about the key of clients.
    num_processes: The number of processes on this machine. With 1, this process
      does all the work. With more, a script that calls this needs a main guard.
    beam_flags: Flags of Beam, with '--runner=...', which then does the
      grouping.
    shard_folder: The folder of shards that Beam's workers share, which may be a
      URL for tf.io.gfile; by default `folder`.
    write_more: A function that writes further files of the folder, called
      before dataset.json is written.

  Returns:
    The sizes of clients, and the number of records left out.
  """
  options = options or work_lib.GroupingOptions()
  folder = pathlib.Path(folder).resolve()
  parts = source.parts()
  total_bytes = source.estimated_bytes(parts)
  total_size = sum(part.size for part in parts)
  if 0 < total_size < (options.num_shards or 1):
    raise errors.InputError(
      f'num_shards must be at most the size of the source, {total_size:,}'
      f'{source.size_unit}, got {options.num_shards}.'
    )
  work = work_lib.Work(
    source=source,
    placement=client_splits.plan_placement(
      options.splits,
      num_shards=options.num_shards or max(1, -(-total_bytes // _SHARD_BYTES)),
      total_bytes=total_bytes,
      bucket_bytes=_BUCKET_BYTES,
    ),
    options=options,
    total_size=total_size,
    folder=shard_folder or str(folder),
  )
  described = source.description(parts)
  features = dict(source.features)
  key = dict(key or {})
  work_folder, done = folder / WORK_FOLDER, folder / f'{WORK_FOLDER}.done'
  shutil.rmtree(done, ignore_errors=True)
  if beam_flags:
    # Imported late, with TensorFlow and Beam.
    from fedfish_tff.datasets.grouping import beam_engine  # pylint: disable=g-import-not-at-top

    counts, tables = beam_engine.group(work, parts, beam_flags=beam_flags)
  else:
    work_folder.mkdir(exist_ok=True)
    _check_settings(
      work_folder / _SETTINGS_FILE,
      {
        'source': described,
        'files': hashlib.sha256(repr(parts).encode()).hexdigest(),
        'features': features,
        'key': key,
        'splits': dataclasses.asdict(options.splits),
        'num_shards': options.num_shards,
      },
    )
    counts, tables = local_engine.group(
      work, parts, folder=work_folder, num_processes=num_processes
    )
  tables_of = {split: [] for split in work.placement.shards_of}
  for shard, table in zip(work.placement.shards(), tables, strict=True):
    tables_of[shard.split].append(table)
  sizes = folder_writer.write_index(
    folder / grouped_folder.INDEX_FILE, tables_of
  )
  dataset = GroupedDataset(
    sizes=sizes,
    skipped=dict(sorted(counts.skipped.items())),
    named=dict(sorted(counts.names().items())),
    small_clients=counts.small_clients,
  )
  _check_is_not_empty(dataset, options)
  if write_more:
    write_more(dataset)
  folder_writer.write_description(
    folder,
    features=features,
    key=key,
    shards=work.placement.shards_of,
    sizes=sizes,
    skipped=dataset.skipped,
    source=described,
    options={
      **dataclasses.asdict(options.splits),
      'min_examples': options.min_examples,
    },
  )
  if work_folder.exists():
    # Renamed first: with a part of this folder, a later call could not
    # continue.
    shutil.rmtree(work_folder.rename(done), ignore_errors=True)
  return dataset


def _check_settings(path: pathlib.Path, settings: Mapping[str, Any]) -> None:
  """Checks that work continues with the settings it started with."""
  try:
    known = regular_files.read_json(path, dict)
  except regular_files.MissingFileError:
    with new_files.new_file(path) as file:
      file.write(json.dumps(settings).encode())
    return
  others = [name for name in settings if known.get(name) != settings[name]]
  if others:
    raise errors.InputError(
      f'The folder {path.parent.parent} has unfinished work of which '
      f'{" and ".join(others)} differ; give the same command, which goes on with '
      'it, or remove the folder.'
    )


def _check_is_not_empty(
  dataset: GroupedDataset, options: work_lib.GroupingOptions
) -> None:
  if any(len(sizes.examples) for sizes in dataset.sizes.values()):
    return
  if dataset.small_clients:
    raise errors.InputError(
      f'None of {dataset.small_clients:,} clients has '
      f'{options.min_examples:,} examples (min_examples).'
    )
  raise errors.InputError('No record of the input can be used.')


def _summarize(sizes: Sequence[folder_writer.ClientSizes]) -> dict[str, Any]:
  """Returns sums and quantiles; quantiles are sizes of existing clients.

  Args:
    sizes: The sizes of the clients of some splits, taken together.
  """
  summary: dict[str, Any] = {'clients': sum(len(s.examples) for s in sizes)}
  for name in ('examples', 'words'):
    values = np.concatenate([getattr(some, name) for some in sizes])
    summary[name] = int(values.sum())
    spread = {}
    if len(values):
      quantiles = np.percentile(
        values, list(_PERCENTILES.values()), method='inverted_cdf'
      )
      spread = dict(zip(_PERCENTILES, map(int, quantiles), strict=True))
      spread['mean'] = float(values.mean())
    summary[f'{name}_per_client'] = spread
  return summary
