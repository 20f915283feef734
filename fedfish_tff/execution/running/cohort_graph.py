# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A client stage of a plan as one TensorFlow graph.

The graph takes the data of some clients at once and loops over these clients.
The loop's body replays a client's steps by `replayer`, with loops over packed
arrays for reductions of datasets, and folds the client's contributions into the
accumulators. A few iterations run at a time, but accumulators pass from one to
the next in cohort order. So sums do not depend on timing or on the number of
cores, and memory does not grow with the number of clients.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import functools
import threading
from typing import Any
from typing import NamedTuple
from typing import TypeAlias
import weakref

from fedfish_tff import errors
from fedfish_tff import loop_compilation
from fedfish_tff import private_apis
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import local_functions
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import sequence_arrays
from fedfish_tff.execution.replay import sequence_replay
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.replay import vectorized_operations
from fedfish_tff.execution.running import hlo_modules
from fedfish_tff.execution.running import ragged_modules

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ValueId: TypeAlias = federated_plan.ValueId

# The form of a sequence's arrays, and the arrays.
_SequenceTensors: TypeAlias = tuple[
  sequence_arrays.SequenceForm, dict[str, Any]
]

# The leaves of each accumulator, in the order of the stage's aggregates.
Accumulators: TypeAlias = list[list[tf.Tensor]]


_RANDOM = frozenset(('rng', 'rng-bit-generator'))


@dataclasses.dataclass(frozen=True, eq=False)
class ClientInputs:
  """The client inputs of a stage for some clients.

  Attributes:
    num_clients: The number of clients.
    tensors: An array [clients, ...] for each tensor of the inputs; unread rows
      may follow.
    forms: The form of each sequence of the inputs.
    sequences: The arrays of each sequence of the inputs.
    roots: For each sequence, the passes that its arrays hold of those clients
      whose passes may differ.
    most_clients: A bound on `num_clients`, which is constant in a graph that
      XLA compiles; None without XLA.
    grouping: The groups of clients that compute side by side; None if all
      compute one after the other.
  """

  num_clients: int
  tensors: list[np.ndarray]
  forms: tuple[sequence_arrays.SequenceForm, ...]
  sequences: list[dict[str, Any]]
  roots: tuple[Set[packed_sequences.Roots], ...] = ()
  most_clients: int | None = None
  grouping: 'Grouping | None' = None


class Grouping(NamedTuple):
  """The clients that compute side by side, and the others.

  Attributes:
    groups: Groups of clients with equally many elements, all of the most rows,
      int32 [groups, width]; unread rows may follow.
    num_groups: The number of groups.
    others: The clients that compute one after the other, int32 [clients];
      unread elements may follow.
    num_others: The number of these clients.
  """

  groups: np.ndarray
  num_groups: np.int32
  others: np.ndarray
  num_others: np.int32


