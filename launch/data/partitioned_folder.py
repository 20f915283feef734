# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes clients' examples with a table and a plot of them."""

from collections.abc import Sequence
import pathlib

from fedfish_tff import datasets
from fedfish_tff import simulation
from launch.data import client_folder
from launch.data import label_partition
from launch.data import labelled_dataset
from launch.plots import style
from launch.results import text_table

import numpy as np
import tqdm


def write(
  folder: pathlib.Path,
  data: labelled_dataset.LabelledDataset,
  names: Sequence[str],
  clients: Sequence[np.ndarray],
  is_test: np.ndarray,
  *,
  scale: bool,
  coarse_label: str | None,
  title: str,
  plot_format: str,
) -> None:
  """Writes a file per client, clients.csv and label_partition.

  A row of clients.csv holds a client's id, its number of examples, those of them
  for testing if there are any, and the number of each class. Targets of a
  regression are counted by deciles of all examples.

  Args:
    folder: An existing folder.
    data: The examples of all clients.
    names: The clients' ids.
    clients: The indices of each client's examples.
    is_test: Whether each example is its client's own test data, bool [n].
    scale: Whether x is divided by 255.
    coarse_label: The feature by which the plot groups the classes; None for
      none.
    title: The title of the plot, above it.
    plot_format: The suffix of the plot's file.
  """
  for name, indices in zip(
    tqdm.tqdm(names, desc='write', unit=' clients', disable=None),
    clients,
    strict=True,
  ):
    arrays = {}
    for suffix, part in (('', ~is_test), ('_test', is_test)):
      rows = indices[part[indices]]
      if suffix and not len(rows):
        continue
      x = data.x[rows]
      arrays[f'x{suffix}'] = (
        x.astype(np.float32) / np.float32(255) if scale else x
      )
      arrays[f'y{suffix}'] = data.labels[rows]
    client_folder.write_client(folder, name, **arrays)
  _write_summary(
    folder,
    data,
    names,
    clients,
    is_test,
    coarse_label=coarse_label,
    title=title,
    plot_format=plot_format,
  )


def _name_intervals(edges: np.ndarray) -> list[str]:
  """Returns '[0.1, 0.25]', '(0.25, 0.5]' ..., with digits that differ."""
  texts = []
  for digits in range(4, 18):
    texts = [f'{edge:.{digits}g}' for edge in edges]
    if len(set(texts)) == len(edges):
      break
  if len(texts) == 1:  # All labels are equal.
    return [f'[{texts[0]}, {texts[0]}]']
  return [
    f'{"(" if i else "["}{low}, {high}]'
    for i, (low, high) in enumerate(zip(texts, texts[1:]))
  ]


def _write_summary(
  folder: pathlib.Path,
  data: labelled_dataset.LabelledDataset,
  names: Sequence[str],
  clients: Sequence[np.ndarray],
  is_test: np.ndarray,
  *,
  coarse_label: str | None,
  title: str,
  plot_format: str,
) -> None:
  """Writes clients.csv and the plot."""
  labels, what = data.labels, 'Class'
  if labels.dtype.kind == 'f':
    what = data.label
    edges = np.unique(np.quantile(labels, np.linspace(0, 1, 11)))
    classes, counts = datasets.count_labels(
      np.searchsorted(edges[1:-1], labels), clients
    )
    names_of_tenths = _name_intervals(edges)
    class_names = [names_of_tenths[i] for i in classes]
  else:
    classes, counts = datasets.count_labels(labels, clients)
    class_names = data.names_of(data.label, classes)
  columns = {
    'client_id': list(names),
    'examples': counts.sum(axis=1).tolist(),
  }
  if is_test.any():
    columns['test_examples'] = [int(is_test[rows].sum()) for rows in clients]
  table = text_table.to_csv(
    [*columns, *class_names],
    [
      [*row, *of_classes]
      for *row, of_classes in zip(*columns.values(), counts.tolist())
    ],
  )
  simulation.write_atomically(folder / 'clients.csv', table)
  groups = None
  if coarse_label:
    _, first = np.unique(labels, return_index=True)
    groups = data.names_of(coarse_label, data.others[coarse_label][first])
  plot = label_partition.plot_label_partition(
    counts,
    client_names=names,
    class_names=class_names,
    class_groups=groups,
    title=title,
    label=what,
  )
  style.save_figure(plot, folder / f'label_partition.{plot_format}')
