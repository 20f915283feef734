# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' data as the evaluations here take them."""

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import functools

from fedfish_tff import datasets

import numpy as np

EvaluationInput = collections.OrderedDict[str, datasets.ClientInput]

# Clients whose examples, or copies of them, are in memory at once.
_CLIENTS_AT_A_TIME = 64


def chunk_clients(client_ids: Sequence[str]) -> Iterator[Sequence[str]]:
  """Yields the clients in groups that are to be in memory at once."""
  for start in range(0, len(client_ids), _CLIENTS_AT_A_TIME):
    yield client_ids[start : start + _CLIENTS_AT_A_TIME]


def load_chunks(
  clients: datasets.ClientData, *, eval_batch_size: int
) -> Iterator[list[datasets.ClientInput]]:
  """Yields what `evaluation.ChunkedEvaluation` takes, loading as it goes.

  Args:
    clients: The clients, in whose order they are yielded.
    eval_batch_size: Examples a batch.

  Yields:
    All examples of each client of a group, in batches.
  """
  for chunk in chunk_clients(clients.client_ids):
    yield [
      datasets.to_client_input(
        plan_whole_client(clients, client_id, batch_size=eval_batch_size)
      )
      for client_id in chunk
    ]


def plan_whole_client(
  clients: datasets.ClientData, client_id: str, *, batch_size: int
) -> datasets.ClientBatches:
  """Returns a client's examples as `datasets.sequential_batches` has them.

  Args:
    clients: Clients, which are read where they are used if they have a source.
    client_id: The client.
    batch_size: Examples a batch.
  """
  return datasets.plan_client(
    clients,
    datasets.BatchSpec(batch_size=batch_size, shuffle=False),
    client_id=client_id,
    seed=0,
    round_number=0,
    refers=datasets.takes_references(),
  )


def build_barrier_input(
  client: datasets.ClientBatches, *, eval_batch_size: int
) -> EvaluationInput:
  """Returns what `evaluation.build_client_server_barrier` takes of a client.

  Args:
    client: The client's batches of the round.
    eval_batch_size: Examples a batch in evaluation.

  Returns:
    The round's batches as `train`, and as `eval` each example among them once:
    the |D_i| after the cap, on which the client's own model was trained.
  """
  scored = datasets.take_part(
    client, functools.partial(_scored, batch_size=eval_batch_size)
  )
  return collections.OrderedDict(
    train=datasets.to_client_input(client),
    eval=datasets.to_client_input(scored),
  )


def _scored(
  client: datasets.ClientBatches, *, batch_size: int
) -> datasets.ClientBatches:
  """Returns each example of a round's batches once."""
  return datasets.ClientBatches(
    client_id=client.client_id,
    examples=client.examples,
    indices=np.sort(client.indices[: client.num_examples]),
    epochs=1,
    batch_size=batch_size,
  )


def build_personalization_input(
  fine_tune: datasets.Examples,
  unseen: datasets.Examples,
  *,
  client_id: str,
  batch_spec: datasets.BatchSpec,
  eval_batch_size: int,
  seed: int,
) -> EvaluationInput:
  """Returns what `evaluation.build_personalization_totals` takes of a client.

  Args:
    fine_tune: The client's examples to fine-tune on.
    unseen: The client's examples to score.
    client_id: The client.
    batch_spec: Batches and epochs of the fine-tuning.
    eval_batch_size: Examples a batch in evaluation.
    seed: Decides the order of the batches.

  Returns:
    Batches to fine-tune on as `train`, and those to score as `test`.
  """
  train = datasets.plan_batches(
    fine_tune, batch_spec, client_id=client_id, seed=seed, round_number=0
  )
  test = datasets.sequential_batches(
    unseen, client_id=client_id, batch_size=eval_batch_size
  )
  return collections.OrderedDict(
    train=datasets.to_client_input(train),
    test=datasets.to_client_input(test),
  )
