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
See docs/text.md for instructions and tested runners.
"""

from collections.abc import Sequence
import os
import re

from fedfish_tff import errors
from launch import cli
from launch import path_flags

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


def split_arguments(argv: Sequence[str]) -> tuple[list[str], list[str]]:
  """Returns the arguments of this binary and those of Beam.

  Args:
    argv: All arguments, the program's name first.
  """
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
  # Imported late: Beam and TFDS take seconds, and all above answers at once.
  from fedfish_tff.datasets import grouping  # pylint: disable=g-import-not-at-top
  from launch.data import group_run  # pylint: disable=g-import-not-at-top

  group_run.run(
    _OUTPUT_DIR.value,
    text_format=_FORMAT.value,
    input_name=_INPUT.value,
    key=grouping.ClientKey(name=_KEY.value, keep_www=_KEEP_WWW.value),
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
    split=_SPLIT.value or 'train',
    features=_FEATURES.value,
    data_dir=_DATA_DIR.value,
    download=bool(_DOWNLOAD.value),
    num_processes=_NUM_PROCESSES.value or len(os.sched_getaffinity(0)),
    beam_flags=beam_flags,
  )


if __name__ == '__main__':
  cli.run(main, flags_parser=parse_flags)
