# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Division of a data set or table into a folder of clients, with a summary."""

from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import simulation
from launch.data import client_folder
from launch.data import label_partition
from launch.data import labelled_dataset
from launch.data import labelled_table
from launch.data import table_files
from launch.plots import style
from launch.results import text_table

from matplotlib import figure
import numpy as np
import pandas as pd
import tqdm


def run(
  output_dir: str,
  *,
  dataset: str,
  split: str,
  partition: str,
  arguments: Mapping[str, Any],
  coarse_label: str | None = None,
  key: str | None = None,
  feature: str | None = None,
  label: str | None = None,
  data_dir: str | None = None,
  download: bool = False,
  scale_images: bool = True,
  file_format: str = 'png',
) -> None:
  """Writes the clients and prints a summary.

  Args:
    output_dir: The new folder: `<client id>.npz` for each client, clients.csv,
      partition.json and label_partition.<format>.
    dataset: The name of a data set of TFDS, or the path of a table.
    split: The split of the data set or table.
    partition: 'dirichlet', 'pachinko', 'shards' or 'key'.
    arguments: The keyword arguments of the partition's function.
    coarse_label: The coarse label of Pachinko allocation.
    key: The feature to partition by.
    feature: The input feature, or None for the default of `read`.
    label: The label, or None for the default of `read`.
    data_dir: The folder of TFDS's prepared data, or None for the default one.
    download: Whether to download and prepare missing data.
    scale_images: Whether to write pixels as float32 from 0 to 1.
    file_format: The format of the plot.

  Raises:
    errors.InputError: If the data cannot be read, divided or written.
  """
  client_folder.check_is_free(output_dir)
  columns = dict(
    split=split,
    feature=feature,
    label=label,
    others=[name for name in (coarse_label, key) if name],
  )
  if table_files.is_table(dataset):
    for name, value in {'data_dir': data_dir, 'download': download}.items():
      if value:
        raise errors.InputError(
          f'--{name} is for a data set of TensorFlow Datasets, got the table '
          f'{dataset}.'
        )
    data = labelled_table.read(dataset, **columns)
  else:
    data = labelled_dataset.read(
      labelled_dataset.load_builder(
        dataset, data_dir=data_dir, download=download
      ),
      **columns,
    )
  is_regression = data.labels.dtype.kind == 'f'
  if is_regression and partition != 'key':
    raise errors.InputError(
      f'--partition={partition} needs classes, got the numbers of column '
      f'{data.label!r}; --partition=key divides by another column.'
    )
  names, clients = _divide(data, partition, arguments, coarse_label, key)
  left_over = datasets.unassigned_examples(clients, len(data.labels))
  scale = scale_images and data.is_image
  settings = [f'{k.replace("_", " ")} {v}' for k, v in arguments.items()]
  if key:
    settings.insert(0, key)
  title = f'{data.name}, {split}, by {partition} ({", ".join(settings)})'
  with client_folder.new_folder(output_dir) as folder:
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
    plot = _write_summary(folder, data, names, clients, coarse_label, title)
    style.save_figure(plot, folder / f'label_partition.{file_format}')
    record = {
      'dataset': data.name,
      'split': split,
      'partition': partition,
      'arguments': dict(arguments),
      'feature': data.feature,
      'label': data.label,
      'coarse_label': coarse_label,
      'key': key,
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
    f'{data.name}, {split}: x is {x_is}, y is {data.label}'
    f'{unused and f", and not used are {unused}"}; '
    f'{len(data.labels):,} examples among '
    f'{text_table.count(f"{len(clients):,}", "client")} of '
    f'{min(sizes):,} to {max(sizes):,}; {len(left_over):,} left over.'
  )
  print(pathlib.Path(output_dir))


def _divide(
  data: labelled_dataset.LabelledDataset,
  partition: str,
  arguments: Mapping[str, Any],
  coarse_label: str | None,
  key: str | None,
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
  """Returns the clients' ids and their examples."""
  if partition == 'key':
    names, clients = datasets.partition_by_key(data.others[key], **arguments)
    if key in data.class_names:
      names = data.names_of(key, np.array(names, np.int64))
    return [client_folder.client_id(name) for name in names], clients
  if partition == 'pachinko':
    clients = datasets.partition_by_pachinko(
      data.labels, data.others[coarse_label], **arguments
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
  coarse_label: str | None,
  title: str,
) -> figure.Figure:
  """Writes clients.csv and returns the plot.

  A row of clients.csv holds a client's id, its number of examples and that of
  each class. Targets of a regression are counted by deciles of all examples.
  """
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
  if coarse_label:
    _, first = np.unique(data.labels, return_index=True)
    groups = data.names_of(coarse_label, data.others[coarse_label][first])
  return label_partition.plot_label_partition(
    counts,
    client_names=names,
    class_names=class_names,
    class_groups=groups,
    title=title,
    label=what,
  )
