# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Groups web-scale text by client, in the format of Dataset Grouper.

  python -m launch.group_dataset --format=c4 --input='c4/en/*.json.gz' \
    --key=host --validation_fraction=0.05 --held_out_fraction=0.1 \
    --output_dir=c4_by_host

  --format=c4        lines of JSON with url, text, timestamp (*.jsonl, *.json.gz,
                     .bz2, .zst)
  --format=cc_news   lines of JSON, or Parquet, with url or domain, title, text,
                     date
  --format=tfds      a data set of TensorFlow Datasets: --input=name, or
                     huggingface:name; with --split, --data_dir, --download

  --key=host                a client per host; without 'www.' unless --keep_www
  --key=registered_domain   a client per domain by the public-suffix list
  --key=FEATURE             a client per value of this feature

--input is a path with * and ?, local or of a file system that fsspec supports.
Unusable records are counted by kind; more than --max_bad_fraction of them are
an error. The files of --output_dir, a new folder, are:

  <split>-00000-of-00001.tfrecord   one record per client, for
                                    dataset_grouper.PartitionedDataset
  clients.parquet                   split, file, offset and size of each client
  dataset.json                      features, counts, excluded records
  statistics.json, statistics.png   quantiles and histogram of client sizes

Clients are divided into train, validation and held_out by a hash of their id.
The folder appears only once it is complete. The same command writes the same
files.

By default, --num_processes processes of this machine group on disk, without
opening a port; the same command resumes their work. With --runner, Apache Beam
groups, and further flags are passed to it: --runner=DaskRunner, FlinkRunner and
others use a cluster with workers that share --output_dir, a folder or a URL.
docs/text.md has instructions and the tested runners.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import re
import tempfile
from typing import Any

from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.datasets import grouping
from launch import cli
from launch import path_flags
from launch.data import client_folder

from absl import flags

_FORMAT = flags.DEFINE_enum(
  'format', None, ['c4', 'cc_news', 'tfds'], 'The format of --input.'
)
_INPUT = path_flags.define(
  'input',
  None,
  'The files, with * for many, or the name of a data set.',
  takes_urls=True,
)
_OUTPUT_DIR = path_flags.define(
  'output_dir',
  None,
  'The folder to write; new or empty. With --runner, a URL as gs://bucket/a, too.',
  takes_urls=True,
)
_KEY = flags.DEFINE_string(
  'key', 'host', 'host, registered_domain, or the name of a feature.'
)
_KEEP_WWW = flags.DEFINE_bool(
  'keep_www',
  False,
  'host: whether www.example.org and example.org are two clients.',
)
_MIN_EXAMPLES = flags.DEFINE_integer(
  'min_examples',
  1,
  'The fewest examples of a client; smaller ones are omitted.',
)
_VALIDATION_FRACTION = flags.DEFINE_float(
  'validation_fraction', 0.0, 'The share of clients for validation.'
)
_HELD_OUT_FRACTION = flags.DEFINE_float(
  'held_out_fraction', 0.0, 'The share of clients held out for tests.'
)
_SEED = flags.DEFINE_integer(
  'seed', 0, 'The seed of the division of clients into splits.'
)
_NUM_SHARDS = flags.DEFINE_integer(
  'num_shards',
  None,
  'The number of files of all splits, at least one each; by default, files have '
  'about 256 MiB.',
)
_NUM_PROCESSES = flags.DEFINE_integer(
  'num_processes',
  None,
  'The number of processes of this machine, without --runner; by default one '
  'per core.',
  lower_bound=1,
)
_MAX_BAD_FRACTION = flags.DEFINE_float(
  'max_bad_fraction',
  0.01,
  'The largest share of unusable lines, rows or examples; a damaged packed file '
  'counts as one.',
)
_SPLIT = flags.DEFINE_string(
  'split',
  None,
  'tfds: the split, or a part of it such as train[:10%]; by default train.',
)
_FEATURES = flags.DEFINE_list(
  'features', None, 'tfds: the features to keep; by default all.'
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'tfds: where TFDS keeps prepared data sets; by default $TFDS_DATA_DIR or '
  '~/tensorflow_datasets.',
  takes_urls=True,
)
_DOWNLOAD = flags.DEFINE_bool(
  'download',
  None,
  'tfds: whether to download and prepare the data set if needed; by default no.',
)
_ONLY_TFDS = (_SPLIT, _FEATURES, _DATA_DIR, _DOWNLOAD)

_IS_FLAG = re.compile(r'--?[A-Za-z]')
# The file is written last: its presence means that a folder is complete.
_LAST_FILE = 'dataset.json'
_SPLITS = ('train', 'validation', 'held_out')
# The largest number of records of a kind that are named on the terminal.
_MOST_PRINTED = 5
_QUANTILES = ('min', 'p10', 'median', 'p90', 'p99', 'max')


def split_arguments(argv: Sequence[str]) -> tuple[list[str], list[str]]:
  """Returns the arguments of this binary and those of Beam."""
  own, others = list(argv[:1]), []
  target = own
  for argument in argv[1:]:
    # An argument that is not a flag is the value of the previous one.
    if _IS_FLAG.match(argument):
      name = argument.lstrip('-').partition('=')[0]
      is_own = (
        name in flags.FLAGS
        or name.removeprefix('no') in flags.FLAGS
        or name == 'flagfile'  # absl's own, which is not among the flags.
      )
      target = own if is_own else others
    target.append(argument)
  return own, others


