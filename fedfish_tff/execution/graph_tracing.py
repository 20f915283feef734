# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Traces local functions into one TensorFlow function.

A traced function takes and returns flat lists of tensors; this module knows
their order for a TFF type, and how a TensorFlow computation of TFF's is
replayed into the function being traced.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

from fedfish_tff.execution import eager_tensors
from fedfish_tff.execution import graph_replay
from fedfish_tff.execution import interruption
from fedfish_tff.execution import packed_sequences
from fedfish_tff.execution import replay_graph
from fedfish_tff.execution import sequence_replay

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import cancellation
import tensorflow_federated as tff

NotReplayableError = replay_graph.NotReplayableError


def leaf_types(
  type_spec: tff.Type,
) -> list[tff.TensorType | tff.SequenceType]:
  """Returns the tensors and sequences of a type, in order."""
  if isinstance(type_spec, tff.StructType):
    return [
      leaf
      for _, element in tff.structure.iter_elements(type_spec)
      for leaf in leaf_types(element)
    ]
  if isinstance(type_spec, (tff.TensorType, tff.SequenceType)):
    return [type_spec]
  raise NotReplayableError(f'a value of type {type_spec}')


def flatten(value: Any) -> list[Any]:
  """Returns the tensors and sequences of a local value, in order."""
  if isinstance(value, tuple):
    return [leaf for element in value for leaf in flatten(element)]
  return [value]


def unflatten(leaves: Iterator[Any], type_spec: tff.Type) -> Any:
  """Returns a local value of the given type; takes its leaves as needed."""
  if isinstance(type_spec, tff.StructType):
    return tuple(
      unflatten(leaves, element)
      for _, element in tff.structure.iter_elements(type_spec)
    )
  return next(leaves)


def tensor_specs(type_spec: tff.Type) -> list[tf.TensorSpec]:
  """Returns the specs of a type's tensors.

  Args:
    type_spec: The type.

  Raises:
    NotReplayableError: If there is a sequence in it.
  """
  specs = []
  for leaf in leaf_types(type_spec):
    if isinstance(leaf, tff.SequenceType):
      raise NotReplayableError(f'a sequence of type {leaf} at the server')
    specs.append(tf.TensorSpec(leaf.shape, tf.as_dtype(leaf.dtype.type)))
  return specs


class Replayer:
  """Replays TensorFlow computations into the function being traced."""

  def __init__(self) -> None:
    # By the identity of the proto, which the plan keeps alive.
    self._graphs: dict[int, tuple[Any, replay_graph.ReplayGraph]] = {}

  def __call__(
    self, proto: Any, type_signature: tff.FunctionType, arg: Any
  ) -> Any:
    """Replays a computation.

    Args:
      proto: The serialized computation, a `pb.Computation`.
      type_signature: Its type.
      arg: A local value whose sequences are `sequence_replay.Sequence`s;
        `None` if the computation takes none.

    Returns:
      A local value.

    Raises:
      NotReplayableError: If the graph cannot be replayed.
    """
    serialized = proto.tensorflow
    if id(proto) not in self._graphs:
      graph_def = tf.compat.v1.GraphDef()
      serialized.graph_def.Unpack(graph_def)
      self._graphs[id(proto)] = (proto, replay_graph.ReplayGraph(graph_def))
    _, graph = self._graphs[id(proto)]
    feeds = {}
    if type_signature.parameter is not None:
      feeds = dict(zip(_names(serialized.parameter), flatten(arg), strict=True))
    results = graph_replay.Replay(graph, sequence_replay.HANDLERS).run(
      feeds,
      _names(serialized.result),
      initialize_op=serialized.initialize_op,
    )
    for result in results:
      if not isinstance(result, tf.Tensor):
        raise NotReplayableError('a computation that returns a dataset')
    return unflatten(iter(results), type_signature.result)


def _names(binding: Any) -> list[str]:
  """Returns the names of the tensors of a `pb.TensorFlow.Binding`."""
  match binding.WhichOneof('binding'):
    case 'tensor':
      return [binding.tensor.tensor_name]
    case 'sequence':
      return [binding.sequence.variant_tensor_name]
    case 'struct':
      return [name for e in binding.struct.element for name in _names(e)]
    case _:
      return []


def dataset_sequence(
  leaves: Sequence[tf.Tensor],
  layouts: Sequence[Sequence[tf.Tensor]],
  leaf_layouts: Sequence[int],
  *,
  element_type: tff.Type,
  first_element: tf.Tensor,
  num_elements: tf.Tensor,
) -> sequence_replay.Sequence:
  """Returns one client's part of the arrays of a cohort as a sequence.

  Args:
    leaves: The rows of each leaf, in the order of the TFF type.
    layouts: For each layout the tensors (plan,) of one row an element, or
      (plan, bounds) of batches, with bounds [elements, 2, 1] as (start, size).
    leaf_layouts: The number of each leaf's layout.
    element_type: The elements' TFF type.
    first_element: int64, number of the client's first element.
    num_elements: int64, how many elements it has.
  """
  order = packed_sequences.dataset_order(element_type)

  def rows_of(number: tf.Tensor, plan: tf.Tensor, *bounds: tf.Tensor):
    if not bounds:
      return tf.gather(plan, number)
    start, size = tf.unstack(tf.gather(bounds[0], number))
    return tf.slice(plan, start, size)

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    rows = [rows_of(first_element + i, *layout) for layout in layouts]
    return [tf.gather(leaves[j], rows[leaf_layouts[j]]) for j in order]

  return sequence_replay.Sequence(num_elements, element)


def trace(
  function: Callable[..., Any], specs: Sequence[Any], **options: Any
) -> Callable[..., Any]:
  """Traces a function, so that its calls can be interrupted.

  Args:
    function: From nests of tensors to a nest of tensors.
    specs: Specs of its arguments, nests of `tf.TensorSpec`.
    **options: Of `tf.function`.

  Returns:
    The function; it takes the same nests, of tensors and of arrays that do not
    change meanwhile.
  """
  specs = list(specs)
  results = None

  def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
    nonlocal results
    results = function(*tf.nest.pack_sequence_as(specs, tensors))
    return tf.nest.flatten(results)

  concrete = tf.function(
    run,
    input_signature=tf.nest.flatten(specs),
    autograph=False,
    **options,
  ).get_concrete_function()
  structure = tf.nest.map_structure(lambda _: 0, results)

  captured = concrete.captured_inputs

  def call(*args: Any) -> Any:
    # The function's own way in binds names and checks structures, which takes
    # longer than the round of a small model.
    tensors = [
      eager_tensors.share_memory(leaf) if isinstance(leaf, np.ndarray) else leaf
      for leaf in tf.nest.flatten(list(args))
    ]
    with interruption.cancellable() as manager:
      if manager is None:
        flat = concrete._call_flat(tensors, captured)  # pylint: disable=protected-access
      else:
        with cancellation.CancellationManagerContext(manager):
          flat = concrete._call_flat(tensors, captured)  # pylint: disable=protected-access
    return tf.nest.pack_sequence_as(structure, flat or [])

  return call
