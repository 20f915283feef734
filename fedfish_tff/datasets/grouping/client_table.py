# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The index of all clients of grouped files, and what it says of them."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
from typing import Any

from fedfish_tff import new_files
from fedfish_tff.datasets import client_index

import numpy as np
import pyarrow as pa
from pyarrow import parquet

_PERCENTILES = {
  'min': 0,
  'p10': 10,
  'p25': 25,
  'median': 50,
  'p75': 75,
  'p90': 90,
  'p99': 99,
  'max': 100,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientSizes:
  """How large each client of a split is.

  Attributes:
    examples: int64 [number of clients], in the order of their ids.
    words: int64 [number of clients], in the same order.
  """

  examples: np.ndarray
  words: np.ndarray


def write_client_table(
  path: str | os.PathLike[str],
  parts_of: Mapping[str, Sequence[str | os.PathLike[str]]],
) -> dict[str, ClientSizes]:
  """Writes one index of all shards, sorted by split and client id.

  Args:
    path: The Parquet file to write.
    parts_of: For each split, the index of each of its shards.

  Returns:
    The sizes of the clients of each split.

  Raises:
    OSError: If a file cannot be read or written.
  """
  schema = client_index.INDEX_SCHEMA
  sizes = {}
  with new_files.new_file(path) as file:
    with client_index.create_index_writer(file) as writer:
      for split in sorted(parts_of):
        table = pa.concat_tables(
          parquet.read_table(part, schema=schema) for part in parts_of[split]
        ).sort_by('client_id')
        sizes[split] = ClientSizes(
          examples=table['examples'].to_numpy(),
          words=table['words'].to_numpy(),
        )
        writer.write_table(
          table.replace_schema_metadata(schema.metadata),
          row_group_size=client_index.ROW_GROUP_CLIENTS,
        )
  return sizes


def summarize(sizes: Sequence[ClientSizes]) -> dict[str, Any]:
  """Returns counts of clients, examples and words, and client sizes.

  Args:
    sizes: Of some splits, which are taken together.

  Returns:
    'clients', 'examples', 'words', and for 'examples_per_client' and
    'words_per_client' the mean and percentiles, which are sizes of clients that
    there are; none where there are no clients.
  """
  totals = {'clients': sum(len(part.examples) for part in sizes)}
  spread = {}
  for name in ('examples', 'words'):
    values = np.concatenate([getattr(part, name) for part in sizes])
    totals[name] = int(values.sum())
    spread[f'{name}_per_client'] = _describe(values)
  return totals | spread


def _describe(values: np.ndarray) -> dict[str, float]:
  if not len(values):
    return {}
  quantiles = np.percentile(
    values, list(_PERCENTILES.values()), method='inverted_cdf'
  )
  return {
    'mean': float(values.mean()),
    **dict(zip(_PERCENTILES, map(int, quantiles), strict=True)),
  }
