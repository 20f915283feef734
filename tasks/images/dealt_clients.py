# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Synthetic clients that share the examples of published ones."""

from __future__ import annotations

from fedfish_tff import datasets
from fedfish_tff import fields

import numpy as np

# The option `alpha` of tasks whose clients can be dealt anew.
ALPHA_OPTION = fields.Field(
  None,
  fields.Optional(float, fields.number(positive=True)),
  'The concentration per label with which the examples of training clients are '
  'dealt to synthetic ones; None for the published clients.',
)


def deal_anew(
  clients: datasets.ClientData, *, label: str, alpha: float, seed: int
) -> datasets.InMemoryClientData:
  """Deals all examples to as many synthetic clients, by their labels.

  Args:
    clients: The published clients, whose examples are dicts; all of them are
      read.
    label: The name of the labels, int [n].
    alpha: The concentration per label of the clients' label proportions,
      positive (`datasets.partition_by_dirichlet`).
    seed: The seed of the partition, of which the clients are a function.

  Returns:
    The clients, each with at least one example.
  """
  import tensorflow as tf  # pylint: disable=g-import-not-at-top

  examples = tf.nest.map_structure(
    lambda *arrays: np.concatenate(arrays),
    *map(clients.load_client, clients.client_ids),
  )
  partition = datasets.partition_by_dirichlet(
    examples[label],
    num_clients=len(clients.client_ids),
    alpha=alpha,
    seed=seed,
  )
  return datasets.InMemoryClientData(
    {
      f'client_{number:04}': {
        name: array[rows] for name, array in examples.items()
      }
      for number, rows in enumerate(partition)
    }
  )
