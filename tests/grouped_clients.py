# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small folders of grouped clients, for tests."""

from collections.abc import Mapping
import json
import os
import pathlib
from typing import Any

from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import grouped_writer

import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf

TEXT = {'text': tf.TensorSpec([], tf.string)}

# Texts by split and client.
Texts = Mapping[str, Mapping[str, list[str]]]


def make_texts(num_clients: int) -> dict[str, list[str]]:
  """Returns 1 to 3 texts for each of the clients site-0.org, site-1.org, ..."""
  return {
    f'site-{i}.org': [f'page {j} of {i} é' for j in range(1 + i % 3)]
    for i in range(num_clients)
  }


def write_folder(
  folder: str | os.PathLike[str], texts: Texts, *, num_shards: int = 2
) -> pathlib.Path:
  """Writes texts as a folder of grouped clients, and returns its path."""
  with grouped_writer.GroupedWriter(
    folder, features=TEXT, num_shards=num_shards
  ) as writer:
    for split, clients in texts.items():
      for client_id, client in clients.items():
        writer.write(split, client_id, [{'text': text} for text in client])
  return pathlib.Path(folder)


def rewrite_index(
  folder: pathlib.Path,
  *,
  row_group_size: int = client_index.ROW_GROUP_CLIENTS,
  **changes: Any,
) -> None:
  """Writes the index anew.

  Args:
    folder: Of `write_folder`.
    row_group_size: Rows of a part of the file.
    **changes: Columns in place of those that are there; None leaves one out.
  """
  path = folder / 'clients.parquet'
  table = pq.read_table(path)
  for name, column in changes.items():
    place = table.schema.get_field_index(name)
    if column is None:
      table = table.remove_column(place)
    else:
      field = table.schema.field(name)
      if not isinstance(column, pa.Array):
        column = pa.array(
          column,
          field.type.value_type
          if pa.types.is_dictionary(field.type)
          else field.type,
        )
      table = table.set_column(place, name, column)
  pq.write_table(table, path, row_group_size=row_group_size)


def rewrite_description(folder: pathlib.Path, **changes: Any) -> None:
  """Changes entries of dataset.json."""
  path = folder / 'dataset.json'
  path.write_text(json.dumps(json.loads(path.read_text()) | changes))
