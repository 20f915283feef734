# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The index and the description of a folder of grouped clients."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import os
from typing import Any

from fedfish_tff import new_files
from fedfish_tff.datasets import client_index
from fedfish_tff.datasets import grouped_folder

import numpy as np
import pyarrow as pa
from pyarrow import parquet


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSizes:
  """The sizes of the clients of a split.

  Attributes:
    examples: The numbers of examples, int64 [number of clients], in the order
      of the clients' ids.
    words: The numbers of words, int64 [number of clients], in the same order.
  """

  examples: np.ndarray
  words: np.ndarray


def write_index(
  path: str | os.PathLike[str], tables: Mapping[str, Sequence[pa.Table]]
) -> dict[str, ClientSizes]:
  """Writes the index of a folder, sorted by split and client id.

  Args:
    path: A new file, clients.parquet.
    tables: For each split, the index of each of its files.

  Returns:
    The sizes of the clients of each split.

  Raises:
    OSError: If the index cannot be written.
  """
  sizes = {}
  with (
    new_files.new_file(path) as file,
    # Without checksums a changed byte may give another client's name or offset.
    parquet.ParquetWriter(
      file, client_index.INDEX_SCHEMA, write_page_checksum=True
    ) as writer,
  ):
    for split in sorted(tables):
      table = pa.concat_tables(tables[split]).sort_by('client_id')
      sizes[split] = ClientSizes(
        **{name: table[name].to_numpy() for name in ('examples', 'words')}
      )
      writer.write_table(
        table.replace_schema_metadata(client_index.INDEX_SCHEMA.metadata),
        row_group_size=client_index.ROW_GROUP_CLIENTS,
      )
  return sizes


def write_description(
  folder: str | os.PathLike[str],
  *,
  features: Mapping[str, Any],
  shards: Mapping[str, int],
  sizes: Mapping[str, ClientSizes],
  source: Mapping[str, Any],
  key: Mapping[str, Any] | None = None,
  skipped: Mapping[str, int] | None = None,
  **more: Any,
) -> None:
  """Writes dataset.json, which completes the folder.

  Args:
    folder: The folder, otherwise complete.
    features: The features of an example, as in dataset.json.
    shards: The number of files of each split.
    sizes: The sizes of the clients of each split.
    source: The origin of the clients.
    key: The key of the clients.
    skipped: The number of records of each kind that were left out.
    **more: Further entries.

  Raises:
    OSError: If dataset.json cannot be written.
  """
  description = {
    'format_version': grouped_folder.FORMAT_VERSION,
    'features': features,
    'key': key,
    'splits': {
      split: {
        'shards': count,
        'clients': len(sizes[split].examples),
        'examples': int(sizes[split].examples.sum()),
        'words': int(sizes[split].words.sum()),
      }
      for split, count in shards.items()
    },
    'skipped': dict(skipped or {}),
    'source': dict(source),
    **more,
  }
  path = os.path.join(folder, grouped_folder.DESCRIPTION_FILE)
  with new_files.new_file(path) as file:
    text = json.dumps(description, indent=2, ensure_ascii=False)
    file.write(f'{text}\n'.encode(errors='replace'))
