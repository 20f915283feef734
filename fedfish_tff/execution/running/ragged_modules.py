# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks of HLO modules whose batches may have fewer rows than a bound.

XLA computes for the most rows of a batch, and masks the rows behind its size
where it knows that it must; TensorFlow's kernels may take the bound for the
size. So `check` follows the axes and their sizes through a module, and passes
only the uses that `ragged_axes` lists.

Two modules tell where a bound has gone: those of the same work for bounds that
differ. A constant that differs is one that TensorFlow computed from the bound.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import itertools
from typing import Any

from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.running import ragged_axes
from fedfish_tff.execution.running import ragged_values

import numpy as np

_Value = ragged_values.Value

# The fields that differ without a meaning.
_NAMES = (
  'called_computation_ids',
  'frontend_attributes',
  'id',
  'metadata',
  'name',
  'operand_ids',
  'original_value',
)
# These, and the fields that `ragged_axes` compares.
_NOT_COMPARED = (
  *_NAMES,
  'dynamic_slice_sizes',
  'gather_slice_sizes',
  'shape',
  'slice_dimensions',
)


def check(module: Any, larger: Any) -> None:
  """Checks that a module is exact for batches of fewer rows than its bounds.

  Args:
    module: An HLO module, a proto.
    larger: The module of the same work for larger bounds.

  Raises:
    NotReplayableError: If a use of a ragged axis is not listed as exact.
  """
  _Check(module, larger).run()


class _Check:
  """Follows ragged axes through two modules."""

  def __init__(self, module: Any, larger: Any):
    self._number = module.entry_computation_id
    # A computation may run several times, each time for other rows.
    self._runs = itertools.count()
    if len(module.computations) != len(larger.computations):
      raise _refusal('a program')
    pairs = zip(module.computations, larger.computations)
    self._pairs = {pair[0].id: pair for pair in pairs}

  def run(self) -> None:
    """Follows the axes through the module; refuses uses that are not listed."""
    computation, _ = self._pairs[self._number]
    parameters = [
      i for i in computation.instructions if i.opcode == 'parameter'
    ]
    parameters.sort(key=lambda i: i.parameter_number)
    arguments = [ragged_values.fixed(i.shape) for i in parameters]
    if self._run(self._number, arguments).is_ragged:
      raise _refusal('a result')

  def _run(self, number: int, arguments: Sequence[_Value]) -> _Value:
    """Returns the value of a computation."""
    computation, other = self._pairs[number]
    run = next(self._runs)
    small = {i.id: i for i in computation.instructions}
    # A size that is set may also decide shapes.
    sizes = (n for n, i in small.items() if i.opcode == 'set-dimension-size')
    live = _live(small, [computation.root_id, *sizes])
    places = {n: i for i, n in enumerate(small)}
    others = {i.id: n for n, i in enumerate(other.instructions)}
    values: dict[int, _Value] = {}
    for place, (proto, larger) in enumerate(
      zip(computation.instructions, other.instructions)
    ):
      if proto.id not in live:
        continue
      if len(small) != len(others) or (
        proto.opcode,
        [places[n] for n in proto.operand_ids],
      ) != (larger.opcode, [others[n] for n in larger.operand_ids]):
        raise _refusal(_describe(proto))
      instruction = ragged_axes.Instruction(
        proto,
        larger,
        [values[n] for n in proto.operand_ids],
        [small[n].shape for n in proto.operand_ids],
        [other.instructions[others[n]].shape for n in larger.operand_ids],
        (run, place),
        self._combines(proto),
      )
      try:
        values[proto.id] = self._value(instruction, arguments)
      except ragged_axes.NotListedError as error:
        raise _refusal(_describe(proto)) from error
    return values[computation.root_id]

  def _value(
    self, instruction: ragged_axes.Instruction, arguments: Sequence[_Value]
  ) -> _Value:
    """Returns an instruction's value, given its computation's arguments."""
    proto, larger, taken, *_ = instruction
    called = proto.called_computation_ids
    match proto.opcode:
      case 'parameter':
        return arguments[proto.parameter_number]
      case 'tuple':
        return _Value(parts=tuple(taken))
      case 'get-tuple-element':
        return taken[0].parts[proto.tuple_index]
      case 'call':
        return self._run(called[0], taken)
      case 'get-dimension-size':
        return _Value(table=_size_of(instruction))
    sets_size = proto.opcode in ('dynamic-reshape', 'set-dimension-size')
    table = ragged_values.tabulate(proto, larger, [v.table for v in taken])
    if table is not None:
      _compare(proto, larger, (*_NOT_COMPARED, 'literal'))
      return ragged_values.fixed(proto.shape)._replace(table=table)
    if not all(value.is_exact for value in taken[: 1 if sets_size else None]):
      raise ragged_axes.NotListedError
    if proto.opcode == 'while':
      state = ragged_values.without_tables(taken[0])
      body, condition = called
      self._run(condition, [state])
      result = self._run(body, [state])
      if not result.is_exact or ragged_values.without_tables(result) != state:
        raise ragged_axes.NotListedError
      return state
    if proto.opcode == 'conditional':
      results = [
        self._run(branch, [argument])
        for branch, argument in zip(called, taken[1:], strict=True)
      ]
      values = set(map(ragged_values.without_tables, results))
      if len(values) > 1 or not all(result.is_exact for result in results):
        raise ragged_axes.NotListedError
      return values.pop()
    for number in called:
      self._compare_computations(number)
    is_ragged = any(v.is_ragged for v in taken) or proto.shape != larger.shape
    if not is_ragged and not sets_size:
      _compare(proto, larger, _NAMES)
      return ragged_values.fixed(proto.shape)
    if proto.opcode not in ragged_axes.AXES:
      raise ragged_axes.NotListedError
    is_constant = proto.opcode == 'constant'
    _compare(proto, larger, (*_NOT_COMPARED, *['literal'] * is_constant))
    labels = ragged_axes.AXES[proto.opcode](instruction)
    return _labelled(proto.shape, larger.shape, tuple(labels))

  def _combines(self, proto: Any) -> str:
    """Returns the opcode of an instruction's computation of two scalars."""
    if proto.opcode != 'reduce':
      return ''
    computation, _ = self._pairs[proto.called_computation_ids[0]]
    root = computation.root_id
    opcodes = [i.opcode for i in computation.instructions if i.id == root]
    return opcodes[0] if len(computation.instructions) == 3 else ''

  def _compare_computations(self, number: int) -> None:
    """Compares a computation of scalars with its counterpart."""
    computation, other = self._pairs[number]
    if len(computation.instructions) != len(other.instructions):
      raise ragged_axes.NotListedError
    for pair in zip(computation.instructions, other.instructions):
      _compare(*pair, _NAMES)
      for called in pair[0].called_computation_ids:
        self._compare_computations(called)


