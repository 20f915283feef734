# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""An interpreter of plans, on local values."""

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.reading import computation_reader
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import server_graph
from fedfish_tff.execution.running import stage_runs

import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# Runs a stage on the server's values, the clients' values, and their number.
RunStage: TypeAlias = Callable[
  [
    federated_plan.ClientStage,
    Mapping[_ValueId, Any],
    Mapping[_ValueId, Sequence[Any]],
    int,
  ],
  stage_runs.StageResult,
]


def run_plan(
  plan: federated_plan.Plan,
  arg: Any,
  cardinalities: tff.framework.CardinalitiesType,
  run_stage: RunStage,
) -> Any:
  """Runs a plan.

  Args:
    plan: A plan by `federated_plan.compile_plan`.
    arg: The argument as a local value of `plan.parameter_type`. A part at the
      clients is a list with one local value per client, unless it is all equal.
      `None` if the computation takes no argument.
    cardinalities: The number of clients, under `tff.CLIENTS`. It must not be 0
      if the result is a value on which all clients agree.
    run_stage: The function that runs a client stage.

  Returns:
    The result, a local value of `plan.result_type`.
  """
  num_clients = cardinalities[tff.CLIENTS]
  server_values: dict[_ValueId, Any] = {}
  client_values: dict[_ValueId, Sequence[Any]] = {}
  if plan.parameter is not None:
    for value_id, value in _bind(plan.parameter, arg):
      if value_id in plan.client_ids:
        client_values[value_id] = value
      else:
        server_values[value_id] = sequence_values.from_the_start(value)
  for action in server_graph.with_segments(plan):
    interruption.check()
    if isinstance(action, federated_plan.ClientStage):
      aggregates, outputs = run_stage(
        action, server_values, client_values, num_clients
      )
      server_values.update(aggregates)
      client_values.update(outputs)
      for value_id in action.read_last:
        del client_values[value_id]
    else:
      action.run(server_values)
  return _result(
    plan.result,
    plan.result_type,
    [
      collections.ChainMap(
        server_values, {i: v[client] for i, v in client_values.items()}
      )
      for client in range(num_clients)
    ],
    server_values,
  )


def _bind(
  placed: computation_reader.PlacedStruct, arg: Any
) -> Iterator[tuple[_ValueId, Any]]:
  """Yields the numbers and the values of an argument's parts."""
  if isinstance(placed, tuple):
    for element, value in zip(placed, arg, strict=True):
      yield from _bind(element, value)
  else:
    (value_id,) = expressions.value_ids(placed.expression)
    yield value_id, arg


def _result(
  placed: computation_reader.PlacedStruct,
  type_spec: tff.Type,
  clients: Sequence[Mapping[_ValueId, Any]],
  server: Mapping[_ValueId, Any],
) -> Any:
  """Returns a result, given the values known at each client and the server."""
  if isinstance(placed, tuple):
    return tuple(
      _result(element, type_spec[i], clients, server)
      for i, element in enumerate(placed)
    )
  if placed.placement is not tff.CLIENTS:
    return expressions.evaluate(placed.expression, server.__getitem__)
  if not type_spec.all_equal:
    return [
      expressions.evaluate(placed.expression, client.__getitem__)
      for client in clients
    ]
  if server.keys() >= set(expressions.value_ids(placed.expression)):
    return expressions.evaluate(placed.expression, server.__getitem__)
  if not clients:
    raise ValueError(
      'There are no clients, so there is no value on which they agree: '
      f'{type_spec}'
    )
  return expressions.evaluate(placed.expression, clients[0].__getitem__)