class StageGraph:
  """The graph of a client stage, traced when it first runs."""

  def __init__(
    self,
    stage: federated_plan.ClientStage,
    *,
    parallelism: int,
    use_xla: bool = False,
    compiles_loops: bool = True,
    width: int = 1,
  ):
    """Checks that a stage can be a graph.

    Args:
      stage: The clients' work, which the caller must keep while the graph runs.
      parallelism: The number of clients that compute at a time.
      use_xla: Whether XLA compiles the graph.
      compiles_loops: Whether XLA compiles the loops over batches, in a graph
        that it does not compile, of marked work (`loop_compilation`).
      width: The number of clients that compute side by side, each operation for
        all of them at once, if their data have the same shapes.

    Raises:
      NotReplayableError: If the stage cannot be a graph.
    """
    # Caches keep a graph while its stage lives, so it must not keep the stage.
    self.stage = weakref.proxy(stage)
    self.parallelism = parallelism
    self.use_xla = use_xla
    self.width = width
    types = stage.types
    self.client_leaf_types = [
      type_leaves.leaf_types(types[i]) for i in stage.client_inputs
    ]
    self.compiles_loops = (
      compiles_loops and not use_xla and has_marked_loops(stage)
    )
    if self.compiles_loops and any(
      _has_strings(leaf) for leaves in self.client_leaf_types for leaf in leaves
    ):
      compiled_loops.log_refusal('data with strings')
      self.compiles_loops = False
    self._tracer = tracing.GraphTracer(
      use_xla=use_xla,
      check_loops=ragged_modules.check if self.compiles_loops else None,
    )
    self._traced: dict[Any, Callable[..., Any]] = {}
    # The passes over each of the inputs' sequences; None if they are not fixed.
    self.roots: dict[int, packed_sequences.Roots | None] = {}
    self._lock = threading.Lock()
    # Whether a step rebatches rows.
    self.rebatches = self._tracer.rebatches(
      leaf for step in stage.steps for leaf in step.fn.leaves()
    )
    self._server_specs = [
      tracing.tensor_specs(types[i]) for i in stage.server_inputs
    ]
    self._accumulator_types = [
      a.accumulate.type_signature.parameter[0] for a in stage.aggregates
    ]
    # Under XLA, whether client work has failed is another accumulator.
    self.accumulator_specs = [
      *map(tracing.tensor_specs, self._accumulator_types),
      *[[tf.TensorSpec([], tf.bool)]] * use_xla,
    ]
    self.output_specs = [tracing.tensor_specs(types[i]) for i in stage.outputs]
    for leaf in (leaf for leaves in self.client_leaf_types for leaf in leaves):
      if isinstance(leaf, tff.TensorType) and (
        leaf.shape is None or None in leaf.shape
      ):
        raise tracing.NotReplayableError(
          f'a value at the clients of unknown shape, {leaf}'
        )
      if use_xla and _has_strings(leaf):
        raise tracing.NotReplayableError(f'strings, in {leaf}')
    for spec in tf.nest.flatten(self.output_specs):
      if not spec.shape.is_fully_defined():
        raise tracing.NotReplayableError(
          f'a result of the clients of unknown shape, {spec.shape}'
        )
    # The bytes of one client's outputs; a string counts as its reference.
    self.output_bytes = sum(
      spec.shape.num_elements() * (spec.dtype.size or 8)
      for spec in tf.nest.flatten(self.output_specs)
    )

  def run(
    self,
    accumulators: Accumulators,
    server_values: Mapping[_ValueId, Any],
    inputs: ClientInputs,
  ) -> tuple[Accumulators, list[list[tf.Tensor]]]:
    """Runs the stage for some clients.

    Args:
      accumulators: The accumulators after the clients before.
      server_values: The server's values by number.
      inputs: The data of these clients.

    Returns:
      The accumulators, and for each output of the stage its tensors, with a
      first axis for the clients.

    Raises:
      NotReplayableError: If the stage turns out not to be replayable.
      tf.errors.OpError: If client work raises it.
    """
    server = [
      type_leaves.flatten(server_values[i]) for i in self.stage.server_inputs
    ]
    key = (inputs.forms, inputs.most_clients)
    with self._lock:
      if key not in self._traced:
        self._traced[key] = self._trace(inputs)
    self.check_passes(inputs)
    return self._traced[key](
      accumulators,
      server,
      tf.constant(inputs.num_clients, tf.int32),
      inputs.tensors,
      inputs.sequences,
      *([] if inputs.grouping is None else [list(inputs.grouping)]),
    )

  def check_passes(self, inputs: ClientInputs) -> None:
    """Checks that arrays hold the passes that the traced graph makes.

    Raises:
      FewPassesError: If they hold other passes, with those to pack.
      PackingError: If no arrays can hold the passes.
    """
    for number, packed in enumerate(inputs.roots):
      needed = self.roots[number]
      if packed and needed is None:
        raise packed_sequences.PackingError(packed_sequences.ONE_PASS)
      if not packed <= {needed}:
        raise packed_sequences.FewPassesError(dict(self.roots))

  def fetch(self, accumulators: Accumulators) -> Accumulators:
    """Returns the accumulators of `run` as tensors of this process."""
    return accumulators

  def to_hlo(
    self, inputs: ClientInputs, *, for_cpu: bool = False
  ) -> tuple[bytes, Callable[[], Sequence[tf.Tensor]]]:
    """Returns the graph as an XLA program, for data of the same shapes.

    Args:
      inputs: The data of some clients.
      for_cpu: Whether XLA will compile the program for a CPU.

    Returns:
      An HLO module with the arguments and results of `run`, flat; and a
      function that returns further arguments, to be called before each run.

    Raises:
      NotReplayableError: If the graph has no such program.
    """
    function, module = self._compile(inputs)
    for computation in module.computations:
      if any(i.opcode in _RANDOM for i in computation.instructions):
        raise tracing.NotReplayableError(
          'random numbers, of which XLA draws others'
        )
    if any(form.has_sizes for form in inputs.forms):
      forms = [dataclasses.replace(form, spare_rows=1) for form in inputs.forms]
      larger = dataclasses.replace(inputs, forms=tuple(forms))
      ragged_modules.check(module, self._compile(larger)[1])
    hlo_modules.mend_shapes(module)
    hlo_modules.fix_pooling(module)
    if for_cpu:
      hlo_modules.order_convolutions(module)
    return module.SerializeToString(), lambda: function.captured_inputs

  def _compile(self, inputs: ClientInputs) -> tuple[Any, Any]:
    """Returns the traced function and its HLO module."""
    function = self._trace(inputs, any_length=False).function
    for tensor in (*function.inputs, *function.outputs):
      if not tensor.shape.is_fully_defined():
        raise tracing.NotReplayableError(
          f'a value of unknown shape, {tensor.shape}'
        )
    try:
      return function, private_apis.compile_to_hlo(function)
    except (ValueError, tf.errors.OpError) as error:
      raise tracing.NotReplayableError(errors.first_line(error)) from error

  def _trace(
    self, inputs: ClientInputs, *, any_length: bool = True
  ) -> Callable[..., Any]:
    def spec_of(array: np.ndarray) -> tf.TensorSpec:
      dtype = tf.string if array.dtype == object else array.dtype
      first = [None] if any_length else array.shape[:1]
      return tf.TensorSpec([*first, *array.shape[1:]], dtype)

    def specs_of(nest: Any) -> Any:
      return tf.nest.map_structure(spec_of, nest)

    # An array without rows does not tell the shape of a row.
    sequences = [
      {
        **specs_of(arrays),
        'leaves': [
          spec if any_length else tf.TensorSpec(array.shape, spec.dtype)
          for spec, array in zip(
            packed_sequences.row_specs(leaf.element),
            arrays['leaves'],
            strict=True,
          )
        ],
      }
      for arrays, leaf in zip(
        inputs.sequences,
        (
          leaf
          for leaves in self.client_leaf_types
          for leaf in leaves
          if isinstance(leaf, tff.SequenceType)
        ),
        strict=True,
      )
    ]
    forms, most_clients = inputs.forms, inputs.most_clients

    def run(accumulators, server, num_clients, tensors, sequences, *grouping):
      return self._build(
        accumulators,
        server,
        num_clients,
        tensors,
        list(zip(forms, sequences, strict=True)),
        most_clients=most_clients,
        grouping=Grouping(*grouping[0]) if grouping else None,
      )

    return tracing.trace(
      run,
      [
        self.accumulator_specs,
        self._server_specs,
        tf.TensorSpec([], tf.int32),
        specs_of(inputs.tensors),
        sequences,
        *([] if inputs.grouping is None else [specs_of(list(inputs.grouping))]),
      ],
      jit_compile=True if self.use_xla else None,
    )

  def _build(
    self,
    accumulators: Accumulators,
    server: list[list[tf.Tensor]],
    num_clients: tf.Tensor,
    tensors: list[tf.Tensor],
    sequences: list[_SequenceTensors],
    *,
    most_clients: int | None,
    grouping: Grouping | None,
  ) -> tuple[Accumulators, list[list[tf.Tensor]]]:
    """Builds the loop over clients, after one over groups if there are any."""
    types = self.stage.types
    shared = {
      i: type_leaves.unflatten(iter(leaves), types[i])
      for i, leaves in zip(self.stage.server_inputs, server, strict=True)
    }

    traced = []
    slices = {} if self.use_xla else self._slices(shared, tensors)

    accumulators = list(accumulators)
    failed = accumulators.pop() if self.use_xla else []
    failure = self._tracer.failure

    def run_client(client, peer=None):
      failure.values = [tf.constant(False) for _ in failed]
      known = dict(shared)
      values = self._client_values(client, peer, tensors, sequences)
      leaves = type_leaves.flatten(tuple(values.values()))
      traced.append(
        [x for x in leaves if isinstance(x, sequence_replay.Sequence)]
      )
      known.update(values)
      for step in self.stage.steps:
        if step.out in slices:
          known[step.out] = slices[step.out](client)
        else:
          step.trace(known, self._tracer)
      contributions = [
        type_leaves.flatten(
          expressions.evaluate(aggregate.value, known.__getitem__)
        )
        for aggregate in self.stage.aggregates
      ]
      outputs = [type_leaves.flatten(known[out]) for out in self.stage.outputs]
      return contributions, outputs, failure.values

    def add(client, results, accumulators, arrays, failed):
      contributions, outputs, failure.values = results
      accumulators = [
        self._accumulate(i, leaves, contribution)
        for i, (leaves, contribution) in enumerate(
          zip(accumulators, contributions, strict=True)
        )
      ]
      arrays = tf.nest.map_structure(
        lambda array, output: array.write(client, output), arrays, outputs
      )
      failed = list(map(tf.logical_or, failed, failure.values))
      return accumulators, arrays, failed

    def loop(number, body, state):
      accumulators, arrays, failed = state
      return private_apis.parallel_loop(
        number,
        body,
        state,
        shape_invariants=(
          tf.TensorShape([]),
          tf.nest.map_structure(lambda t: t.shape, accumulators),
          tf.nest.map_structure(lambda _: tf.TensorShape(None), arrays),
          [value.shape for value in failed],
        ),
        parallel_iterations=self.parallelism,
      )

    def run_group(number, *state):
      clients = grouping.groups[number]
      results = vectorized_operations.map_clients(
        lambda client: run_client(client, clients[0]), clients
      )

      def add_one(i, *state):
        own = tf.nest.map_structure(lambda stacked: stacked[i], results)
        return add(clients[i], own, *state)

      return loop(clients.shape[0], add_one, state)

    def run_one(i, *state):
      client = i if grouping is None else grouping.others[i]
      state = add(client, run_client(client), *state)
      self._tracer.compute_unread(state)
      return state

    arrays = tf.nest.map_structure(
      lambda spec: tf.TensorArray(
        spec.dtype,
        size=num_clients if most_clients is None else most_clients,
        element_shape=spec.shape,
      ),
      self.output_specs,
    )
    state = (accumulators, arrays, failed)
    if grouping is not None:
      state = loop(grouping.num_groups, run_group, state)
    accumulators, arrays, failed = loop(
      num_clients if grouping is None else grouping.num_others,
      run_one,
      state,
    )
    for own in traced:
      for number, sequence in enumerate(own):
        (own,) = sequence.passes
        roots = own.counter.fixed_roots()
        if self.roots.setdefault(number, roots) != roots:
          self.roots[number] = None
    if self.use_xla:
      accumulators = [*accumulators, failed]
    return accumulators, tf.nest.map_structure(lambda a: a.stack(), arrays)

  def _client_values(
    self,
    client: tf.Tensor,
    peer: tf.Tensor | None,
    tensors: list[tf.Tensor],
    sequences: list[_SequenceTensors],
  ) -> dict[_ValueId, Any]:
    """Returns one client's part of the stage's client inputs."""
    next_tensor, next_sequence = iter(tensors), iter(sequences)
    values = {}
    for i, leaf_types in zip(
      self.stage.client_inputs, self.client_leaf_types, strict=True
    ):
      leaves = []
      for leaf_type in leaf_types:
        if isinstance(leaf_type, tff.SequenceType):
          form, arrays = next(next_sequence)
          leaves.append(
            sequence_arrays.client_sequence(
              form, arrays, leaf_type.element, client, peer
            )
          )
        else:
          leaves.append(tf.gather(next(next_tensor), client))
      values[i] = type_leaves.unflatten(iter(leaves), self.stage.types[i])
    return values

  def _slices(
    self, shared: Mapping[_ValueId, Any], tensors: list[tf.Tensor]
  ) -> dict[_ValueId, Callable[[tf.Tensor], sequence_replay.Sequence]]:
    """Computes the selections by keys that are client inputs.

    Clients that select by the same key get the same slice, computed once.

    Returns:
      A function from a client to its slices, for each such selection.
    """
    next_tensor = iter(tensors)
    of_all = {
      i: type_leaves.from_leaf_types(
        lambda leaf: (
          next(next_tensor) if isinstance(leaf, tff.TensorType) else None
        ),
        self.stage.types[i],
      )
      for i in self.stage.client_inputs
    }
    slices = {}
    for step in self.stage.steps:
      if not isinstance(step.fn, local_functions.Select):
        continue
      keys, server_value = step.arg.elements
      if not of_all.keys() >= set(expressions.value_ids(keys)):
        continue
      keys = expressions.evaluate(keys, of_all.__getitem__)
      server_value = expressions.evaluate(server_value, shared.__getitem__)
      distinct, places = tf.unique(tf.reshape(keys, [-1]))
      slices[step.out] = functools.partial(
        _of_client,
        step.fn.trace((distinct, server_value), self._tracer),
        tf.reshape(tf.cast(places, tf.int64), tf.shape(keys)),
      )
    return slices

  def _accumulate(
    self, number: int, leaves: list[tf.Tensor], contribution: list[tf.Tensor]
  ) -> list[tf.Tensor]:
    accumulate = self.stage.aggregates[number].accumulate
    arguments = tuple(
      type_leaves.unflatten(iter(leaves), own_type)
      for leaves, own_type in zip(
        (leaves, contribution), accumulate.type_signature.parameter, strict=True
      )
    )
    return type_leaves.flatten(accumulate.trace(arguments, self._tracer))