def _labelled(
  shape: Any, larger: Any, labels: tuple[ragged_values.Label, ...]
) -> _Value:
  """Returns a value with labels; the parts of a tuple of this rank have them."""
  if shape.tuple_shapes:
    parts = zip(shape.tuple_shapes, larger.tuple_shapes, strict=True)
    return _Value(parts=tuple(_labelled(a, b, labels) for a, b in parts))
  if len(shape.dimensions) != len(labels):
    labels = (None,) * len(shape.dimensions)
  for label, size, other in zip(
    labels, shape.dimensions, larger.dimensions, strict=True
  ):
    if label is None and size != other:
      raise ragged_axes.NotListedError
  return _Value(labels)


def _size_of(
  instruction: ragged_axes.Instruction,
) -> ragged_values.Table:
  (axis,) = instruction.proto.dimensions
  label = instruction.taken[0].axes[axis]
  if label is None:
    size = instruction.shapes[0].dimensions[axis]
    return ragged_values.Table(None, np.int64([size]), np.int64([size]))
  if label == ragged_values.FREE:
    raise ragged_axes.NotListedError
  return label.table


def _live(instructions: Mapping[int, Any], roots: Sequence[int]) -> set[int]:
  """Returns the numbers of the instructions that some of them need."""
  live, left = set(), list(roots)
  while left:
    number = left.pop()
    if number not in live:
      live.add(number)
      left += instructions[number].operand_ids
  return live


def _compare(proto: Any, larger: Any, without: Sequence[str]) -> None:
  """Requires that two instructions are the same but for some fields."""
  pair = []
  for instruction in (proto, larger):
    copy = type(instruction)()
    copy.CopyFrom(instruction)
    for field in without:
      if field in copy.DESCRIPTOR.fields_by_name:
        copy.ClearField(field)
    # As bytes, since NaN is not equal to itself.
    pair.append(copy.SerializeToString(deterministic=True))
  if pair[0] != pair[1]:
    raise ragged_axes.NotListedError


def _describe(proto: Any) -> str:
  operation = proto.metadata.op_type
  return f'{operation} ({proto.opcode})' if operation else proto.opcode


def _refusal(subject: str) -> Exception:
  return serialized_graph.NotReplayableError(
    f'{subject}, which XLA may compute otherwise for a batch of fewer rows than '
    'others'
  )
