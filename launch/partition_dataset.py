# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Divides a labelled data set, or a table of yours, among clients.

  python -m launch.partition_dataset --dataset=mnist --download \
    --partition=dirichlet --num_clients=100 --alpha=0.1 --output_dir=clients
  python -m launch.train --config=launch/configs/arrays.py \
    --data_dir=clients --workdir=runs/clients

A table, with a client per hospital:

  python -m launch.partition_dataset --dataset=patients.csv --label=cost \
    --feature=age,dose --partition=key --key=hospital --output_dir=clients

Other partitions:

  --partition=pachinko --coarse_label=coarse_label --num_clients=500 \
    --examples_per_client=100   (as for federated CIFAR-100; --alpha, --beta)
  --partition=shards --num_clients=100 --shards_per_client=2   (FedAvg's paper)
  --partition=shards --num_clients=100 --classes_per_client=2   (exactly 2)

--dataset is one of TensorFlow Datasets, read from --data_dir, where TFDS
prepared it or --download lets TFDS prepare it; or a file (.csv, .tsv, .jsonl,
.parquet, .arrow, .feather, with or without .gz), or a folder of the parts of
one table, for example a Hugging Face data set on disk, with columns of numbers,
lists of numbers, or images as bytes (PNG, JPEG, TIFF, BMP, WebP). It must fit
into memory.

The files of --output_dir, a new folder, are <client id>.npz with the arrays x
and y of each client, clients.csv (examples and counts of each class),
label_partition.png (clients x classes) and partition.json. The folder appears
only once it is complete. The same command writes the same files.
"""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import errors
from launch import cli
from launch import path_flags

from absl import flags

_DATASET = flags.DEFINE_string(
  'dataset',
  None,
  'The data set: name, name/config or name:version of TFDS, or the path of a table.',
)
_SPLIT = flags.DEFINE_string(
  'split', 'train', 'The split, or a part of it such as train[:10%].'
)
_FEATURE = flags.DEFINE_string(
  'feature',
  None,
  'The feature that becomes x; by default the input of the data set. For a '
  'table, columns separated by commas; by default all others of numbers but '
  'for row numbers.',
)
_LABEL = flags.DEFINE_string(
  'label',
  None,
  'The feature that becomes y; by default the label of the data set. Integers '
  'and strings are classes, floats of a table are targets of a regression.',
)
_PARTITION = flags.DEFINE_enum(
  'partition',
  'dirichlet',
  ['dirichlet', 'pachinko', 'shards', 'key'],
  'The rule of division. dirichlet: clients draw label proportions. '
  'pachinko: proportions of coarse labels and of labels under them. shards: a '
  'few classes each. key: by the value of a feature.',
)
flags.DEFINE_string(
  'coarse_label', None, 'pachinko: the feature that groups the labels.'
)
flags.DEFINE_string('key', None, 'key: the feature to divide by.')
flags.DEFINE_integer(
  'num_clients', None, 'dirichlet, pachinko, shards: the number of clients.'
)
flags.DEFINE_integer(
  'examples_per_client',
  None,
  'pachinko: the size of each client; by default all examples are used.',
)
flags.DEFINE_float(
  'alpha',
  None,
  'dirichlet, pachinko: the concentration of (coarse) labels; smaller values '
  'make clients more heterogeneous. Required for dirichlet; 0.1 for pachinko.',
)
flags.DEFINE_float(
  'beta',
  None,
  'pachinko: the concentration of the labels under a coarse one; by default 10.',
)
flags.DEFINE_integer(
  'shards_per_client',
  None,
  'shards: the equal pieces of the sorted examples per client.',
)
flags.DEFINE_integer(
  'classes_per_client', None, 'shards: the exact number of classes per client.'
)
flags.DEFINE_integer(
  'min_examples',
  None,
  'dirichlet: the fewest examples of a client, filled up from the largest. '
  'key: clients with fewer are omitted. 1 by default.',
)
flags.DEFINE_integer('seed', None, 'The seed of the partition; 0 by default.')
_SCALE_IMAGES = flags.DEFINE_bool(
  'scale_images',
  True,
  'Whether to write pixels of 0 to 255 as float32 from 0 to 1, as models '
  'expect them, or as bytes.',
)
_DATA_DIR = path_flags.define(
  'data_dir',
  None,
  'Where TFDS keeps prepared data sets; by default $TFDS_DATA_DIR or '
  '~/tensorflow_datasets.',
  takes_urls=True,
)
_DOWNLOAD = flags.DEFINE_bool(
  'download', False, 'Whether to download and prepare the data set if needed.'
)
_OUTPUT_DIR = path_flags.define(
  'output_dir', None, 'The folder to write; new or empty.'
)
_FORMAT = flags.DEFINE_enum(
  'format', 'png', ['png', 'pdf', 'svg'], 'The format of the plot.'
)

_NEEDED = object()
# The flags of each partition and their default values, which partition.json
# records; None for no default.
_FLAGS = {
  'dirichlet': {
    'num_clients': _NEEDED,
    'alpha': _NEEDED,
    'min_examples': None,
    'seed': 0,
  },
  'pachinko': {
    'num_clients': _NEEDED,
    'coarse_label': _NEEDED,
    'examples_per_client': None,
    'alpha': 0.1,
    'beta': 10.0,
    'seed': 0,
  },
  'shards': {
    'num_clients': _NEEDED,
    'shards_per_client': None,
    'classes_per_client': None,
    'seed': 0,
  },
  'key': {'key': _NEEDED, 'min_examples': None},
}


def main(argv: Sequence[str]) -> None:
  """Runs the binary."""
  cli.check_no_arguments(argv)
  cli.check_given(_DATASET, _OUTPUT_DIR)
  arguments = _read_arguments(_PARTITION.value)
  # Imported late: TFDS and TFF take seconds, and all above answers at once.
  from launch.data import partition_run  # pylint: disable=g-import-not-at-top

  partition_run.run(
    _OUTPUT_DIR.value,
    dataset=_DATASET.value,
    split=_SPLIT.value,
    partition=_PARTITION.value,
    coarse_label=arguments.pop('coarse_label', None),
    key=arguments.pop('key', None),
    arguments=arguments,
    feature=_FEATURE.value,
    label=_LABEL.value,
    data_dir=_DATA_DIR.value,
    download=_DOWNLOAD.value,
    scale_images=_SCALE_IMAGES.value,
    file_format=_FORMAT.value,
  )


def _read_arguments(partition: str) -> dict[str, Any]:
  """Returns the values of a partition's flags, without those that are None."""
  own = _FLAGS[partition]
  names = dict.fromkeys(name for known in _FLAGS.values() for name in known)
  given = {name: flags.FLAGS[name].value for name in names}
  given = {name: value for name, value in given.items() if value is not None}
  for name in given:
    if name not in own:
      raise errors.InputError(
        f'--{name} does not belong to --partition={partition}; '
        f'{", ".join(f"--{n}" for n in own)} do.'
      )
  arguments = {**own, **given}
  for name, value in arguments.items():
    if value is _NEEDED:
      raise errors.InputError(
        f'--partition={partition} needs --{name}; --help shows an example.'
      )
  return {name: v for name, v in arguments.items() if v is not None}


if __name__ == '__main__':
  cli.run(main)