def has_marked_loops(stage: federated_plan.ClientStage) -> bool:
  """Returns whether XLA is to compile the loops over batches of a stage."""
  # Evaluations, which add up numbers, run too rarely for it.
  return _adds_up_matrices(stage) and _is_marked(stage)


def _adds_up_matrices(stage: federated_plan.ClientStage) -> bool:
  return any(
    isinstance(leaf, tff.TensorType) and leaf.shape and len(leaf.shape) > 1
    for aggregate in stage.aggregates
    for leaf in type_leaves.leaf_types(
      aggregate.accumulate.type_signature.parameter[0]
    )
  )


def _is_marked(stage: federated_plan.ClientStage) -> bool:
  """Returns whether a stage's work is marked by `loop_compilation`."""
  return any(
    loop_compilation.is_marked(leaf.proto.tensorflow.graph_def.value)
    for step in stage.steps
    for leaf in step.fn.leaves()
  )


def _has_strings(leaf: tff.Type) -> bool:
  return tff.types.contains(
    leaf,
    lambda t: (
      isinstance(t, tff.TensorType)
      and type_leaves.tensor_spec(t).dtype == tf.string
    ),
  )


def _of_client(
  slices: sequence_replay.Sequence, places: tf.Tensor, client: tf.Tensor
) -> sequence_replay.Sequence:
  """Returns the slices that a client has selected."""
  own = tf.gather(places, client)
  return slices.reindexed(tf.size(own, tf.int64), lambda i: tf.gather(own, i))
