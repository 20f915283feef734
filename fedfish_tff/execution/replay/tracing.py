# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Traces local functions into one TensorFlow function.

A traced function takes and returns flat lists of tensors. This module knows
their order for a TFF type and replays TFF's TensorFlow computations into the
function being traced.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff import stateless_kernels
from fedfish_tff.execution import interruption
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import empty_factors
from fedfish_tff.execution.reading import local_functions
from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.reading import tensorflow_functions
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import control_flow_replay
from fedfish_tff.execution.replay import dataset_loops
from fedfish_tff.execution.replay import exact_replay
from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import random_replay
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_intrinsics
from fedfish_tff.execution.replay import sequence_operations
from fedfish_tff.execution.replay import sequence_replay

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

NotReplayableError = serialized_graph.NotReplayableError

_HANDLERS = {
  **control_flow_replay.HANDLERS,
  **sequence_replay.HANDLERS,
  **sequence_operations.HANDLERS,
  **dataset_loops.HANDLERS,
}
_XLA_HANDLERS = {
  **_HANDLERS,
  **failures.HANDLERS,
  **exact_replay.HANDLERS,
  **random_replay.HANDLERS,
}


def tensor_specs(type_spec: tff.Type) -> list[tf.TensorSpec]:
  """Returns the specs of a type's tensors.

  Raises:
    NotReplayableError: If the type contains a sequence.
  """
  specs = []
  for leaf in type_leaves.leaf_types(type_spec):
    if isinstance(leaf, tff.SequenceType):
      raise NotReplayableError(f'a sequence of type {leaf} at the server')
    specs.append(type_leaves.tensor_spec(leaf))
  return specs


