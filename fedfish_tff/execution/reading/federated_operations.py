# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A TFF computation as a list of operations on numbered values.

The operations are calls at the server, calls at each client, and aggregations.
Everything else in a computation only regroups values (see `expressions`).
"""

from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import local_functions

import tensorflow_federated as tff


@dataclasses.dataclass(frozen=True)
class Aggregate:
  """A `tff.federated_aggregate`.

  Attributes:
    out: The number of the result, at the server.
    value: The contribution of each client.
    zero: The number of the initial accumulator, at the server.
    accumulate: The function (accumulator, contribution) -> accumulator.
    merge: The function (accumulator, accumulator) -> accumulator.
    report: The function accumulator -> result.
  """

  out: expressions.ValueId
  value: expressions.Expression
  zero: expressions.ValueId
  accumulate: local_functions.LocalFunction
  merge: local_functions.LocalFunction
  report: local_functions.LocalFunction


@dataclasses.dataclass(frozen=True)
class Placed:
  """A part of an argument or of a result, with its placement.

  Attributes:
    placement: `tff.CLIENTS`, `tff.SERVER`, or `None` if it is not placed.
    expression: The expression of its value; for clients, of one client's value.
  """

  placement: Any
  expression: expressions.Expression


# Placed values, in nested tuples.
PlacedStruct: TypeAlias = Placed | tuple['PlacedStruct', ...]


@dataclasses.dataclass(frozen=True)
class Operations:
  """A computation as a list of operations.

  Attributes:
    parameter: The numbers of the argument's parts, one value each; `None` if
      there is no argument.
    operations: The operations, in an order in which they can run.
    result: The result, in terms of the argument and the operations' values.
    types: The type of each numbered value; for client values, of one client's.
    client_ids: The numbers of the values that differ from client to client.
  """

  parameter: PlacedStruct | None
  operations: tuple[local_functions.Step | Aggregate, ...]
  result: PlacedStruct
  types: Mapping[expressions.ValueId, tff.Type]
  client_ids: frozenset[expressions.ValueId]

  def is_server_step(self, operation: local_functions.Step | Aggregate) -> bool:
    """Returns whether an operation is a call at the server or is unplaced."""
    return (
      isinstance(operation, local_functions.Step)
      and operation.out not in self.client_ids
    )


def to_expression(
  symbol: PlacedStruct, placement: Any = None
) -> expressions.Expression:
  """Returns the expression of a symbol with all parts at one placement.

  Args:
    symbol: A value or a structure of values.
    placement: The placement that all parts must have; `None` for unplaced.

  Raises:
    ValueError: If a part has another placement.
  """
  match symbol:
    case tuple():
      return expressions.Struct(
        tuple(to_expression(element, placement) for element in symbol)
      )
    case Placed() if symbol.placement is placement:
      return symbol.expression
    case Placed() if symbol.placement is not None:
      raise ValueError('Cannot embed a federated value.')
    case _:
      raise ValueError(f'Cannot use this as a value here: {symbol}')
