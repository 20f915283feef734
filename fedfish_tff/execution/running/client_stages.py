# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a client stage of a plan client by client.

This is the general path, which runs any computation. Several clients compute
at a time, on threads, but their contributions are folded one by one in the
order of the cohort, and only a few wait for their turn. So memory does not grow
with the cohort, and sums do not depend on timing.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import concurrent.futures
import contextlib
import contextvars
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import local_functions
from fedfish_tff.execution.running import stage_runs

import tensorflow as tf

ValueId: TypeAlias = federated_plan.ValueId


class ClientError(RuntimeError):
  """Error in a client's work that cannot be raised anew as its own type."""


def run_clients_generally(
  stage: federated_plan.ClientStage,
  server_values: Mapping[ValueId, Any],
  clients: stage_runs.Clients,
  *,
  parallelism: int,
) -> stage_runs.Partial:
  """Runs a stage for some clients, as a `stage_runs.RunClients` does.

  An error that a client raises has the client's position in its message.

  Args:
    stage: The clients' work.
    server_values: The local values of the server, by number.
    clients: The clients; there may be none.
    parallelism: The number of clients that compute at a time.
  """
  shared = {i: server_values[i] for i in stage.server_inputs}
  reads_elements = any(step.fn.reads_elements for step in stage.steps)
  # Clients that select by the same key get the same slice, computed once.
  slices: dict[ValueId, dict[int, Any]] = collections.defaultdict(dict)

  def compute(number: int) -> tuple[list[Any], list[Any]]:
    """Returns a client's contributions and its outputs."""
    known = dict(shared)
    for value_id in stage.client_inputs:
      value = clients.values[value_id][number]
      if reads_elements:
        value = sequence_values.from_the_start(value)
      known[value_id] = value
    for step in stage.steps:
      interruption.check()
      if isinstance(step.fn, local_functions.Select):
        arg = expressions.evaluate(step.arg, known.__getitem__)
        known[step.out] = step.fn(arg, slices[step.out])
      else:
        step.run(known)
    contributions = [
      expressions.evaluate(a.value, known.__getitem__) for a in stage.aggregates
    ]
    return contributions, [known[out] for out in stage.outputs]

  accumulators = [server_values[a.zero] for a in stage.aggregates]
  outputs: dict[ValueId, list[Any]] = {out: [] for out in stage.outputs}
  with contextlib.closing(_in_order(compute, clients, parallelism)) as results:
    for position, (contributions, kept) in zip(
      clients.positions, results, strict=True
    ):
      with client_errors(position, clients.cohort_size):
        for i, aggregate in enumerate(stage.aggregates):
          accumulators[i] = aggregate.accumulate(
            (accumulators[i], contributions[i])
          )
      for out, value in zip(stage.outputs, kept, strict=True):
        outputs[out].append(value)
  return stage_runs.Partial(accumulators, outputs)


def _in_order(
  compute: Callable[[int], Any], clients: stage_runs.Clients, parallelism: int
) -> Iterator[Any]:
  """Yields the clients' results in order and computes a few ahead."""

  def compute_client(number: int) -> Any:
    with client_errors(clients.positions[number], clients.cohort_size):
      return compute(number)

  numbers = range(len(clients))
  parallelism = min(len(numbers), parallelism)
  if parallelism <= 1:
    yield from map(compute_client, numbers)
    return
  pool = concurrent.futures.ThreadPoolExecutor(
    parallelism, thread_name_prefix='cohort_client'
  )
  waiting: collections.deque[concurrent.futures.Future[Any]] = (
    collections.deque()
  )
  try:
    for number in numbers:
      # Each call needs its own copy, since a context runs once at a time.
      waiting.append(
        pool.submit(contextvars.copy_context().run, compute_client, number)
      )
      if len(waiting) > parallelism:
        yield waiting.popleft().result()
    while waiting:
      yield waiting.popleft().result()
  finally:
    pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def client_errors(position: int, num_clients: int) -> Iterator[None]:
  """Adds a client's position, from 0, to the errors that its work raises."""
  try:
    yield
  except interruption.StoppedError:
    raise
  except Exception as error:
    where = f'Client {position + 1} of {num_clients}'
    raise _error_at(where, error) from error


def _error_at(where: str, error: Exception) -> Exception:
  """Returns an error of the same type if possible, else a `ClientError`."""
  if isinstance(error, tf.errors.OpError):
    message = f'{where}: {error.message}'
    with contextlib.suppress(TypeError, ValueError):
      return type(error)(error.node_def, error.op, message)
  else:
    message = f'{where}: {error}'
    with contextlib.suppress(TypeError, ValueError):
      new_error = type(error)(message)
      # Some errors make their own message from their arguments.
      if where in str(new_error):
        return new_error
  return ClientError(message)