class GraphTracer:
  """Replays local functions' TensorFlow into the function being traced.

  Sequences among the local values are `sequence_replay.Sequence`s or the
  results of `tff.sequence_map` and `tff.federated_select`. `leaves` are the
  TensorFlow computations that a function given to the tracer runs.

  Attributes:
    failure: The failure of the work traced so far. A client's work that XLA
      compiles begins with a value.
  """

  def __init__(
    self,
    *,
    use_xla: bool = False,
    check_loops: compiled_loops.Check | None = None,
  ) -> None:
    """Makes a tracer.

    Args:
      use_xla: Whether the function being traced is compiled by XLA.
      check_loops: The check of loops over batches that XLA compiles in a
        function that it does not; None to compile none.
    """
    self._use_xla = use_xla
    self._compilation = check_loops and replayer.LoopCompilation(
      _XLA_HANDLERS, check_loops
    )
    self.failure = failures.Failure()
    # The results of replayed calls, for `compute_unread`.
    self._results: list[tf.Tensor] = []
    # Keyed by the identity of the proto, which the plan keeps alive.
    self._graphs: dict[int, tuple[Any, serialized_graph.SerializedGraph]] = {}

  def run(self, proto: Any, type_signature: tff.FunctionType, arg: Any) -> Any:
    """Replays a computation on a local value and returns its result.

    Args:
      proto: The serialized computation, a `pb.Computation`.
      type_signature: The type of the computation.
      arg: The argument; `None` if it takes none.

    Raises:
      NotReplayableError: If it cannot be replayed.
    """
    serialized = proto.tensorflow
    feeds = {}
    if type_signature.parameter is not None:
      leaves = map(
        _computed,
        type_leaves.flatten(arg),
        type_leaves.leaf_types(type_signature.parameter),
      )
      feeds = dict(
        zip(
          tensorflow_functions.tensor_names(serialized.parameter),
          leaves,
          strict=True,
        )
      )
    replay = replayer.Replay(
      self._graph(proto),
      _XLA_HANDLERS if self._use_xla else _HANDLERS,
      use_xla=self._use_xla,
      compilation=self._compilation,
    )
    results = replay.run(
      feeds,
      tensorflow_functions.tensor_names(serialized.result),
      initialize_op=serialized.initialize_op,
    )
    if self._use_xla:
      self.failure.note(replay.value_of(replayer.FAILED))
    results = list(
      map(_returned, results, type_leaves.leaf_types(type_signature.result))
    )
    self._results += [r for r in results if isinstance(r, tf.Tensor)]
    return type_leaves.unflatten(iter(results), type_signature.result)

  def compute_unread(self, returned: Any) -> None:
    """Makes the graph compute all results of the calls replayed in it.

    TFF's runtime computes all results of a call, and so finds their errors; a
    graph would leave out results that are not in the nest `returned`.
    """
    if self._use_xla:
      return  # Failures are results.
    graph = tf.compat.v1.get_default_graph()
    read = {id(leaf) for leaf in tf.nest.flatten(returned)}
    unread = [
      result
      for result in self._results
      if result.graph is graph
      and not result.consumers()
      and id(result) not in read
    ]
    self._results = [r for r in self._results if r.graph is not graph]
    if unread:
      sequence_replay.compute_all(unread)

  def _whole(self, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that also computes all unread results of its calls."""

    def run(*arguments: Any) -> Any:
      returned = function(*arguments)
      self.compute_unread(returned)
      return returned

    return run

  def reduce(
    self,
    sequence: Any,
    zero: Any,
    step: Callable[[Any, Any], Any],
    *,
    leaves: Iterable[local_functions.TensorFlowLeaf],
    **types: tff.Type,
  ) -> Any:
    """Returns a reduction's last state by `sequence_intrinsics.reduce`."""
    return sequence_intrinsics.reduce(
      sequence,
      zero,
      self._whole(step),
      operations=self._operations(leaves),
      use_xla=self._use_xla,
      failure=self.failure,
      **types,
    )

  def map(
    self,
    sequence: Any,
    fn: Callable[[Any], Any],
    *,
    leaves: Iterable[local_functions.TensorFlowLeaf],
    **types: tff.Type,
  ) -> sequence_intrinsics.ReplayedMap:
    """Returns a mapped sequence by `sequence_intrinsics.map_elements`."""
    return sequence_intrinsics.map_elements(
      sequence,
      self._whole(fn),
      operations=self._operations(leaves),
      use_xla=self._use_xla,
      **types,
    )

  def select(
    self,
    keys: tf.Tensor,
    fn: Callable[[Any], Any],
    *,
    result_type: tff.Type,
    leaves: Iterable[local_functions.TensorFlowLeaf],
  ) -> sequence_replay.Sequence:
    """Returns the slices fn(key) of a client's keys, int32 [k]."""
    leaves = list(leaves)
    if serialized_graph.draws(self._operations(leaves)):
      # All clients must get the same slice of a key.
      raise NotReplayableError(
        'federated_select by a function with random numbers or variables'
      )
    return self.map(
      sequence_intrinsics.keys_sequence(keys),
      fn,
      element_type=tff.TensorType(np.int32),
      result_type=result_type,
      leaves=leaves,
    ).computed

  def rebatches(self, leaves: Iterable[local_functions.TensorFlowLeaf]) -> bool:
    """Returns whether some of the computations rebatch rows."""
    return sequence_operations.REBATCH in self._operations(leaves)

  def _graph(self, proto: Any) -> serialized_graph.SerializedGraph:
    if id(proto) not in self._graphs:
      graph_def = tf.compat.v1.GraphDef()
      proto.tensorflow.graph_def.Unpack(graph_def)
      # XLA has its own kernels, without state.
      if not self._use_xla:
        stateless_kernels.make_stateless(graph_def)
      empty_factors.replace(graph_def)
      self._graphs[id(proto)] = (
        proto,
        serialized_graph.SerializedGraph(graph_def),
      )
    return self._graphs[id(proto)][1]

  def _operations(
    self, leaves: Iterable[local_functions.TensorFlowLeaf]
  ) -> collections.Counter[str]:
    """Returns the number of nodes of each operation in some computations."""
    return sum(
      (self._graph(leaf.proto).main_operations for leaf in leaves),
      collections.Counter(),
    )


def _computed(leaf: Any, leaf_type: tff.Type) -> Any:
  """Returns a leaf of a local value in the form that TensorFlow code takes."""
  if not isinstance(leaf_type, tff.SequenceType):
    return leaf
  if isinstance(leaf, sequence_intrinsics.ReplayedMap):
    leaf = leaf.computed
  # Code that names the parts of elements may get elements without names.
  expected = packed_sequences.dataset_order(leaf_type.element)
  if leaf.part_order not in ((), expected):
    raise NotReplayableError(
      f'a sequence whose elements have no names, as one of {leaf_type.element}'
    )
  # TFF's runtime hands it over serialized.
  return leaf.begun_anew()


def _returned(result: Any, leaf_type: tff.Type) -> Any:
  """Returns a result of TensorFlow code as a leaf of a local value."""
  if isinstance(result, tf.Tensor):
    return result
  if not isinstance(result, sequence_replay.Sequence) or result.is_drawn:
    # Each reader would draw anew.
    raise NotReplayableError('a computation that returns a dataset')
  order = packed_sequences.dataset_order(leaf_type.element)
  return dataclasses.replace(result, part_order=order)


def trace(
  function: Callable[..., Any], specs: Sequence[Any], **options: Any
) -> Callable[..., Any]:
  """Traces a function, so that its calls can be interrupted.

  Args:
    function: A function from nests of tensors to a nest of tensors.
    specs: The specs of its arguments, nests of `tf.TensorSpec`.
    **options: The options of `tf.function`.

  Returns:
    The traced function. It takes the same nests, of tensors or of arrays that
    do not change during the call.

  Raises:
    NotReplayableError: If TensorFlow cannot trace it.
  """
  specs = list(specs)
  results = None

  def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
    nonlocal results
    results = function(*tf.nest.pack_sequence_as(specs, tensors))
    return tf.nest.flatten(results)

  try:
    with private_apis.exact_functions() as attributes:
      concrete = tf.function(
        run,
        input_signature=tf.nest.flatten(specs),
        autograph=False,
        **options,
      ).get_concrete_function()
  except serialized_graph.NotReplayableError:
    raise
  except Exception as error:
    # Errors may be of any kind; for example, a replay may know less about
    # shapes than the original graph. Errors in that graph itself show when it
    # runs unchanged.
    raise NotReplayableError(f'an error in tracing it, {error}') from error
  structure = tf.nest.map_structure(lambda _: 0, results)

  captured = list(concrete.captured_inputs)
  # Some captured inputs are looked up at each call.
  has_parameters = private_apis.captures_at_call(concrete)
  name = concrete.name.decode()
  num_results = len(concrete.outputs)

  # Like tf.nest, `_flatten_nest` takes dictionaries in the order of names.
  def call(*args: Any) -> Any:
    # A call by TensorFlow's own API binds names and checks structures, which
    # takes longer than a small model's round, and all threads would share one
    # cancellation.
    tensors = [
      private_apis.share_memory(leaf) if isinstance(leaf, np.ndarray) else leaf
      for leaf in _flatten_nest(args)
    ]
    tensors += list(concrete.captured_inputs) if has_parameters else captured
    with interruption.cancellable() as manager:
      flat = private_apis.call_function(
        name,
        tensors,
        num_results=num_results,
        attributes=attributes,
        cancellation_manager=manager,
      )
    return _pack_nest(structure, iter(flat))

  # TensorFlow knows the function by name only while this object lives.
  call.function = concrete
  return call


def _flatten_nest(nest: Any) -> list[Any]:
  """Returns a nest's leaves; dictionaries, lists and tuples only, but fast."""
  if isinstance(nest, dict):
    nest = [nest[name] for name in sorted(nest)]
  if isinstance(nest, (list, tuple)):
    return [leaf for element in nest for leaf in _flatten_nest(element)]
  return [nest]


def _pack_nest(structure: Any, leaves: Iterator[Any]) -> Any:
  """Returns the leaves in a nest like `structure`."""
  if isinstance(structure, dict):
    return {n: _pack_nest(structure[n], leaves) for n in sorted(structure)}
  if isinstance(structure, (list, tuple)):
    return type(structure)(_pack_nest(e, leaves) for e in structure)
  return next(leaves)