def parse_flags(argv: Sequence[str]) -> list[str]:
  """Parses this binary's flags and leaves those of Beam for `main`."""
  own, others = split_arguments(argv)
  return [*cli.parse_flags(own), *others]


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  own, beam_flags = split_arguments(argv)
  cli.check_no_arguments(own)
  _check_flags()
  output_dir = _OUTPUT_DIR.value
  is_remote = '://' in output_dir
  if beam_flags:
    # Beam warns of libraries for Google's cloud that are not installed.
    logging.disable(logging.WARNING)
    try:
      grouping.create_beam_runner(beam_flags)  # Reports invalid flags at once.
    finally:
      logging.disable(logging.NOTSET)
    # The messages of starting workers are of no use to the user.
    logging.getLogger('apache_beam').setLevel(logging.ERROR)
    # This logger prints a traceback of each error, even of Ctrl-C, although
    # the error is raised anyway.
    logging.getLogger('apache_beam.runners.common').setLevel(logging.CRITICAL)
  elif is_remote:
    raise errors.InputError(
      f'--output_dir={output_dir} needs --runner; without one, the output must '
      'be a folder of this machine.'
    )
  if not is_remote:
    client_folder.check_is_free(output_dir)
  key = grouping.ClientKey(name=_KEY.value, keep_www=_KEEP_WWW.value)
  source = _create_source(key)
  key_title = 'host with www.' if key.keep_www else key.name.replace('_', ' ')
  title = f'{_FORMAT.value} by {key_title}'
  new_folder = (
    _new_remote_folder(output_dir)
    if is_remote
    else client_folder.new_folder(output_dir, work=grouping.WORK_FOLDER)
  )
  with new_folder as folder:
    grouped = grouping.group(
      source,
      folder,
      options=grouping.GroupingOptions(
        splits=grouping.ClientSplits(
          validation_fraction=_VALIDATION_FRACTION.value,
          held_out_fraction=_HELD_OUT_FRACTION.value,
          seed=_SEED.value,
        ),
        min_examples=_MIN_EXAMPLES.value,
        num_shards=_NUM_SHARDS.value,
        max_bad_fraction=_MAX_BAD_FRACTION.value,
      ),
      key=dataclasses.asdict(key),
      num_processes=_NUM_PROCESSES.value or len(os.sched_getaffinity(0)),
      beam_flags=beam_flags,
      shard_folder=output_dir if is_remote else None,
      write_more=lambda dataset: _write_statistics(dataset, folder, title),
    )
  for line in _describe(grouped.statistics()):
    print(line)
  print(output_dir)


def _check_flags() -> None:
  """Raises InputError if flags are missing or do not belong together."""
  cli.check_given(_FORMAT, _INPUT, _OUTPUT_DIR)
  if not _KEY.value:
    raise errors.InputError('--key must be host or another, got an empty one.')
  if _FORMAT.value != 'tfds':
    for flag in _ONLY_TFDS:
      if flag.value is not None:
        raise errors.InputError(
          f'--{flag.name} does not belong to --format={_FORMAT.value}, but to '
          '--format=tfds.'
        )
  if _KEEP_WWW.value and _KEY.value != 'host':
    raise errors.InputError(
      f'--keep_www does not belong to --key={_KEY.value}, but to --key=host.'
    )


def _create_source(key: grouping.ClientKey) -> grouping.Source:
  """Returns the source of the examples."""
  if _FORMAT.value != 'tfds':
    return grouping.TextSource(
      format=_FORMAT.value, pattern=_INPUT.value, key=key
    )
  # Imported late, because TFDS takes seconds, which files do not need.
  from launch.data import tfds_dataset  # pylint: disable=g-import-not-at-top

  return grouping.create_tfds_source(
    tfds_dataset.load_builder(
      _INPUT.value, data_dir=_DATA_DIR.value, download=bool(_DOWNLOAD.value)
    ),
    split=_SPLIT.value or 'train',
    key=key,
    features=_FEATURES.value,
  )


@contextlib.contextmanager
def _new_remote_folder(url: str) -> Iterator[pathlib.Path]:
  """Yields a local folder and copies its files to the URL at the end."""
  # Imported late, because it takes seconds, which other folders do not need.
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  last = f'{url}/{_LAST_FILE}'
  try:
    if tf.io.gfile.exists(last):
      raise errors.InputError(
        f'{url} must be a new folder, got one with {last}.'
      )
    with tempfile.TemporaryDirectory() as folder:
      yield pathlib.Path(folder)
      for name in sorted(os.listdir(folder), key=_LAST_FILE.__eq__):
        tf.io.gfile.copy(
          os.path.join(folder, name), f'{url}/{name}', overwrite=True
        )
  except tf.errors.OpError as error:
    raise errors.InputError(
      f'{url} cannot be written: {errors.first_line(error)}.'
    ) from error


def _write_statistics(
  grouped: grouping.GroupedDataset, folder: pathlib.Path, title: str
) -> None:
  """Writes statistics.json and statistics.png."""
  # Imported late, because Matplotlib takes a second, but in this thread: its
  # import changes the working directory of the process for that time.
  from launch.data import client_sizes  # pylint: disable=g-import-not-at-top
  from launch.plots import style  # pylint: disable=g-import-not-at-top

  simulation.write_atomically(
    folder / 'statistics.json',
    (
      json.dumps(grouped.statistics(), indent=2, ensure_ascii=False) + '\n'
    ).encode(errors='replace'),
  )
  splits = [split for split in _SPLITS if split in grouped.sizes]
  figure = client_sizes.plot_client_sizes(
    {
      measure: {s: getattr(grouped.sizes[s], measure) for s in splits}
      for measure in ('examples', 'words')
    },
    title=title,
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


if __name__ == '__main__':
  cli.run(main, flags_parser=parse_flags)
