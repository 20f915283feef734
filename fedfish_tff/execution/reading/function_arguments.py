# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Computations that take functions as arguments.

A plan takes no functions as values. So a function among the arguments becomes
part of the computation before the computation is compiled.
"""

from typing import Any

import tensorflow_federated as tff

_ARGUMENT = 'fedfish_remaining_argument'


def bind_functions(
  comp: tff.Computation, arg: Any
) -> tuple[tff.Computation, Any]:
  """Makes the functions among a computation's arguments part of it.

  Returns:
    A computation without functions in its parameter, and its argument.
  """
  parameter_type = comp.type_signature.parameter
  if isinstance(parameter_type, tff.FunctionType):
    return _compile(None, _call(comp, _function(arg, parameter_type))), None
  if not isinstance(parameter_type, tff.StructType) or not any(
    isinstance(t, tff.FunctionType)
    for _, t in tff.structure.iter_elements(parameter_type)
  ):
    return comp, arg
  types = tff.structure.to_elements(parameter_type)
  values = [
    value
    for _, value in tff.structure.iter_elements(
      tff.structure.from_container(arg)
    )
  ]
  remaining = [
    i for i, (_, t) in enumerate(types) if not isinstance(t, tff.FunctionType)
  ]
  remaining_type = tff.StructType([types[i] for i in remaining])
  reference = tff.framework.Reference(_ARGUMENT, remaining_type)
  elements = [
    (
      name,
      tff.framework.Selection(reference, index=remaining.index(i))
      if i in remaining
      else _function(values[i], type_spec),
    )
    for i, (name, type_spec) in enumerate(types)
  ]
  call = _call(comp, tff.framework.Struct(elements))
  if not remaining:
    return _compile(None, call), None
  return _compile(remaining_type, call), tff.structure.Struct(
    [(types[i][0], values[i]) for i in remaining]
  )


def _function(value: Any, type_spec: tff.FunctionType) -> Any:
  if not isinstance(value, tff.Computation):
    raise TypeError(
      f'Expected a computation of type {type_spec}, found '
      f'{type(value).__name__}.'
    )
  return value.to_building_block()


def _call(comp: tff.Computation, argument: Any) -> Any:
  return tff.framework.Call(comp.to_building_block(), argument)


def _compile(parameter_type: tff.Type | None, result: Any) -> tff.Computation:
  block = tff.framework.Lambda(
    None if parameter_type is None else _ARGUMENT, parameter_type, result
  )
  return tff.framework.ConcreteComputation.from_building_block(block)
