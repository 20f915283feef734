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
from launch.results import text_table

from absl import flags
import numpy as np
import pandas as pd
import tqdm

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
_COARSE_LABEL = flags.DEFINE_string(
  'coarse_label', None, 'pachinko: the feature that groups the labels.'
)
_KEY = flags.DEFINE_string('key', None, 'key: the feature to divide by.')
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
  client_folder.check_is_free(_OUTPUT_DIR.value)
  data = _read_data()
  names, clients = _divide(data, arguments)
  left_over = datasets.unassigned_examples(clients, len(data.labels))
  scale = _SCALE_IMAGES.value and data.is_image
  with client_folder.new_folder(_OUTPUT_DIR.value) as folder:
    for name, indices in zip(
      tqdm.tqdm(names, desc='write', unit=' clients', disable=None),
      clients,
      strict=True,
    ):
      x = data.x[indices]
      client_folder.write_client(
        folder,
        name,
        x.astype(np.float32) / np.float32(255) if scale else x,
        data.labels[indices],
      )
    _write_summary(folder, data, names, clients, arguments)
    record = {
      'dataset': data.name,
      'split': _SPLIT.value,
      'partition': _PARTITION.value,
      'arguments': arguments,
      'feature': data.feature,
      'label': data.label,
      'coarse_label': _COARSE_LABEL.value,
      'key': _KEY.value,
      'scale_images': scale,
      'num_examples': len(data.labels),
      'num_clients': len(clients),
      'left_over': len(left_over),
    }
    simulation.write_atomically(
      folder / 'partition.json', (json.dumps(record, indent=2) + '\n').encode()
    )
  sizes = [len(indices) for indices in clients]
  x_is = errors.list_some(data.feature.split(','))
  unused = errors.list_some(list(map(repr, data.unused)))
  print(
    f'{data.name}, {_SPLIT.value}: x is {x_is}, y is {data.label}'
    f'{unused and f", and not used are {unused}"}; '
    f'{len(data.labels):,} examples among '
    f'{text_table.count(f"{len(clients):,}", "client")} of '
    f'{min(sizes):,} to {max(sizes):,}; {len(left_over):,} left over.'
  )
  print(pathlib.Path(_OUTPUT_DIR.value))


def _read_arguments(partition: str) -> dict[str, Any]:
  """Returns the arguments of a partition's function, without None."""
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
  return {
    name: value
    for name, value in arguments.items()
    if value is not None and name not in (_COARSE_LABEL.name, _KEY.name)
  }


def _read_data() -> labelled_dataset.LabelledDataset:
  """Returns the data set or table."""
  # Imported late: TFDS takes seconds, and checks of flags answer at once.
  from launch.data import labelled_table  # pylint: disable=g-import-not-at-top
  from launch.data import table_files  # pylint: disable=g-import-not-at-top
  from launch.data import tfds_dataset  # pylint: disable=g-import-not-at-top

  columns = dict(
    split=_SPLIT.value,
    feature=_FEATURE.value,
    label=_LABEL.value,
    others=[flag.value for flag in (_COARSE_LABEL, _KEY) if flag.value],
  )
  if not table_files.is_table(_DATASET.value):
    return tfds_dataset.read(
      tfds_dataset.load_builder(
        _DATASET.value, data_dir=_DATA_DIR.value, download=_DOWNLOAD.value
      ),
      **columns,
    )
  for flag in (_DATA_DIR, _DOWNLOAD):
    if flag.value:
      raise errors.InputError(
        f'--{flag.name} is for a data set of TensorFlow Datasets, got the table '
        f'{_DATASET.value}.'
      )
  return labelled_table.read(_DATASET.value, **columns)


def _divide(
  data: labelled_dataset.LabelledDataset, arguments: Mapping[str, Any]
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
  """Returns the clients' ids and their examples."""
  partition = _PARTITION.value
  if partition == 'key':
    key = _KEY.value
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


def _write_summary(
  folder: pathlib.Path,
  data: labelled_dataset.LabelledDataset,
  names: Sequence[str],
  clients: Sequence[np.ndarray],
  arguments: Mapping[str, Any],
) -> None:
  """Writes clients.csv and the plot.

  A row of clients.csv holds a client's id, its number of examples and that of
  each class. Targets of a regression are counted by deciles of all examples.
  """
  # Imported late: Matplotlib takes a second.
  from launch.data import label_partition  # pylint: disable=g-import-not-at-top
  from launch.plots import style  # pylint: disable=g-import-not-at-top

  labels, what = data.labels, 'Class'
  if labels.dtype.kind == 'f':
    what = data.label
    tenths = pd.qcut(labels, 10, duplicates='drop')
    if not len(tenths.categories):  # All labels are equal.
      tenths = pd.cut(labels, 1)
    classes, counts = datasets.count_labels(tenths.codes, clients)
    class_names = [str(tenths.categories[i]) for i in classes]
  else:
    classes, counts = datasets.count_labels(labels, clients)
    class_names = data.names_of(data.label, classes)
  table = text_table.to_csv(
    ['client_id', 'examples', *class_names],
    [[name, sum(row), *row] for name, row in zip(names, counts.tolist())],
  )
  simulation.write_atomically(folder / 'clients.csv', table)
  groups = None
  if _COARSE_LABEL.value:
    coarse = data.others[_COARSE_LABEL.value]
    _, first = np.unique(data.labels, return_index=True)
    groups = data.names_of(_COARSE_LABEL.value, coarse[first])
  settings = [f'{k.replace("_", " ")} {v}' for k, v in arguments.items()]
  if _KEY.value:
    settings.insert(0, _KEY.value)
  plot = label_partition.plot_label_partition(
    counts,
    client_names=names,
    class_names=class_names,
    class_groups=groups,
    title=f'{data.name}, {_SPLIT.value}, by {_PARTITION.value} '
    f'({", ".join(settings)})',
    label=what,
  )
  style.save_figure(plot, folder / f'label_partition.{_FORMAT.value}')


if __name__ == '__main__':
  cli.run(main)
