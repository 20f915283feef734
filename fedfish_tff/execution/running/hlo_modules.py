# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""HLO modules of TensorFlow, changed to forms that today's XLA takes."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import itertools
from typing import Any

# The part of an instruction's number that is its own in its computation.
_LOCAL_BITS = 2**32 - 1


def mend_shapes(module: Any) -> None:
  """Marks the axes of dynamic size as XLA itself would infer them.

  XLA infers dynamic sizes from the operations that set them, whatever shapes
  say. Older versions also mark axes that are merely combined with dynamic ones,
  and lose the mark when one tensor is broadcast to another's shape. Today's
  versions check the marks before they infer sizes.

  Args:
    module: An HLO module, a proto; changed in place.
  """
  for computation in module.computations:
    shapes = {}
    for instruction in computation.instructions:
      shape = shapes[instruction.id] = instruction.shape
      if instruction.opcode == 'iota':
        del shape.is_dynamic_dimension[:]
      elif instruction.opcode in ('broadcast', 'reshape'):
        taken = shapes[instruction.operand_ids[0]]
        if instruction.opcode == 'broadcast':
          axes = list(enumerate(instruction.dimensions))
        else:
          axes = _same_axes(taken.dimensions, shape.dimensions)
        marks = _marks(shape)
        for own, other in axes:
          is_marked = any(taken.is_dynamic_dimension[own : own + 1])
          # A reshape may also have set the size itself.
          marks[other] = is_marked or (
            marks[other] and instruction.opcode == 'reshape'
          )
        shape.is_dynamic_dimension[:] = marks


def _marks(shape: Any) -> list[bool]:
  """Returns whether each axis has a dynamic size."""
  return list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)


def _same_axes(
  before: Sequence[int], after: Sequence[int]
) -> list[tuple[int, int]]:
  """Returns the axes kept by a reshape that adds and drops only ones."""
  kept = [
    [i for i, n in enumerate(shape) if n != 1] for shape in (before, after)
  ]
  sizes = [[s[i] for i in k] for s, k in zip((before, after), kept)]
  return list(zip(*kept)) if sizes[0] == sizes[1] else []


class _Instructions:
  """The instructions of a computation that is written anew."""

  def __init__(self, computation: Any, numbers: Iterator[int]):
    first = computation.instructions[0]
    self.kind = type(first)
    # The bits above are the computation's number, in older modules 0.
    self._base = first.id & ~_LOCAL_BITS
    self._numbers = numbers
    self.all: list[Any] = []
    self.shapes: dict[int, Any] = {}

  def new_number(self) -> int:
    """Returns a number that no instruction has."""
    return self._base | next(self._numbers)

  def add(self, instruction: Any) -> int:
    """Adds an instruction and returns its number."""
    self.shapes[instruction.id] = instruction.shape
    self.all.append(instruction)
    return instruction.id

  def add_new(
    self, opcode: str, *, number: int | None = None, **fields: Any
  ) -> int:
    """Adds a new instruction and returns its number."""
    number = self.new_number() if number is None else number
    name = f'{opcode}.{number}'
    return self.add(self.kind(id=number, name=name, opcode=opcode, **fields))


def _rewrite(
  module: Any,
  is_changed: Callable[[Any], Any],
  change: Callable[[_Instructions, Any], None],
) -> None:
  """Writes the computations anew that have an instruction to be changed."""
  numbers = itertools.count(
    1
    + max(
      i.id & _LOCAL_BITS for c in module.computations for i in c.instructions
    )
  )
  for computation in module.computations:
    if not any(map(is_changed, computation.instructions)):
      continue
    new = _Instructions(computation, numbers)
    for instruction in map(_copied, computation.instructions):
      if is_changed(instruction):
        change(new, instruction)
      else:
        new.add(instruction)
    del computation.instructions[:]
    computation.instructions.extend(new.all)


def _copied(message: Any) -> Any:
  copy = type(message)()
  copy.CopyFrom(message)
  return copy


def order_convolutions(module: Any) -> None:
  """Transposes tensors around convolutions: batches first, channels last.

  XLA brings the axes of convolutions into the order of its fast kernels, but,
  on CPUs, not within loops. Gradients of kernels have another order, and XLA
  then computes them value by value, which takes 60 times as long.

  Args:
    module: An HLO module, a proto; changed in place.
  """
  _rewrite(module, lambda i: i.opcode == 'convolution', _order_axes)


