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

Pictures in folders, client/class/*.png, or class/*.png with a partition:

  python -m launch.partition_dataset --dataset=photos --image_size=32 \
    --test_fraction_per_client=0.2 --output_dir=clients

Other partitions:

  --partition=pachinko --coarse_label=coarse_label --num_clients=500 \
    --examples_per_client=100   (as for federated CIFAR-100; --alpha, --beta)
  --partition=shards --num_clients=100 --shards_per_client=2   (FedAvg's paper)
  --partition=shards --num_clients=100 --classes_per_client=2   (exactly 2)

--dataset is one of TensorFlow Datasets, read from --data_dir, where TFDS
prepared it or --download lets TFDS prepare it; or a file (.csv, .tsv, .jsonl,
.parquet, .arrow, .feather, with or without .gz), or a folder of the parts of
one table, for example a Hugging Face data set on disk, with columns of numbers,
lists of numbers, or images as bytes (PNG, JPEG, TIFF, BMP, WebP); or a folder
of pictures in these formats; or LEAF's JSON files, also in folders train and
test. It must fit into memory.

The files of --output_dir, a new folder, are <client id>.npz with the arrays x
and y of each client, and x_test and y_test of its own test data, if there are
any; clients.csv (examples, those for testing and counts of each class),
label_partition.png (clients x classes) and partition.json. The folder appears
only once it is complete. The same command writes the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch import cli
from launch import path_flags
from launch.data import client_folder
from launch.data import labelled_dataset
from launch.data import labelled_table
from launch.data import leaf_files
from launch.data import own_test
from launch.data import picture_folder
from launch.data import table_files
from launch.results import text_table

from absl import flags
import numpy as np

_DATASET = flags.DEFINE_string(
  'dataset',
  None,
  'The data set: name, name/config or name:version of TFDS, or the path of a '
  'table, of a folder of pictures, or of JSON files of LEAF.',
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
  None,
  ['dirichlet', 'pachinko', 'shards', 'key'],
  'The rule of division; by default key for data whose folders or files name '
  'clients, otherwise dirichlet. dirichlet: clients draw label proportions. '
  'pachinko: proportions of coarse labels and of labels under them. shards: a '
  'few classes each. key: by the value of a feature.',
)
_COARSE_LABEL = flags.DEFINE_string(
  'coarse_label', None, 'pachinko: the feature that groups the labels.'
)
_KEY = flags.DEFINE_string(
  'key',
  None,
  'key: the feature to divide by; by default client for data whose folders or '
  'files name clients.',
)
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
_SEED = flags.DEFINE_integer(
  'seed',
  None,
  'The seed of the partition and of --test_fraction_per_client; 0 by default.',
)
_TEST_FRACTION = flags.DEFINE_float(
  'test_fraction_per_client',
  None,
  "The share of each client's examples that become its own test data.",
)
_IMAGE_SIZE = flags.DEFINE_list(
  'image_size',
  None,
  'The height and width, or one number for both, to which images of a table or '
  'folder are resized; by default they must have one size.',
)
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
# The flags of data with named columns or prepared data.
_OF_COLUMNS = (_FEATURE, _LABEL, _COARSE_LABEL, _DATA_DIR, _DOWNLOAD)
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
  image_size = _read_image_size()
  client_folder.check_is_free(_OUTPUT_DIR.value)
  is_table = table_files.is_table(_DATASET.value)
  pictures = picture_folder.find(
    _DATASET.value, _SPLIT.value, is_table=is_table
  )
  names_clients = (
    pictures.has_clients
    if pictures
    else not is_table and leaf_files.is_leaf(_DATASET.value)
  )
  partition = _PARTITION.value or ('key' if names_clients else 'dirichlet')
  key = _KEY.value
  if names_clients and partition == 'key':
    key = key or labelled_dataset.CLIENT
  arguments = _read_arguments(partition, key)
  data = _read_data(key, image_size, is_table=is_table, pictures=pictures)
  _check_classes(data)
  names, clients = _divide(data, partition, key, arguments)
  left_over = datasets.unassigned_examples(clients, len(data.labels))
  is_test = _choose_test(data, names, clients)
  scale = _SCALE_IMAGES.value and data.is_image
  # Imported late: Matplotlib takes a second.
  from launch.data import partitioned_folder  # pylint: disable=g-import-not-at-top

  with client_folder.new_folder(_OUTPUT_DIR.value) as folder:
    partitioned_folder.write(
      folder,
      data,
      names,
      clients,
      is_test,
      scale=scale,
      coarse_label=_COARSE_LABEL.value,
      title=_title(data, partition, key, arguments),
      plot_format=_FORMAT.value,
    )
    record = {
      'dataset': data.name,
      'split': _SPLIT.value,
      'partition': partition,
      'arguments': arguments,
      'feature': data.feature,
      'label': data.label,
      'coarse_label': _COARSE_LABEL.value,
      'key': key,
      'scale_images': scale,
      'image_size': image_size,
      'test_fraction_per_client': _TEST_FRACTION.value,
      'test_seed': None if _TEST_FRACTION.value is None else _SEED.value or 0,
      'num_examples': sum(map(len, clients)),
      'num_test_examples': int(is_test.sum()),
      'num_clients': len(clients),
      'left_over': len(left_over),
    }
    simulation.write_atomically(
      folder / 'partition.json', (json.dumps(record, indent=2) + '\n').encode()
    )
  _tell(data, clients, is_test, num_left_over=len(left_over))
  print(pathlib.Path(_OUTPUT_DIR.value))


def _tell(
  data: labelled_dataset.LabelledDataset,
  clients: Sequence[np.ndarray],
  is_test: np.ndarray,
  *,
  num_left_over: int,
) -> None:
  """Prints what was read and written."""
  sizes = [len(indices) for indices in clients]
  x_is = errors.list_some(data.feature.split(','))
  unused = errors.list_some(list(map(repr, data.unused)))
  num_tested = sum(bool(is_test[indices].any()) for indices in clients)
  held_out = (
    f'{is_test.sum():,} of them for testing at '
    f'{text_table.count(f"{num_tested:,}", "client")}; '
  )
  print(
    f'{data.name}, {_SPLIT.value}: x is {x_is}, y is {data.label}'
    f'{unused and f", and not used are {unused}"}; '
    f'{sum(sizes):,} examples among '
    f'{text_table.count(f"{len(clients):,}", "client")} of '
    f'{errors.span(sizes, ",")}; {held_out if is_test.any() else ""}'
    f'{num_left_over:,} left over.'
  )


def _read_image_size() -> tuple[int, int] | None:
  """Returns the height and width of --image_size."""
  given = _IMAGE_SIZE.value
  if given is None:
    return None
  if len(given) not in (1, 2) or not all(
    size.isdecimal() and int(size) > 0 for size in given
  ):
    raise errors.InputError(
      '--image_size must be one or two positive integers, such as 32 or 32,48, '
      f'got {",".join(given)}.'
    )
  return int(given[0]), int(given[-1])


def _read_arguments(partition: str, key: str | None) -> dict[str, Any]:
  """Returns the arguments of a partition's function, without None."""
  own = _FLAGS[partition]
  names = dict.fromkeys(name for known in _FLAGS.values() for name in known)
  given = {name: flags.FLAGS[name].value for name in names} | {_KEY.name: key}
  given = {name: value for name, value in given.items() if value is not None}
  if _TEST_FRACTION.value is not None and 'seed' not in own:
    # The seed is that of the own test data alone.
    given.pop('seed', None)
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
  return {
    name: value
    for name, value in arguments.items()
    if value is not None and name not in (_COARSE_LABEL.name, _KEY.name)
  }


def _read_data(
  key: str | None,
  image_size: tuple[int, int] | None,
  *,
  is_table: bool,
  pictures: picture_folder.PictureFolder | None,
) -> labelled_dataset.LabelledDataset:
  """Returns the examples of a table, of pictures, of LEAF's files or of TFDS."""
  columns = dict(
    split=_SPLIT.value,
    feature=_FEATURE.value,
    label=_LABEL.value,
    others=[name for name in (_COARSE_LABEL.value, key) if name],
  )
  if is_table:
    _check_absent('a table', _DATA_DIR, _DOWNLOAD)
    return labelled_table.read(_DATASET.value, image_size=image_size, **columns)
  if pictures:
    _check_absent('pictures', *_OF_COLUMNS)
    return _check_others(
      picture_folder.read(pictures, image_size=image_size), key
    )
  if leaf_files.is_leaf(_DATASET.value):
    _check_absent("LEAF's files", *_OF_COLUMNS, _IMAGE_SIZE)
    if _SPLIT.value != _SPLIT.default:
      raise errors.InputError(
        f"--split must be left out for LEAF's files, {_DATASET.value}, of which "
        f'all are read, got {_SPLIT.value!r}.'
      )
    return _check_others(leaf_files.read(_DATASET.value), key)
  _check_absent('a data set of TensorFlow Datasets', _IMAGE_SIZE)
  # Imported late: TFDS takes seconds, which others do not need.
  from launch.data import tfds_dataset  # pylint: disable=g-import-not-at-top

  return tfds_dataset.read(
    tfds_dataset.load_builder(
      _DATASET.value, data_dir=_DATA_DIR.value, download=_DOWNLOAD.value
    ),
    **columns,
  )


def _check_classes(data: labelled_dataset.LabelledDataset) -> None:
  """Raises an InputError for classes of which there is one alone."""
  if data.labels.dtype.kind != 'f' and np.ptp(data.labels) == 0:
    (name,) = data.names_of(data.label, data.labels[:1])
    raise errors.InputError(
      f'The labels {data.label!r} of {data.name} must have two classes or more, '
      f'got {name!r} alone in {len(data.labels):,} examples.'
    )


def _check_absent(what: str, *others: flags.FlagHolder) -> None:
  """Raises an InputError for flags that do not belong to a kind of data."""
  for flag in others:
    if flag.value:
      raise errors.InputError(
        f'--{flag.name} must be left out for {what}, {_DATASET.value}.'
      )


def _check_others(
  data: labelled_dataset.LabelledDataset, key: str | None
) -> labelled_dataset.LabelledDataset:
  """Returns the data, whose only feature to divide by is the client."""
  if key is not None and key not in data.others:
    known = ', '.join(data.others) or 'absent, since no folder names a client'
    raise errors.InputError(
      f'--key of {_DATASET.value} must be {known}, got {key!r}.'
    )
  return data


def _choose_test(
  data: labelled_dataset.LabelledDataset,
  names: Sequence[str],
  clients: Sequence[np.ndarray],
) -> np.ndarray:
  """Returns whether each example is its client's own test data, bool [n]."""
  fraction = _TEST_FRACTION.value
  if data.is_test is None:
    if fraction is None:
      return np.zeros(len(data.labels), bool)
    return own_test.hold_out(
      names,
      clients,
      len(data.labels),
      fraction=fraction,
      seed=_SEED.value or 0,
    )
  if fraction is not None:
    raise errors.InputError(
      f'--test_fraction_per_client must be left out, since {_DATASET.value} has '
      f'test data, got {fraction}.'
    )
  for name, indices in zip(names, clients, strict=True):
    if data.is_test[indices].all():
      raise errors.InputError(
        f'Client {name!r} must have training examples, got {len(indices)} test '
        'examples alone; another --seed or --partition divides otherwise.'
      )
  is_test = np.zeros(len(data.labels), bool)
  for indices in clients:
    is_test[indices] = data.is_test[indices]
  return is_test


def _divide(
  data: labelled_dataset.LabelledDataset,
  partition: str,
  key: str | None,
  arguments: Mapping[str, Any],
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
  """Returns the clients' ids and their examples."""
  if partition == 'key':
    names, clients = datasets.partition_by_key(data.others[key], **arguments)
    if key in data.class_names:
      names = data.names_of(key, np.array(names, np.int64))
    return [client_folder.client_id(name) for name in names], clients
  if data.labels.dtype.kind == 'f':
    raise errors.InputError(
      f'--partition={partition} needs classes, got the numbers of column '
      f'{data.label!r}; --partition=key divides by another column.'
    )
  if partition == 'pachinko':
    clients = datasets.partition_by_pachinko(
      data.labels, data.others[_COARSE_LABEL.value], **arguments
    )
  elif partition == 'shards':
    clients = datasets.partition_by_shards(data.labels, **arguments)
  else:
    clients = datasets.partition_by_dirichlet(data.labels, **arguments)
  width = len(str(len(clients) - 1))
  return [f'client_{i:0{width}}' for i in range(len(clients))], clients


def _title(
  data: labelled_dataset.LabelledDataset,
  partition: str,
  key: str | None,
  arguments: Mapping[str, Any],
) -> str:
  """Returns the title of the plot."""
  settings = [f'{k.replace("_", " ")} {v}' for k, v in arguments.items()]
  if key:
    settings.insert(0, key)
  return f'{data.name}, {_SPLIT.value}, by {partition} ({", ".join(settings)})'


if __name__ == '__main__':
  cli.run(main)
