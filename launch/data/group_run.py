# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From raw text to a folder of grouped clients with statistics and a plot."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import importlib.util
import json
import logging
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.datasets import grouping
from launch.data import client_folder
from launch.data import labelled_dataset
from launch.plots import client_sizes
from launch.plots import style

import tensorflow_datasets as tfds

_HUGGING_FACE = 'huggingface:'
_SPLITS = ('train', 'validation', 'held_out')
# How many records of a kind are named on the terminal.
_MOST_PRINTED = 5
_QUANTILES = ('min', 'p10', 'median', 'p90', 'p99', 'max')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
  """What to group, and how.

  Attributes:
    format: 'c4', 'cc_news' or 'tfds'.
    input: Files with *, or the name of a data set.
    key: 'host', 'registered_domain' or the name of a feature.
    keep_www: Whether hosts keep their 'www.'.
    min_examples: Clients with fewer examples are left out.
    validation_fraction: The share of clients for validation.
    held_out_fraction: The share of clients held out.
    seed: Of the division of clients.
    num_shards: The number of files, or None.
    max_bad_fraction: The share of records that may be unusable.
    split: The split of a data set of TFDS.
    features: The features of it to keep, or None for all.
    data_dir: Where TFDS keeps prepared data, or None for its usual place.
    download: Whether to download and prepare missing data.
    beam_flags: Flags of Apache Beam.
  """

  format: str
  input: str
  key: str = 'host'
  keep_www: bool = False
  min_examples: int = 1
  validation_fraction: float = 0.0
  held_out_fraction: float = 0.0
  seed: int = 0
  num_shards: int | None = None
  max_bad_fraction: float = 0.01
  split: str = 'train'
  features: Sequence[str] | None = None
  data_dir: str | None = None
  download: bool = False
  beam_flags: Sequence[str] = ()


def run(request: Request, output_dir: str) -> None:
  """Writes grouped clients and prints what they are.

  Args:
    request: What to group.
    output_dir: The new folder.

  Raises:
    errors.InputError: If the input cannot be read or used, or the folder not be
      written.
  """
  beam_flags = grouping.complete_beam_flags(request.beam_flags)
  # What workers say on their start is not for the user.
  logging.getLogger('apache_beam').setLevel(logging.ERROR)
  # It writes each error with a traceback, also Ctrl-C, and raises it then.
  logging.getLogger('apache_beam.runners.common').setLevel(logging.CRITICAL)
  options = grouping.GroupingOptions(
    splits=grouping.ClientSplits(
      validation_fraction=request.validation_fraction,
      held_out_fraction=request.held_out_fraction,
      seed=request.seed,
    ),
    min_examples=request.min_examples,
    num_shards=request.num_shards,
    max_bad_fraction=request.max_bad_fraction,
  )
  client_folder.check_is_free(output_dir)
  key = grouping.ClientKey(name=request.key, keep_www=request.keep_www)
  source = _create_source(request, key)
  with client_folder.new_folder(output_dir) as folder:
    grouped = grouping.group(
      source,
      folder,
      options=options,
      key=dataclasses.asdict(key),
      beam_flags=beam_flags,
      write_more=lambda dataset: _write_statistics(dataset, folder, request),
    )
  for line in _describe(grouped.statistics()):
    print(line)
  print(pathlib.Path(output_dir))


def _create_source(
  request: Request, key: grouping.ClientKey
) -> grouping.Source:
  if request.format == 'tfds':
    return grouping.create_tfds_source(
      _load_builder(request),
      split=request.split,
      key=key,
      features=request.features,
    )
  return grouping.TextSource(
    format=request.format, pattern=request.input, key=key
  )


def _load_builder(request: Request) -> tfds.core.DatasetBuilder:
  """Returns the builder of a prepared data set."""
  if not request.input.startswith(_HUGGING_FACE):
    return labelled_dataset.load_builder(
      request.input, data_dir=request.data_dir, download=request.download
    )
  if importlib.util.find_spec('datasets') is None:
    name = request.input.removeprefix(_HUGGING_FACE)
    raise errors.InputError(
      f'--input={request.input} needs the package datasets, which does not '
      "install beside this version of Apache Beam: run 'pip install "
      "tensorflow-datasets datasets' and tfds.builder("
      f'{request.input!r}).download_and_prepare() in another environment, then '
      f'give --input={name} and --data_dir here.'
    )
  # What the code of a data set and its servers raise is anything.
  try:
    builder = tfds.builder(request.input, data_dir=request.data_dir)
    if request.download:
      builder.download_and_prepare()
  except Exception as error:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    raise errors.InputError(
      f'Data set {request.input!r} cannot be prepared: {reason.rstrip(".")}.'
    ) from error
  if not builder.info.splits:
    raise errors.InputError(
      f'Data set {request.input!r} is not prepared; another --data_dir, or '
      '--download with a network, was expected.'
    )
  return builder


def _write_statistics(
  grouped: grouping.GroupedDataset, folder: pathlib.Path, request: Request
) -> None:
  """Writes statistics.json and statistics.png."""
  simulation.write_atomically(
    folder / 'statistics.json',
    (
      json.dumps(grouped.statistics(), indent=2, ensure_ascii=False) + '\n'
    ).encode(errors='replace'),
  )
  splits = [split for split in _SPLITS if split in grouped.sizes]
  key = 'host with www.' if request.keep_www else request.key.replace('_', ' ')
  figure = client_sizes.plot_client_sizes(
    {
      measure: {s: getattr(grouped.sizes[s], measure) for s in splits}
      for measure in ('examples', 'words')
    },
    title=f'{request.format} by {key}',
  )
  style.save_figure(figure, folder / 'statistics.png')


def _describe(statistics: Mapping[str, Any]) -> list[str]:
  """Returns lines for the terminal."""
  lines = [f'{"":11}{"clients":>12}{"examples":>14}{"words":>16}']
  rows = [(s, statistics['splits'].get(s)) for s in _SPLITS]
  for name, row in [*rows, ('total', statistics['total'])]:
    if row is not None:
      lines.append(
        f'{name.replace("_", " "):11}{row["clients"]:12,}'
        f'{row["examples"]:14,}{row["words"]:16,}'
      )
  for measure in ('examples', 'words'):
    spread = statistics['total'][f'{measure}_per_client']
    quantiles = ', '.join(f'{n} {spread[n]:,}' for n in _QUANTILES)
    lines.append(
      f'{measure} of a client: {quantiles}, mean {spread["mean"]:,.1f}'
    )
  small = statistics['clients_with_too_few_examples']
  if small:
    lines.append(f'left out: {small:,} clients with too few examples')
  for kind, count in statistics['skipped'].items():
    named = statistics['named'].get(kind, [])
    more = '; ...' if count > len(named[:_MOST_PRINTED]) else ''
    names = '; '.join(named[:_MOST_PRINTED]) + more if named else ''
    lines.append(
      f'left out: {count:,} {kind}' + (f' ({names})' if names else '')
    )
  return lines
