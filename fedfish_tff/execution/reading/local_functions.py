# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Unplaced computations, callable on local values.

Local values: a structure is a tuple, a tensor is a `tf.Tensor`, a sequence is
a `sequence_values.LocalSequence`.

A local function runs in two ways. A call runs it at once. `trace` makes it a
part of a graph: a tracer decides how TensorFlow computations run and how
sequences are represented.
"""

import abc
from collections.abc import Iterator
from collections.abc import MutableMapping
import dataclasses
import functools
from typing import Any
from typing import TypeAlias

from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import tensorflow_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Builds a graph of the work of local functions, a `tracing.GraphTracer`.
Tracer: TypeAlias = Any


class LocalFunction(abc.ABC):
  """An unplaced computation."""

  def __init__(self, type_signature: tff.FunctionType):
    # The type of the argument (or `None`) and of the result.
    self.type_signature = type_signature

  def leaves(self) -> Iterator['TensorFlowLeaf']:
    """Yields the TensorFlow computations that it runs."""
    yield from ()

  @property
  def reads_elements(self) -> bool:
    """True if it reads sequences itself, not only by TensorFlow computations.

    Only such readers continue where the one before has ended.
    """
    return False

  @abc.abstractmethod
  def trace(self, arg: Any, tracer: Tracer) -> Any:
    """Builds the computation on `arg` into the tracer's graph."""

  @abc.abstractmethod
  def __call__(self, arg: Any = None) -> Any:
    """Runs the computation on local values, at once."""


class TensorFlowLeaf(LocalFunction):
  """A TensorFlow computation."""

  def __init__(self, proto: Any, type_signature: tff.FunctionType):
    """Wraps a serialized computation, a `pb.Computation`, of a given type."""
    super().__init__(type_signature)
    self.proto = proto

  def leaves(self) -> Iterator['TensorFlowLeaf']:
    yield self

  @functools.cached_property
  def _function(self) -> tensorflow_functions.TensorFlowFunction:
    return tensorflow_functions.TensorFlowFunction(self.proto)

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    return tracer.run(self.proto, self.type_signature, arg)

  def __call__(self, arg: Any = None) -> Any:
    with interruption.cancellable() as manager:
      return self._function(arg, cancellation_manager=manager)


class Literal(LocalFunction):
  """A constant; takes no argument."""

  def __init__(self, value: Any, type_signature: tff.TensorType):
    """Makes a function that returns `value`, of the given type."""
    super().__init__(tff.FunctionType(None, type_signature))
    self.value = value

  def trace(self, arg: Any, tracer: Tracer) -> tf.Tensor:
    return self(arg)

  def __call__(self, arg: Any = None) -> tf.Tensor:
    dtype = self.type_signature.result.dtype
    return tf.constant(self.value, tf.as_dtype(dtype.type))


@dataclasses.dataclass(frozen=True)
class Step:
  """A call: in a function, at the server, or at each client.

  Attributes:
    out: The number of the result; at the clients, there is one per client.
    fn: The function that is called.
    arg: Its argument, in terms of known values; None if it takes none.
  """

  out: expressions.ValueId
  fn: LocalFunction
  arg: expressions.Expression | None

  def run(self, known: MutableMapping[expressions.ValueId, Any]) -> None:
    """Runs the step and adds its result to the local values by number."""
    known[self.out] = self.fn(expressions.evaluate(self.arg, known.__getitem__))

  def trace(
    self, known: MutableMapping[expressions.ValueId, Any], tracer: Tracer
  ) -> None:
    """Builds the step into a graph; adds its result to the known values."""
    arg = expressions.evaluate(self.arg, known.__getitem__)
    known[self.out] = self.fn.trace(arg, tracer)


class Program(LocalFunction):
  """A series of calls of other functions.

  Without steps, it only regroups its argument.
  """

  def __init__(
    self,
    type_signature: tff.FunctionType,
    *,
    parameter: expressions.ValueId | None,
    steps: tuple[Step, ...],
    result: expressions.Expression,
  ):
    """Makes a program.

    Args:
      type_signature: The type of the whole.
      parameter: The number of the argument; `None` if there is none.
      steps: The calls, in order.
      result: The result, in terms of the argument and the steps' values.
    """
    super().__init__(type_signature)
    self.parameter = parameter
    self.steps = steps
    self.result = result

  def leaves(self) -> Iterator[TensorFlowLeaf]:
    for step in self.steps:
      yield from step.fn.leaves()

  @property
  def reads_elements(self) -> bool:
    return any(step.fn.reads_elements for step in self.steps)

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    known = {self.parameter: arg}
    for step in self.steps:
      step.trace(known, tracer)
    return expressions.evaluate(self.result, known.__getitem__)

  def __call__(self, arg: Any = None) -> Any:
    known = {self.parameter: arg}
    for step in self.steps:
      step.run(known)
    return expressions.evaluate(self.result, known.__getitem__)


def identity(type_spec: tff.Type) -> Program:
  """Returns the function that returns its argument, of the given type."""
  return Program(
    tff.FunctionType(type_spec, type_spec),
    parameter=0,
    steps=(),
    result=expressions.Value(0),
  )


