# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gradients of max-pooling in HLO modules, in a form that XLA has for GPUs.

On GPUs, XLA expands such a gradient (`select-and-scatter`) before it replaces
sizes that a program computes, and then finds no rule for the expansion. A batch
has such a size: the number of its rows.
"""

from collections.abc import Sequence
import itertools
from typing import Any


def fix_sizes(module: Any) -> None:
  """Computes gradients of max-pooling on as many rows as a batch can have.

  The result has the batch's rows again. Rows do not meet in a window, so what
  stands in the rows beyond them has no effect.
  """
  numbers = itertools.count(
    1 + max(i.id for c in module.computations for i in c.instructions)
  )
  for computation in module.computations:
    if any(map(_axes, computation.instructions)):
      _fix_sizes(computation, numbers)


def _axes(instruction: Any) -> Sequence[int]:
  """Returns the axes of unknown size of a gradient of max-pooling, if it is one."""
  if instruction.opcode != 'select-and-scatter':
    return ()
  axes = [i for i, d in enumerate(instruction.shape.is_dynamic_dimension) if d]
  windows = [instruction.window.dimensions[axis] for axis in axes]
  return axes if all(w.size == w.stride == 1 for w in windows) else ()


def _fix_sizes(computation: Any, numbers: itertools.count) -> None:
  shapes, ordered = {}, []

  def add(instruction: Any) -> int:
    shapes[instruction.id] = instruction.shape
    ordered.append(instruction)
    return instruction.id

  def add_new(opcode: str, **fields: Any) -> int:
    number = next(numbers)
    return add(
      type(computation.instructions[0])(
        id=number, name=f'{opcode}.{number}', opcode=opcode, **fields
      )
    )

  def resize(taken: int, size: int, axis: int, is_dynamic: bool) -> int:
    shape = type(shapes[taken])()
    shape.CopyFrom(shapes[taken])
    marks = list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)
    marks[axis] = is_dynamic
    shape.is_dynamic_dimension[:] = marks
    return add_new(
      'set-dimension-size',
      operand_ids=[taken, size],
      dimensions=[axis],
      shape=shape,
    )

  for instruction in map(_copied, computation.instructions):
    add(instruction)
    if not (axes := _axes(instruction)):
      continue
    ordered.pop()
    *tensors, start = instruction.operand_ids
    sizes = []
    for axis in axes:
      size = _integer_shape(instruction.shape)
      sizes.append(
        add_new(
          'get-dimension-size',
          operand_ids=tensors[:1],
          dimensions=[axis],
          shape=size,
        )
      )
      bound = add_new('constant', shape=size)
      ordered[-1].literal.shape.CopyFrom(size)
      ordered[-1].literal.s32s.append(instruction.shape.dimensions[axis])
      tensors = [resize(tensor, bound, axis, False) for tensor in tensors]
    number, shape = instruction.id, instruction.shape
    instruction.id = next(numbers)
    instruction.operand_ids[:] = [*tensors, start]
    shape.is_dynamic_dimension[:] = [False] * len(shape.dimensions)
    result = add(instruction)
    for axis, size in zip(axes, sizes, strict=True):
      result = resize(result, size, axis, True)
    # Others read the result by its former number.
    ordered[-1].id = number
    shapes[number] = ordered[-1].shape
  del computation.instructions[:]
  computation.instructions.extend(ordered)


def _copied(message: Any) -> Any:
  copy = type(message)()
  copy.CopyFrom(message)
  return copy


def _integer_shape(like: Any) -> Any:
  """Returns the shape of a 32-bit integer."""
  shape = type(like)()
  shape.element_type = (
    shape.DESCRIPTOR.fields_by_name['element_type']
    .enum_type.values_by_name['S32']
    .number
  )
  shape.layout.SetInParent()
  return shape
