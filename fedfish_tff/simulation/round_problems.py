# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a round of training, in words that help.

Clients that were left out get names, and checks that fail inside of a
computation, which TensorFlow words at length, become one sentence.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff.algorithms import client_state_process
from fedfish_tff.datasets import batches as batches_lib

from absl import logging
import tensorflow_federated as tff

AnyProcess = (
  tff.learning.templates.LearningProcess
  | client_state_process.ClientStateProcess
)


def training_weights(
  process: AnyProcess, state: Any
) -> tff.learning.models.ModelWeights:
  """Returns what clients start from, which may be other than the model.

  Args:
    process: The process; TFF's own know no difference.
    state: Its state.
  """
  get = getattr(process, 'get_training_weights', process.get_model_weights)
  return get(state)


@contextlib.contextmanager
def input_errors(cohort: Sequence[batches_lib.ClientBatches]) -> Iterator[None]:
  """Raises InputError where a check inside of a computation fails.

  Args:
    cohort: The clients that it computes on, in order.
  """
  try:
    yield
  except Exception as error:
    text = errors.describe_failed_check(error, [c.client_id for c in cohort])
    if text is None:
      raise
    raise errors.InputError(text) from error


def skip_evaluation(
  round_number: int,
) -> contextlib.AbstractContextManager[None]:
  """Goes on, with a warning, where a check inside of an evaluation fails.

  A process may have no model yet, such as Fed3R without regularisation before
  its sums are of full rank. More rounds are what helps; who asks for a model
  that there is not gets the error.

  Args:
    round_number: The round that is evaluated.
  """
  return _skip(f'Round {round_number} was not evaluated.')


def skip_barrier(
  round_number: int,
) -> contextlib.AbstractContextManager[None]:
  """As `skip_evaluation`, for the client-server barrier of a round.

  It needs the model before the round too, so that a round may have an evaluation
  and no barrier.

  Args:
    round_number: The round whose barrier is measured.
  """
  return _skip(f'The barrier of round {round_number} was not measured.')


@contextlib.contextmanager
def _skip(consequence: str) -> Iterator[None]:
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
  round_number: int,
  *,
  client_states: Sequence[Any] | None = None,
) -> None:
  """Logs which clients a round left out; sums hide it, so they are asked.

  A client may be left out by what it knows in its round only, such as Mime
  Lite's optimizer state; those that are not found are counted.

  Args:
    process: The process.
    state: Its state before the round.
    cohort: The round's clients.
    num_excluded: How many of them were left out, as the process has it.
    round_number: The round.
    client_states: The clients' states before the round, if they have any.
  """
  if num_excluded == len(cohort):
    # A run that has diverged leaves out everyone, round after round: asking
    # all of them would take longer than the rounds do.
    names = ', '.join(client.client_id for client in cohort)
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
    if num_missing > 0:
      found.append(f'{num_missing} not identified')
    names = ', '.join(found)
  logging.warning(
    'Round %d: the update of %d of %d clients was not finite and was left '
    'out: %s. %s',
    round_number,
    num_excluded,
    len(cohort),
    names,
    'A smaller client learning rate may help.'
    if _uses_weights(process)
    else 'Their inputs, or features of them, are not finite or too large.',
  )


def _start_weights(
  process: AnyProcess,
  state: Any,
  num_clients: int,
  client_states: Sequence[Any] | None,
) -> Iterator[tff.learning.models.ModelWeights]:
  """Yields what each client of a round starts its local training from."""
  if client_states is not None:
    for client_state in client_states:
      yield process.client_model_weights(state, client_state)
    return
  weights = training_weights(
    process,
    # Any weights will do, and those of the state may not exist yet.
    state if _uses_weights(process) else process.initialize(),
  )
  for _ in range(num_clients):
    yield weights


def _uses_weights(process: AnyProcess) -> bool:
  return getattr(process, 'uses_weights', True)
