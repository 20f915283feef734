# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' data in the form for `client_scorer.ClientScorer`."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import functools

from fedfish_tff import datasets
from fedfish_tff.evaluation import client_scorer

import numpy as np

# The number of clients that have examples, or copies of them, in memory at
# once.
_CLIENTS_AT_A_TIME = 64


def chunk_inputs(
  client_ids: Sequence[str],
  load: Callable[[str], client_scorer.ClientInput | None],
) -> Iterator[list[client_scorer.ClientInput]]:
  """Yields the data of groups of clients that are in memory together.

  Args:
    client_ids: The clients to load, in order.
    load: A function that loads a client; None leaves the client out.
  """
  for start in range(0, len(client_ids), _CLIENTS_AT_A_TIME):
    loaded = map(load, client_ids[start : start + _CLIENTS_AT_A_TIME])
    # Not bound to a name, since the caller frees a group before the next one.
    yield [client for client in loaded if client is not None]


def load_chunks(
  clients: datasets.ClientData,
  client_ids: Sequence[str] | None = None,
  *,
  eval_batch_size: int,
) -> Iterator[list[client_scorer.ClientInput]]:
  """Loads groups of clients, one by one, for a scorer without tuning.

  Args:
    clients: Any client data, which are read group by group.
    client_ids: The ids of clients to load, in order; all by default.
    eval_batch_size: The number of examples per batch.

  Returns:
    Groups with all examples of each client, in batches, as `test`.
  """

  def load(client_id: str) -> client_scorer.ClientInput:
    planned = plan_whole_client(clients, client_id, batch_size=eval_batch_size)
    return {'test': datasets.to_client_input(planned)}

  return chunk_inputs(
    clients.client_ids if client_ids is None else client_ids, load
  )


def plan_whole_client(
  clients: datasets.ClientData, client_id: str, *, batch_size: int
) -> datasets.ClientBatches:
  """Returns a client in the batches of `datasets.sequential_batches`.

  If the clients have a source, they are read where they are used.
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
) -> client_scorer.ClientInput:
  """Returns a client of a round, for a scorer with tuning.

  Args:
    client: The client's batches of the round.
    eval_batch_size: The number of examples per batch in evaluation.

  Returns:
    The round's batches as `train`, and each of their examples once as `test`.
  """
  scored = client.replan(np.sort, batch_size=eval_batch_size)
  return {
    'train': datasets.to_client_input(client),
    'test': datasets.to_client_input(scored),
  }


def split_client(
  client: datasets.ClientBatches,
  *,
  fraction: float,
  fine_tune_spec: datasets.BatchSpec | None,
  seed: int,
) -> client_scorer.ClientInput:
  """Returns a share of a client's examples, and its unseen half.

  Args:
    client: All examples of the client by `plan_whole_client`: at least two, and
      at least `datasets.MIN_FEW_SHOT_EXAMPLES` for a share below a half.
    fraction: The share of the examples to fine-tune on, in (0, 0.5].
    fine_tune_spec: The batches and epochs of the fine-tuning; None for no
      `train`.
    seed: The seed of the halves and of the order of the batches.

  Returns:
    The batches to fine-tune on as `train`, and those to score as `test`, which
    are the same for every share.
  """
  keys = dict(client_id=client.client_id, seed=seed)
  parts = {'test': client.replan(functools.partial(_plan_unseen, **keys))}
  if fine_tune_spec is not None:
    parts['train'] = client.replan(
      functools.partial(
        _plan_share, fraction=fraction, spec=fine_tune_spec, **keys
      ),
      epochs=fine_tune_spec.epochs,
      batch_size=fine_tune_spec.batch_size,
    )
  return {k: datasets.to_client_input(part) for k, part in parts.items()}


def _plan_share(
  examples: np.ndarray,
  *,
  fraction: float,
  spec: datasets.BatchSpec,
  client_id: str,
  seed: int,
) -> np.ndarray:
  keys = dict(client_id=client_id, seed=seed)
  share, _ = _split(len(examples), fraction, **keys)
  return share[datasets.plan_indices(len(share), spec, round_number=0, **keys)]


def _plan_unseen(
  examples: np.ndarray, *, client_id: str, seed: int
) -> np.ndarray:
  _, unseen = _split(len(examples), 0.5, client_id, seed)
  return unseen


def _split(
  total: int, fraction: float, client_id: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the numbers of the examples of a share and of the unseen half."""
  # Of fewer than MIN_FEW_SHOT_EXAMPLES there are halves, too.
  split = datasets.split_rows if fraction == 0.5 else datasets.split_few_shot
  return split(total, fraction=fraction, client_id=client_id, seed=seed)
