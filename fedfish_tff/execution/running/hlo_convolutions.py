# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of HLO modules in the form that XLA runs fast on CPUs.

XLA brings the axes of convolutions into the order of its fast kernels, but, on
CPUs, not within loops. Gradients of kernels have another order, and XLA then
computes them value by value, which takes 60 times as long.
"""

from collections.abc import Sequence
import itertools
from typing import Any


def order_axes(module: Any) -> None:
  """Transposes a module's tensors around convolutions: channels last."""
  numbers = itertools.count(
    1 + max(i.id for c in module.computations for i in c.instructions)
  )
  for computation in module.computations:
    if any(i.opcode == 'convolution' for i in computation.instructions):
      _order_axes(computation, numbers)


def _order_axes(computation: Any, numbers: itertools.count) -> None:
  shapes, ordered = {}, []

  def add(instruction: Any) -> None:
    copy = type(instruction)()
    copy.CopyFrom(instruction)
    shapes[copy.id] = copy.shape
    ordered.append(copy)

  def transpose(taken: int, axes: Sequence[int], number: int) -> int:
    added = type(computation.instructions[0])(
      id=number,
      name=f'transpose.{number}',
      opcode='transpose',
      operand_ids=[taken],
      dimensions=axes,
      shape=_permuted(shapes[taken], axes),
    )
    add(added)
    return number

  for instruction in computation.instructions:
    if instruction.opcode != 'convolution':
      add(instruction)
      continue
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
          instruction.operand_ids[i], order, next(numbers)
        )
    axes.input_batch_dimension = axes.output_batch_dimension = first
    axes.input_spatial_dimensions[:] = spatial
    axes.output_spatial_dimensions[:] = spatial
    axes.input_feature_dimension = axes.output_feature_dimension = channels
    axes.kernel_spatial_dimensions[:] = same[:-2]
    axes.kernel_input_feature_dimension = same[-2]
    axes.kernel_output_feature_dimension = channels
    number = instruction.id
    if made != same:
      # The transposed result takes the number by which others read it.
      instruction.id = next(numbers)
      instruction.shape.CopyFrom(_permuted(instruction.shape, made))
    add(instruction)
    if made != same:
      transpose(instruction.id, [made.index(axis) for axis in same], number)
  del computation.instructions[:]
  computation.instructions.extend(ordered)


def _permuted(shape: Any, axes: Sequence[int]) -> Any:
  permuted = type(shape)()
  permuted.CopyFrom(shape)
  for field in ('dimensions', 'is_dynamic_dimension'):
    if values := list(getattr(shape, field)):
      getattr(permuted, field)[:] = [values[axis] for axis in axes]
  return permuted
