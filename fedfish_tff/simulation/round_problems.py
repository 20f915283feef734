# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reports of problems in a round of training.

They name the clients that were left out, and replace TensorFlow's long message
of a check that fails inside a computation by one sentence.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import enum
from typing import Any

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.datasets import batches as batches_lib

from absl import logging
import tensorflow_federated as tff

# The column of a `Cause`, which only diverged rounds have.
DIVERGED_COLUMN = 'train/diverged'
_MAX_NAMES = 5

AnyProcess = (
  tff.learning.templates.LearningProcess
  | client_state_process.ClientStateProcess
)


class Cause(enum.IntEnum):
  """The first thing that was not finite in a diverged round.

  Attributes:
    CLIENTS: The updates of all clients.
    LOSS: The training loss; one far beyond that of the initial model counts.
    AGGREGATE: The aggregate of updates, some of which were finite.
    MODEL: The model after the server's step.
  """

  CLIENTS = 1
  LOSS = 2
  AGGREGATE = 3
  MODEL = 4


def training_weights(
  process: AnyProcess, state: Any
) -> tff.learning.models.ModelWeights:
  """Returns the weights that clients start from, which may not be the model's.

  Args:
    process: The process; with TFF's own, they are the model's.
    state: The process' state after or before any round.
  """
  get = getattr(process, 'get_training_weights', None)
  return (get or process.get_model_weights)(state)


@contextlib.contextmanager
def input_errors(cohort: Sequence[batches_lib.ClientBatches]) -> Iterator[None]:
  """Raises InputError if a check inside a computation fails, or a label is wrong.

  Args:
    cohort: The clients of the computation, in the order that the check counts.
  """
  try:
    yield
  except Exception as error:
    client_ids = [client.client_id for client in cohort]
    text = errors.describe_bad_input(error, client_ids)
    if text is None:
      raise
    raise errors.InputError(text) from error


@contextlib.contextmanager
def skip_without_model(consequence: str) -> Iterator[None]:
  """Goes on with a warning if a check inside a measurement fails.

  A process may have no model yet, such as Fed3R without regularisation before
  its sums are of full rank. More rounds help then. Outside this context, asking
  for a missing model raises the error.

  Args:
    consequence: The sentence that begins the warning.
  """
  try:
    yield
  except Exception as error:
    text = errors.describe_failed_check(error)
    if text is None:
      raise
    logging.warning('%s %s', consequence, text)


def name_excluded_clients(
  process: AnyProcess,
  state: Any,
  cohort: Sequence[batches_lib.ClientBatches],
  num_excluded: int,
  *,
  client_states: Sequence[Any] | None = None,
) -> str:
  """Returns a clause on the clients that a round left out, and advice.

  Sums do not identify them, so each client's local training is repeated. That
  may not find a client that was left out because of its round's values, such as
  Mime Lite's optimizer state; the clause counts those that are not found.

  Args:
    process: The process that has run the round.
    state: The process' state before the round.
    cohort: The round's clients.
    num_excluded: The number of clients that the process left out.
    client_states: The clients' states before the round, if they have any.
  """
  if num_excluded == len(cohort):
    # A diverged run leaves out all clients in every round, and repeating their
    # training would take longer than the rounds.
    names = name_clients([client.client_id for client in cohort])
  elif not hasattr(process, 'update_is_finite'):
    names = 'unknown to this process'
  else:
    found = [
      client.client_id
      for client, weights in zip(
        cohort, _start_weights(process, state, len(cohort), client_states)
      )
      if not process.update_is_finite(
        weights, batches_lib.to_client_input(client)
      )
    ]
    num_missing = num_excluded - len(found)
    names = name_clients(found)
    if num_missing > 0:
      missing = f'{num_missing} not identified'
      names = f'{names}, {missing}' if found else missing
  advice = (
    'a smaller learning rate may help'
    if _uses_weights(process)
    else 'their inputs, or features of them, are not finite or too large'
  )
  return (
    f'the update of {num_excluded} of {len(cohort)} clients was not finite and '
    f'was left out: {names}; {advice}'
  )


def name_clients(client_ids: Sequence[str]) -> str:
  """Returns the first names of clients, and the number of others."""
  others = len(client_ids) - _MAX_NAMES
  names = ', '.join(client_ids[:_MAX_NAMES])
  return f'{names} and {others} others' if others > 0 else names


def _start_weights(
  process: AnyProcess,
  state: Any,
  num_clients: int,
  client_states: Sequence[Any] | None,
) -> Iterator[tff.learning.models.ModelWeights]:
  """Yields the weights from which each client of a round starts training."""
  if client_states is not None:
    for client_state in client_states:
      yield process.client_model_weights(state, client_state)
    return
  weights = training_weights(
    process,
    # Any weights will do here, and the state may not have any yet.
    state if _uses_weights(process) else process.initialize(),
  )
  for _ in range(num_clients):
    yield weights


def _uses_weights(process: AnyProcess) -> bool:
  return getattr(process, 'uses_weights', True)
