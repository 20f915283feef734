# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""From a data set of TFDS to a folder of clients with a table and a plot."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import simulation
from launch.data import client_folder
from launch.data import labelled_dataset
from launch.plots import label_partition
from launch.plots import style

import numpy as np
import tqdm


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
  """What to divide among clients, and how.

  Attributes:
    dataset: A data set, as `tfds.load` takes it.
    split: Its split.
    feature: The input feature, or None for that of its supervised keys.
    label: The label, or None likewise.
    partition: 'dirichlet', 'pachinko', 'shards' or 'key'.
    arguments: Keyword arguments of the partition's function.
    coarse_label: The coarse label of Pachinko allocation.
    key: The key to partition by.
    data_dir: Where TFDS keeps prepared data, or None for its usual place.
    download: Whether to download and prepare missing data.
    scale_images: Whether to write pixels as float32 from 0 to 1.
    file_format: The format of the plot.
  """

  dataset: str
  split: str
  partition: str
  arguments: Mapping[str, Any]
  feature: str | None = None
  label: str | None = None
  coarse_label: str | None = None
  key: str | None = None
  data_dir: str | None = None
  download: bool = False
  scale_images: bool = True
  file_format: str = 'png'


def run(request: Request, output_dir: str) -> None:
  """Writes the clients and prints what they are.

  Args:
    request: What to write.
    output_dir: The new folder: `<client id>.npz` for each client, clients.csv,
      partition.json and label_partition.<format>.

  Raises:
    errors.InputError: If the data cannot be read, divided or written.
  """
  client_folder.check_is_free(output_dir)
  builder = labelled_dataset.load_builder(
    request.dataset, data_dir=request.data_dir, download=request.download
  )
  data = labelled_dataset.read(
    builder,
    split=request.split,
    feature=request.feature,
    label=request.label,
    others=[name for name in (request.coarse_label, request.key) if name],
  )
  names, clients = _divide(data, request)
  left_over = datasets.unassigned_examples(clients, len(data.labels))
  scale = request.scale_images and data.is_image
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
    _write_summary(folder, data, request, names, clients)
    record = {
      **dataclasses.asdict(request),
      'dataset': data.name,
      'feature': data.feature,
      'label': data.label,
      'scale_images': scale,
      'num_examples': len(data.labels),
      'num_clients': len(clients),
      'left_over': len(left_over),
    }
    for place in ('data_dir', 'download', 'file_format'):
      del record[place]
    simulation.write_atomically(
      folder / 'partition.json', (json.dumps(record, indent=2) + '\n').encode()
    )
  sizes = [len(indices) for indices in clients]
  print(
    f'{data.name}, {request.split}: {len(data.labels):,} examples among '
    f'{len(clients):,} clients of {min(sizes):,} to {max(sizes):,}; '
    f'{len(left_over):,} left over.'
  )
  print(pathlib.Path(output_dir))


def _divide(
  data: labelled_dataset.LabelledDataset, request: Request
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
  """Returns the clients' ids and their examples."""
  if request.partition == 'key':
    names, clients = datasets.partition_by_key(
      data.others[request.key], **request.arguments
    )
    if request.key in data.class_names:
      names = data.names_of(request.key, np.array(names, np.int64))
    return [client_folder.client_id(name) for name in names], clients
  if request.partition == 'pachinko':
    clients = datasets.partition_by_pachinko(
      data.labels, data.others[request.coarse_label], **request.arguments
    )
  elif request.partition == 'shards':
    clients = datasets.partition_by_shards(data.labels, **request.arguments)
  else:
    clients = datasets.partition_by_dirichlet(data.labels, **request.arguments)
  width = len(str(len(clients) - 1))
  return [f'client_{i:0{width}}' for i in range(len(clients))], clients


def _write_summary(
  folder: pathlib.Path,
  data: labelled_dataset.LabelledDataset,
  request: Request,
  names: Sequence[str],
  clients: Sequence[np.ndarray],
) -> None:
  """Writes clients.csv and the plot."""
  classes, counts = datasets.count_labels(data.labels, clients)
  class_names = data.names_of(data.label, classes)
  simulation.write_atomically(
    folder / 'clients.csv',
    client_folder.format_clients_csv(names, class_names, counts),
  )
  groups = None
  if request.coarse_label:
    _, first = np.unique(data.labels, return_index=True)
    coarse = data.others[request.coarse_label][first]
    groups = data.names_of(request.coarse_label, coarse)
  settings = [
    f'{k.replace("_", " ")} {v}' for k, v in request.arguments.items()
  ]
  if request.key:
    settings.insert(0, request.key)
  figure = label_partition.plot_label_partition(
    counts,
    client_names=names,
    class_names=class_names,
    class_groups=groups,
    title=f'{data.name}, {request.split}, by {request.partition} '
    f'({", ".join(settings)})',
  )
  style.save_figure(figure, folder / f'label_partition.{request.file_format}')
