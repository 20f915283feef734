# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A TFF computation as a list of operations on numbered values.

The operations are calls at the server, calls at each client, and aggregations;
everything else in a computation only regroups values (see `expressions`).
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
    value: What each client contributes.
    zero: The number of the initial accumulator, at the server.
    accumulate: (accumulator, contribution) -> accumulator.
    merge: (accumulator, accumulator) -> accumulator.
    report: accumulator -> result.
  """

  out: expressions.ValueId
  value: expressions.Expression
  zero: expressions.ValueId
  accumulate: local_functions.LocalFunction
  merge: local_functions.LocalFunction
  report: local_functions.LocalFunction


@dataclasses.dataclass(frozen=True)
class Placed:
  """A part of an argument or of a result: where it is, and what.

  Attributes:
    placement: `tff.CLIENTS`, `tff.SERVER`, or `None` if it is not placed.
    expression: What it consists of; for clients, of one client.
  """

  placement: Any
  expression: expressions.Expression


# Placed values, in nested tuples.
PlacedStruct: TypeAlias = Placed | tuple['PlacedStruct', ...]


@dataclasses.dataclass(frozen=True)
class Operations:
  """A computation as a list of operations.

  Attributes:
    parameter: How the argument's parts are numbered; `None` if there is none.
      Each part is one value.
    operations: In an order in which they can run.
    result: The result, of arguments and the operations' values.
    types: The type of each numbered value; of client values, of one client's.
    client_ids: The numbers of the values that differ from client to client.
  """

  parameter: PlacedStruct | None
  operations: tuple[local_functions.Step | Aggregate, ...]
  result: PlacedStruct
  types: Mapping[expressions.ValueId, tff.Type]
  client_ids: frozenset[expressions.ValueId]

  def is_server_step(self, operation: local_functions.Step | Aggregate) -> bool:
    """Whether an operation is a call at the server, or of an unplaced function."""
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
    placement: Where they must be; `None`: unplaced.

  Raises:
    ValueError: If they are elsewhere.
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