def _order_axes(new: _Instructions, instruction: Any) -> None:
  def transpose(taken: int, axes: Sequence[int], number: int | None) -> int:
    return new.add_new(
      'transpose',
      number=number,
      operand_ids=[taken],
      dimensions=axes,
      shape=_permuted(new.shapes[taken], axes),
    )

  axes = instruction.convolution_dimension_numbers
  *spatial, channels = range(1, len(instruction.shape.dimensions))
  first, *_ = same = [0, *spatial, channels]
  taken = [
    axes.input_batch_dimension,
    *axes.input_spatial_dimensions,
    axes.input_feature_dimension,
  ]
  kernel = [
    *axes.kernel_spatial_dimensions,
    axes.kernel_input_feature_dimension,
    axes.kernel_output_feature_dimension,
  ]
  made = [
    axes.output_batch_dimension,
    *axes.output_spatial_dimensions,
    axes.output_feature_dimension,
  ]
  for i, order in enumerate((taken, kernel)):
    if order != same:
      instruction.operand_ids[i] = transpose(
        instruction.operand_ids[i], order, None
      )
  axes.input_batch_dimension = axes.output_batch_dimension = first
  axes.input_spatial_dimensions[:] = spatial
  axes.output_spatial_dimensions[:] = spatial
  axes.input_feature_dimension = axes.output_feature_dimension = channels
  axes.kernel_spatial_dimensions[:] = same[:-2]
  axes.kernel_input_feature_dimension = same[-2]
  axes.kernel_output_feature_dimension = channels
  if made == same:
    new.add(instruction)
    return
  # The transposed result takes the number by which others read it.
  number, instruction.id = instruction.id, new.new_number()
  instruction.shape.CopyFrom(_permuted(instruction.shape, made))
  new.add(instruction)
  transpose(instruction.id, [made.index(axis) for axis in same], number)


def _permuted(shape: Any, axes: Sequence[int]) -> Any:
  permuted = _copied(shape)
  for field in ('dimensions', 'is_dynamic_dimension'):
    if values := list(getattr(shape, field)):
      getattr(permuted, field)[:] = [values[axis] for axis in axes]
  return permuted


def fix_pooling(module: Any) -> None:
  """Computes gradients of max-pooling on as many rows as a batch can have.

  On GPUs, XLA expands such a gradient (`select-and-scatter`) before it replaces
  sizes that a program computes, such as a batch's, and then finds no rule for
  the expansion. The result has the batch's rows again. Rows do not meet in a
  window, so what stands in the rows beyond them has no effect.

  Args:
    module: An HLO module, a proto; changed in place.
  """
  _rewrite(module, _axes_of_pooling, _fix_sizes)


def _axes_of_pooling(instruction: Any) -> Sequence[int]:
  """Returns the axes of unknown size of a gradient of max-pooling, if it is one."""
  if instruction.opcode != 'select-and-scatter':
    return ()
  axes = [i for i, d in enumerate(instruction.shape.is_dynamic_dimension) if d]
  windows = [instruction.window.dimensions[axis] for axis in axes]
  return axes if all(w.size == w.stride == 1 for w in windows) else ()


def _fix_sizes(new: _Instructions, instruction: Any) -> None:
  def resize(taken: int, size: int, axis: int, is_dynamic: bool) -> int:
    shape = _copied(new.shapes[taken])
    marks = _marks(shape)
    marks[axis] = is_dynamic
    shape.is_dynamic_dimension[:] = marks
    return new.add_new(
      'set-dimension-size',
      operand_ids=[taken, size],
      dimensions=[axis],
      shape=shape,
    )

  axes = _axes_of_pooling(instruction)
  *tensors, start = instruction.operand_ids
  sizes = []
  for axis in axes:
    size = _integer_shape(instruction.shape)
    sizes.append(
      new.add_new(
        'get-dimension-size',
        operand_ids=tensors[:1],
        dimensions=[axis],
        shape=size,
      )
    )
    bound = new.add_new('constant', shape=size)
    literal = new.all[-1].literal
    literal.shape.CopyFrom(size)
    literal.s32s.append(instruction.shape.dimensions[axis])
    tensors = [resize(tensor, bound, axis, False) for tensor in tensors]
  number, shape = instruction.id, instruction.shape
  instruction.id = new.new_number()
  instruction.operand_ids[:] = [*tensors, start]
  shape.is_dynamic_dimension[:] = [False] * len(shape.dimensions)
  result = new.add(instruction)
  for axis, size in zip(axes, sizes, strict=True):
    result = resize(result, size, axis, True)
  # Others read the result by its former number.
  new.all[-1].id = number
  new.shapes[number] = new.all[-1].shape


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
