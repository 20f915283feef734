# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs of a stage over shares of the cohort, each with its own runner.

A runner takes a stage, the server's values and some clients. It returns an
accumulator for each aggregate, and the clients' outputs. It may be a device of
this process (`cohort_stages`), another process or another machine. This module
merges the runners' results in a fixed order.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import concurrent.futures
import contextvars
import dataclasses
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

from fedfish_tff.execution.reading import federated_plan

ValueId: TypeAlias = federated_plan.ValueId

# The result of a stage: the aggregates' results, and for each output a list
# with one local value per client.
StageResult: TypeAlias = tuple[
  Mapping[ValueId, Any], Mapping[ValueId, Sequence[Any]]
]


@dataclasses.dataclass(frozen=True, eq=False)
class Clients:
  """Some clients of a cohort.

  Attributes:
    values: The client inputs of a stage, each with one local value per client.
    positions: The positions of these clients in the cohort, from 0.
    cohort_size: The number of all clients.
  """

  values: Mapping[ValueId, Sequence[Any]]
  positions: Sequence[int]
  cohort_size: int

  def __len__(self) -> int:
    return len(self.positions)


class Partial(NamedTuple):
  """The partial results of a stage, from some clients.

  Attributes:
    accumulators: A local value for each aggregate: its zero plus the clients'
      contributions, added in order.
    outputs: The outputs of the stage, each with one local value per client.
  """

  accumulators: Sequence[Any]
  outputs: Mapping[ValueId, Sequence[Any]]


# Runs a stage on the server's values by number (including the stage's server
# inputs and the zeros of its aggregates) and some clients.
RunClients: TypeAlias = Callable[
  [federated_plan.ClientStage, Mapping[ValueId, Any], Clients], Partial
]


def run_stage(
  stage: federated_plan.ClientStage,
  server_values: Mapping[ValueId, Any],
  client_values: Mapping[ValueId, Sequence[Any]],
  num_clients: int,
  *,
  runners: Sequence[RunClients],
) -> StageResult:
  """Runs a stage on a cohort.

  Args:
    stage: The clients' work.
    server_values: The local values of the server, by number.
    client_values: The client inputs of the stage, each with one local value per
      client.
    num_clients: The size of the cohort; may be 0.
    runners: The runners, which work at the same time. Client i goes to runner i
      modulo their number. Accumulators are merged in the runners' order.
  """
  lanes = max(1, min(len(runners), num_clients))
  positions = [range(lane, num_clients, lanes) for lane in range(lanes)]
  shares = [
    Clients(
      {i: [client_values[i][p] for p in own] for i in stage.client_inputs},
      own,
      num_clients,
    )
    for own in positions
  ]
  if lanes == 1:
    partials = [runners[0](stage, server_values, shares[0])]
  else:
    with concurrent.futures.ThreadPoolExecutor(
      lanes, thread_name_prefix='cohort_runner'
    ) as pool:
      futures = [
        # With a copy of the context each thread can be interrupted.
        pool.submit(
          contextvars.copy_context().run, runner, stage, server_values, share
        )
        for runner, share in zip(runners, shares)
      ]
      partials = [future.result() for future in futures]
  return merge(stage, positions, partials, num_clients)


def merge(
  stage: federated_plan.ClientStage,
  positions: Sequence[Sequence[int]],
  partials: Sequence[Partial],
  num_clients: int,
) -> StageResult:
  """Merges the partial results of shares of a cohort, in order.

  Args:
    stage: The clients' work, with its aggregates.
    positions: The positions in the cohort of each share's clients.
    partials: The partial results of each share; at least one.
    num_clients: The size of the cohort.
  """
  outputs: dict[ValueId, list[Any]] = {
    out: [None] * num_clients for out in stage.outputs
  }
  for own, partial in zip(positions, partials, strict=True):
    for out, values in partial.outputs.items():
      for position, value in zip(own, values, strict=True):
        outputs[out][position] = value
  results = {}
  for number, aggregate in enumerate(stage.aggregates):
    first, *others = (partial.accumulators[number] for partial in partials)
    for other in others:
      first = aggregate.merge((first, other))
    results[aggregate.out] = aggregate.report(first)
  return results, outputs
