# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFF's own operations on sequences in a replayed graph.

These are `tff.sequence_reduce`, `sequence_sum` and `sequence_map`, and the
slices of `tff.federated_select`. Their functions work on local values, with
parts in the order of the TFF type. A sequence's elements have their parts in
the order of tf.data.
"""

import collections
from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import loop_steps
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_replay

import tensorflow as tf
import tensorflow_federated as tff


@dataclasses.dataclass(eq=False)
class ReplayedMap:
  """The result of `tff.sequence_map` in a replayed graph.

  As in TFF's runtime, each reduction calls the function anew. TFF's runtime
  gives TensorFlow code no such sequence; here TensorFlow code gets elements
  that are computed once, read or not, as on the general path.

  Attributes:
    sequence: The mapped sequence. Its elements are computed when they are cut
      out.
    specs: The specs of the elements' tensors, in the order of tf.data.
    operations: The number of nodes of each operation for one element.
    use_xla: Whether the graph being built is compiled by XLA.
  """

  sequence: sequence_replay.Sequence
  specs: Sequence[tf.TensorSpec]
  operations: collections.Counter[str]
  use_xla: bool

  @functools.cached_property
  def computed(self) -> sequence_replay.Sequence:
    """The same elements, all computed before the first is available."""
    if self.use_xla:
      # XLA has no arrays with a length or element sizes that depend on data.
      raise replayer.NotReplayableError('a mapped sequence in TensorFlow code')
    sequence = self.sequence.in_pass()
    call = loop_steps.caller_of(self.operations, use_xla=self.use_xla)

    def body(
      i: tf.Tensor, arrays: list[tf.TensorArray]
    ) -> tuple[tf.Tensor, list[tf.TensorArray]]:
      parts = call(sequence.element, i)
      (following,) = sequence.after_unread(parts, [i + 1])
      number = tf.cast(i, tf.int32)
      return following, [
        array.write(number, part)
        for array, part in zip(arrays, parts, strict=True)
      ]

    passed, arrays = tf.while_loop(
      lambda i, _: i < sequence.count,
      body,
      (
        tf.constant(0, tf.int64),
        [
          tf.TensorArray(
            spec.dtype,
            size=tf.cast(sequence.count, tf.int32),
            element_shape=spec.shape,
            infer_shape=False,
          )
          for spec in self.specs
        ],
      ),
    )
    check = tf.raw_ops.Assert(condition=passed >= sequence.count, data=[passed])
    with tf.control_dependencies([check]):
      count = tf.identity(sequence.count)
    return sequence_replay.Sequence(
      count,
      lambda i: [a.read(tf.cast(i, tf.int32)) for a in arrays],
      part_order=sequence.part_order,
    )


_Sequence = sequence_replay.Sequence | ReplayedMap


def reduce(
  sequence: _Sequence,
  zero: Any,
  step: Callable[[Any, Any], Any],
  *,
  element_type: tff.Type,
  state_type: tff.Type,
  operations: collections.Counter[str],
  use_xla: bool,
  failure: failures.Failure,
) -> Any:
  """Creates the loop of a reduction.

  Args:
    sequence: The sequence, over which the loop passes once.
    zero: The initial state, a local value.
    step: A function (state, element) -> next state, of local values.
    element_type: The TFF type of the elements, which orders their parts.
    state_type: The TFF type of the state, which orders its parts.
    operations: The number of nodes of each operation in a step.
    use_xla: Whether the graph being built is compiled by XLA.
    failure: The failure of the client's work, which steps may add to.

  Returns:
    The last state.
  """
  if isinstance(sequence, ReplayedMap):
    operations = operations + sequence.operations
    sequence = sequence.sequence
  sequence = sequence.in_pass()
  leaf_types = type_leaves.leaf_types(state_type)
  shapes = [type_leaves.tensor_spec(leaf).shape for leaf in leaf_types]

  def run_element(i, state, held):
    failure.values = held
    parts = sequence.element(i)
    state = type_leaves.flatten(
      step(
        type_leaves.unflatten(iter(state), state_type),
        _to_local_value(parts, sequence.part_order, element_type),
      )
    )
    state = sequence.after_unread(parts, state)
    for tensor, shape in zip(state, shapes, strict=True):
      tensor.set_shape(shape)
    return state, failure.values

  state, failure.values = sequence_replay.fold(
    sequence,
    run_element,
    type_leaves.flatten(zero),
    failure.values,
    shapes=shapes,
    held_shapes=[value.shape for value in failure.values],
    operations=operations,
    use_xla=use_xla,
  )
  return type_leaves.unflatten(iter(state), state_type)


def map_elements(
  sequence: _Sequence,
  fn: Callable[[Any], Any],
  *,
  element_type: tff.Type,
  result_type: tff.Type,
  operations: collections.Counter[str],
  use_xla: bool,
) -> ReplayedMap:
  """Returns the sequence of a function's results on the elements of another.

  The types are those of the function's argument and result, and the other
  arguments those of `reduce`.
  """
  if isinstance(sequence, ReplayedMap):
    operations = operations + sequence.operations
    sequence = sequence.sequence
  order = packed_sequences.dataset_order(result_type)
  leaf_types = type_leaves.leaf_types(result_type)
  specs = [type_leaves.tensor_spec(leaf_types[number]) for number in order]

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    parts = sequence.element(i)
    leaves = type_leaves.flatten(
      fn(_to_local_value(parts, sequence.part_order, element_type))
    )
    results = sequence.after_unread(parts, [leaves[number] for number in order])
    for result, spec in zip(results, specs, strict=True):
      result.set_shape(spec.shape)
    return results

  return ReplayedMap(
    dataclasses.replace(
      sequence,
      element=element,
      is_computed=True,
      takes_many=False,
      part_order=order,
      rows=None,
    ),
    specs,
    operations,
    use_xla,
  )


def keys_sequence(keys: tf.Tensor) -> sequence_replay.Sequence:
  """Returns the sequence of a client's keys, int32 [k]."""
  return sequence_replay.Sequence(
    tf.size(keys, tf.int64), lambda i: [tf.gather(keys, i)], part_order=(0,)
  )


def _to_local_value(
  parts: Sequence[tf.Tensor], order: Sequence[int], element_type: tff.Type
) -> Any:
  """Returns an element as a local value.

  `order` is the sequence's; `element_type` may have names that it lacks.
  """
  leaves = dict(zip(order, parts, strict=True))
  return type_leaves.unflatten(
    iter(leaves[number] for number in range(len(parts))), element_type
  )