class _Mapping(LocalFunction):
  """A function that calls another function, `fn`, any number of times."""

  def __init__(self, type_signature: tff.FunctionType, fn: LocalFunction):
    super().__init__(type_signature)
    self.fn = fn

  def leaves(self) -> Iterator[TensorFlowLeaf]:
    return self.fn.leaves()

  @property
  def reads_elements(self) -> bool:
    return True


class SequenceReduce(_Mapping):
  """`tff.sequence_reduce`: takes (sequence, zero).

  `fn` takes (accumulator, element).
  """

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    sequence, zero = arg
    return tracer.reduce(
      sequence,
      zero,
      lambda state, element: self.fn.trace((state, element), tracer),
      element_type=self.type_signature.parameter[0].element,
      state_type=self.type_signature.result,
      leaves=self.leaves(),
    )

  def __call__(self, arg: Any = None) -> Any:
    sequence, accumulator = arg
    for element in _elements(sequence, self.type_signature.parameter[0]):
      accumulator = self.fn((accumulator, element))
    return accumulator


class SequenceMap(_Mapping):
  """`tff.sequence_map`: takes the sequence; `fn` takes an element."""

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    return tracer.map(
      arg,
      lambda element: self.fn.trace(element, tracer),
      element_type=self.type_signature.parameter.element,
      result_type=self.type_signature.result.element,
      leaves=self.leaves(),
    )

  def __call__(self, arg: Any = None) -> sequence_packing.MappedSequence:
    types = self.type_signature
    return sequence_packing.MappedSequence(
      lambda: map(self.fn, _elements(arg, types.parameter)),
      lambda elements: _to_dataset(elements, types.result.element),
    )


class SequenceSum(LocalFunction):
  """`tff.sequence_sum`: takes the sequence."""

  @property
  def reads_elements(self) -> bool:
    return True

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    return tracer.reduce(
      arg,
      type_leaves.zeros(self.type_signature.result),
      _add,
      element_type=self.type_signature.parameter.element,
      state_type=self.type_signature.result,
      leaves=(),
    )

  def __call__(self, arg: Any = None) -> Any:
    types = self.type_signature
    return functools.reduce(
      _add, _elements(arg, types.parameter), type_leaves.zeros(types.result)
    )


class Select(_Mapping):
  """`tff.federated_select` for one client: takes (keys, server value).

  Its type is (<int32[k],T> -> U*); `fn` is (server value, key) -> slice.
  """

  def trace(self, arg: Any, tracer: Tracer) -> Any:
    keys, server_value = arg
    return tracer.select(
      keys,
      lambda key: self.fn.trace((server_value, key), tracer),
      result_type=self.type_signature.result.element,
      leaves=self.leaves(),
    )

  def __call__(
    self, arg: Any = None, slices: MutableMapping[int, Any] | None = None
  ) -> tf.data.Dataset:
    """Returns a dataset of the slices of one client's keys, in their order.

    `slices` are the known slices of this server value; missing ones are added.
    """
    keys, server_value = arg
    if slices is None:
      slices = {}
    chosen = []
    for key in np.asarray(keys).tolist():
      if key not in slices:
        # Where two threads compute a slice at once, both use the first.
        slices.setdefault(
          key, self.fn((server_value, tf.constant(key, tf.int32)))
        )
      chosen.append(slices[key])
    return _to_dataset(chosen, self.type_signature.result.element)


def _elements(sequence: Any, type_spec: tff.SequenceType) -> Iterator[Any]:
  """Yields the elements of a sequence as local values."""
  if isinstance(sequence, sequence_packing.MappedSequence):
    yield from sequence.elements()
    return
  sequence_values.check_parts_are_known(sequence, type_spec)
  for element in sequence_values.to_result_sequence(sequence, type_spec):
    yield local_values.to_local_value(element, type_spec.element)


def _add(a: Any, b: Any) -> Any:
  return tf.nest.map_structure(tf.add, a, b)


def _to_dataset(elements: list[Any], type_spec: tff.Type) -> tf.data.Dataset:
  """Returns a dataset of local values of the given type."""
  # The structure that a TFF computation's graph expects of such a dataset.
  specs = type_leaves.from_leaf_types(type_leaves.tensor_spec, type_spec)
  signature = _with_names(specs, type_spec)

  def from_elements() -> Iterator[Any]:
    for element in elements:
      yield _with_names(element, type_spec)

  if all(spec.shape.is_fully_defined() for spec in tf.nest.flatten(signature)):
    if elements:
      rows = tf.nest.map_structure(lambda *row: tf.stack(row), *from_elements())
    else:
      rows = tf.nest.map_structure(
        lambda spec: tf.zeros((0, *spec.shape), spec.dtype), signature
      )
    return tf.data.Dataset.from_tensor_slices(rows)
  return tf.data.Dataset.from_generator(
    from_elements, output_signature=signature
  )


def _with_names(value: Any, type_spec: tff.Type) -> Any:
  """Returns a local value as dictionaries and tuples, as in TFF's datasets."""
  if not isinstance(type_spec, tff.StructType):
    return value
  elements = [_with_names(v, type_spec[i]) for i, v in enumerate(value)]
  names = tff.structure.name_list(type_spec)
  if len(names) == len(elements) and names:
    return dict(zip(names, elements, strict=True))
  return tuple(elements)
