# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A reader of a TFF computation's building block as a list of operations.

A computation is read once, as an interpreter would run it, but on symbols
instead of values: lambdas are applied, blocks are entered, and structures,
selections, zips and broadcasts regroup symbols. The list of calls remains.

TFF's call-dominant form stays as it is, but nothing here relies on it.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import local_functions

import tensorflow_federated as tff

_framework = tff.framework


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
  """A computation as a list of operations on numbered values.

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


@dataclasses.dataclass(frozen=True)
class _Closure:
  """A lambda and the symbols around it."""

  block: Any  # A tff.framework.Lambda.
  scope: Mapping[str, Any]


# A symbol: a value (Placed), a tuple of symbols, or a function (a _Closure or
# the building block of an intrinsic or of a TensorFlow computation).
_Symbol: TypeAlias = Any

# Takes a call (a function and its argument) and returns the result's symbol.
_Emit: TypeAlias = Callable[
  [local_functions.LocalFunction, expressions.Expression | None], Placed
]


def read_operations(block: Any) -> Operations:
  """Returns the operations of a computation.

  Args:
    block: Its `tff.framework.ComputationBuildingBlock`, with TFF's intrinsics
      replaced by their bodies. It may neither take nor return a function.
  """
  return _Reader().read(block)


class _Reader:
  """Reads one computation."""

  def __init__(self) -> None:
    self._types: dict[expressions.ValueId, tff.Type] = {}
    self._client_ids: set[expressions.ValueId] = set()
    self._operations: list[local_functions.Step | Aggregate] = []
    self._leaves: dict[bytes, local_functions.TensorFlowLeaf] = {}

  def read(self, block: Any) -> Operations:
    """Returns the operations of a computation's building block."""
    function = self._evaluate(block, {}, self._call_at_server)
    parameter_type = block.type_signature.parameter
    parameter = (
      None if parameter_type is None else self._new_parameter(parameter_type)
    )
    result = self._call(function, parameter, self._call_at_server)
    if not all(isinstance(p, Placed) for p in type_leaves.flatten(result)):
      raise TypeError('A computation that returns a function cannot run.')
    return Operations(
      parameter=parameter,
      operations=tuple(self._operations),
      result=result,
      types=self._types,
      client_ids=frozenset(self._client_ids),
    )

  def _new_id(self, type_spec: tff.Type) -> expressions.ValueId:
    value_id = len(self._types)
    self._types[value_id] = type_spec
    return value_id

  def _new_step(
    self,
    function: local_functions.LocalFunction,
    arg: expressions.Expression | None,
    steps: list[Any],
  ) -> Placed:
    """Adds a call to some steps and returns its result."""
    out = self._new_id(function.type_signature.result)
    steps.append(local_functions.Step(out, function, arg))
    return Placed(None, expressions.Value(out))

  def _new_parameter(self, type_spec: tff.Type) -> PlacedStruct:
    """Numbers the parts of an argument, both placed and unplaced."""
    if isinstance(type_spec, tff.FederatedType):
      value_id = self._new_id(type_spec.member)
      at_clients = type_spec.placement is tff.CLIENTS
      if at_clients and not type_spec.all_equal:
        self._client_ids.add(value_id)
      return Placed(type_spec.placement, expressions.Value(value_id))
    if isinstance(type_spec, tff.StructType) and tff.types.contains(
      type_spec, lambda t: isinstance(t, tff.FederatedType)
    ):
      return tuple(
        self._new_parameter(type_spec[i]) for i in range(len(type_spec))
      )
    if tff.types.contains(type_spec, lambda t: isinstance(t, tff.FunctionType)):
      raise TypeError(
        f'A computation cannot run with an argument of type {type_spec}: '
        'functions are not values.'
      )
    return Placed(None, expressions.Value(self._new_id(type_spec)))

  def _evaluate(
    self, block: Any, scope: Mapping[str, Any], emit: _Emit
  ) -> _Symbol:
    """Returns the symbol of a building block.

    Args:
      block: A `tff.framework.ComputationBuildingBlock`.
      scope: The symbols of the names around it.
      emit: The receiver of function calls: the server, the clients, or a local
        function.
    """
    match block:
      case _framework.Reference():
        return scope[block.name]
      case _framework.Selection():
        return _select(
          self._evaluate(block.source, scope, emit), block.as_index()
        )
      case _framework.Struct():
        return tuple(
          self._evaluate(element, scope, emit)
          for _, element in tff.structure.iter_elements(block)
        )
      case _framework.Block():
        inner = dict(scope)
        for name, value in block.locals:
          inner[name] = self._evaluate(value, inner, emit)
        return self._evaluate(block.result, inner, emit)
      case _framework.Lambda():
        return _Closure(block, scope)
      case _framework.Call():
        function = self._evaluate(block.function, scope, emit)
        arg = (
          None
          if block.argument is None
          else self._evaluate(block.argument, scope, emit)
        )
        return self._call(function, arg, emit)
      case _framework.Literal():
        return emit(
          local_functions.Literal(block.value, block.type_signature), None
        )
      case _framework.Intrinsic() | _framework.CompiledComputation():
        return block
      case _:
        raise ValueError(
          f'Cannot run a computation with a {type(block).__name__} in it: '
          f'{block.compact_representation()}'
        )

  def _call(
    self, function: _Symbol, arg: _Symbol | None, emit: _Emit
  ) -> _Symbol:
    match function:
      case _Closure(block, scope):
        if block.parameter_name is not None:
          scope = {**scope, block.parameter_name: arg}
        return self._evaluate(block.result, scope, emit)
      case _framework.CompiledComputation():
        return emit(
          self._leaf(function), None if arg is None else to_expression(arg)
        )
      case _framework.Intrinsic():
        return self._call_intrinsic(function, arg, emit)
      case _:
        raise ValueError(f'Cannot call a value that is no function: {function}')

  def _leaf(self, block: Any) -> local_functions.TensorFlowLeaf:
    language = block.proto.WhichOneof('computation')
    if language != 'tensorflow':
      raise ValueError(
        f'Cannot run a computation in {language}, as tff.jax.computation makes '
        "them: like TFF's own local runtime, this context runs TensorFlow."
      )
    content = block.proto.SerializeToString(deterministic=True)
    if content not in self._leaves:
      self._leaves[content] = local_functions.TensorFlowLeaf(
        block.proto, block.type_signature
      )
    return self._leaves[content]

  def _call_at_server(
    self,
    function: local_functions.LocalFunction,
    arg: expressions.Expression | None,
  ) -> Placed:
    return self._new_step(function, arg, self._operations)

  def _call_at_clients(
    self,
    function: local_functions.LocalFunction,
    arg: expressions.Expression | None,
  ) -> Placed:
    result = self._call_at_server(function, arg)
    # A constant is the same everywhere, so clients get it from the server.
    if not isinstance(function, local_functions.Literal):
      self._client_ids.add(result.expression.id)
    return result

  def _local_function(
    self, symbol: _Symbol, type_signature: tff.FunctionType
  ) -> local_functions.LocalFunction:
    """Returns a function that uses nothing of the computation around it."""
    if isinstance(symbol, _framework.CompiledComputation):
      return self._leaf(symbol)
    parameter, arg = None, None
    if type_signature.parameter is not None:
      parameter = self._new_id(type_signature.parameter)
      arg = Placed(None, expressions.Value(parameter))
    steps = []
    emit = functools.partial(self._new_step, steps=steps)
    result = to_expression(self._call(symbol, arg, emit))
    known = {parameter, *(step.out for step in steps)}
    for used in (*(s.arg for s in steps if s.arg is not None), result):
      if not known.issuperset(expressions.value_ids(used)):
        raise ValueError(
          'A function given to tff.federated_aggregate, tff.federated_select '
          'or tff.sequence_* uses a value of the computation around it; pass '
          f'that value as an argument instead: {type_signature}'
        )
    return local_functions.Program(
      type_signature, parameter=parameter, steps=tuple(steps), result=result
    )

  def _call_intrinsic(self, block: Any, arg: _Symbol, emit: _Emit) -> _Symbol:
    uri = block.uri
    types = block.type_signature.parameter
    result_type = block.type_signature.result
    if emit != self._call_at_server and not uri.startswith('sequence_'):
      raise ValueError(f'Cannot call {uri} inside of a local function.')
    match uri:
      case 'sequence_reduce':
        return emit(
          local_functions.SequenceReduce(
            tff.FunctionType([types[0], types[1]], result_type),
            self._local_function(arg[2], types[2]),
          ),
          expressions.Struct((to_expression(arg[0]), to_expression(arg[1]))),
        )
      case 'sequence_map':
        return emit(
          local_functions.SequenceMap(
            tff.FunctionType(types[1], result_type),
            self._local_function(arg[0], types[0]),
          ),
          to_expression(arg[1]),
        )
      case 'sequence_sum':
        return emit(
          local_functions.SequenceSum(block.type_signature), to_expression(arg)
        )
      case 'federated_map' | 'federated_map_all_equal' | 'federated_apply':
        return self._map(arg[0], arg[1])
      case 'federated_aggregate':
        return self._aggregate(arg, block.type_signature)
      case 'federated_broadcast':
        return Placed(tff.CLIENTS, arg.expression)
      case 'federated_value_at_clients':
        return Placed(tff.CLIENTS, to_expression(arg))
      case 'federated_value_at_server':
        return Placed(tff.SERVER, to_expression(arg))
      case 'federated_eval_at_clients':
        result = self._call(arg, None, self._call_at_clients)
        return Placed(tff.CLIENTS, to_expression(result))
      case 'federated_eval_at_server':
        result = self._call(arg, None, self._call_at_server)
        return Placed(tff.SERVER, to_expression(result))
      case 'federated_zip_at_clients' | 'federated_zip_at_server':
        placement = result_type.placement
        return Placed(placement, to_expression(arg, placement))
      case 'federated_select' | 'federated_secure_select':
        return self._select_at_clients(arg, block.type_signature)
      case _:
        raise ValueError(f'Cannot run the intrinsic {uri}.')

  def _map(self, function: _Symbol, value: Placed) -> Placed:
    result = self._call(
      function,
      Placed(None, value.expression),
      self._call_at_clients
      if value.placement is tff.CLIENTS
      else self._call_at_server,
    )
    return Placed(value.placement, to_expression(result))

  def _aggregate(
    self, arg: Sequence[_Symbol], type_signature: tff.FunctionType
  ) -> Placed:
    value, zero, *functions = arg
    types = type_signature.parameter
    # TFF never places the zero, but a placed one means the same.
    zero = to_expression(
      zero, zero.placement if isinstance(zero, Placed) else None
    )
    if not isinstance(zero, expressions.Value):
      zero = self._call_at_server(
        local_functions.identity(types[1]), zero
      ).expression
    accumulate, merge, report = (
      self._local_function(function, types[2 + i])
      for i, function in enumerate(functions)
    )
    out = self._new_id(type_signature.result.member)
    self._operations.append(
      Aggregate(out, value.expression, zero.id, accumulate, merge, report)
    )
    return Placed(tff.SERVER, expressions.Value(out))

  def _select_at_clients(
    self, arg: Sequence[_Symbol], type_signature: tff.FunctionType
  ) -> Placed:
    keys, _, server_value, function = arg  # TFF's runtime ignores max_key too.
    types = type_signature.parameter
    select = local_functions.Select(
      tff.FunctionType(
        [types[0].member, types[2].member], type_signature.result.member
      ),
      self._local_function(function, types[3]),
    )
    result = self._call_at_clients(
      select, expressions.Struct((keys.expression, server_value.expression))
    )
    return Placed(tff.CLIENTS, result.expression)


def _select(source: _Symbol, index: int) -> _Symbol:
  if isinstance(source, tuple):
    return source[index]
  if source.placement is not None:
    raise ValueError('Cannot select from federated value')
  return Placed(None, expressions.select(source.expression, index))


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
