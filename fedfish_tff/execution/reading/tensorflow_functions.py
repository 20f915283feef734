# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TFF's TensorFlow computations, called in this process without optimisation.

TFF runs a graph in a session: first the operation that initialises variables
and tables, then the nodes that the results need. Here both are one function, in
which each reader of a variable or a table waits for the initialisation.
Variables and tables are anonymous: each call makes its own, and they end with
the call. So any number of threads may call a computation at a time. Queues have
no anonymous form: they are ended after a call, and threads take turns.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import functools
import itertools
import threading
import types
from typing import Any

from fedfish_tff import graph_functions
from fedfish_tff import parameters
from fedfish_tff import private_apis
from fedfish_tff import stateless_kernels
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import empty_factors
from fedfish_tff.execution.reading import reduction_loops

import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2 as pb

_NodeDef = tf.compat.v1.NodeDef

_SESSION_TOKEN = 'fedfish_session'

# The name that makes a variable anonymous, from TensorFlow's sources
# (`ResourceHandle::ANONYMOUS_NAME`).
_ANONYMOUS_NAME = b'cd2c89b7-88b7-44c8-ad83-06c2a9158347'

# Operations that hold state, and those that make the same without a name.
_ANONYMOUS_OPERATIONS: Mapping[str, str] = types.MappingProxyType(
  {
    'VarHandleOp': 'VarHandleOp',
    'HashTableV2': 'AnonymousHashTable',
    'MutableHashTableV2': 'AnonymousMutableHashTable',
    'MutableHashTableOfTensorsV2': 'AnonymousMutableHashTableOfTensors',
    'MutableDenseHashTableV2': 'AnonymousMutableDenseHashTable',
  }
)
# Queues. Their operations make them anew after they have been ended.
_QUEUES = (
  'FIFOQueueV2',
  'PaddingFIFOQueueV2',
  'PriorityQueueV2',
  'RandomShuffleQueueV2',
)
# These hold state for one call only, whatever their names.
_OF_ONE_CALL = ('Anonymous', 'Dummy', 'TensorArray', 'Stack')


class GraphError(ValueError):
  """Error for a graph that cannot run in this process; its message says why."""


class TensorFlowFunction:
  """A TensorFlow computation, kept in TensorFlow's runtime."""

  def __init__(self, proto: pb.Computation):
    """Imports a computation, which must not change afterwards.

    Raises:
      GraphError: If it cannot run here.
    """
    self._graph = proto.tensorflow
    self._type = tff.types.deserialize_type(proto.type)
    self._argument_types = type_leaves.leaf_types(self._type.parameter)
    self._result_types = type_leaves.leaf_types(self._type.result)
    self._lock = threading.Lock()
    self._import()

  def _import(self) -> None:
    self._parameters: dict[parameters.Parameter, float] = {}
    self._of_repeatable: graph_functions.GraphFunction | None = None
    self._feeds = tensor_names(self._graph.parameter)
    self._fetches = tensor_names(self._graph.result)
    graph_def = self._read_graph()
    self._gains_by_repeatable = False
    if not any(isinstance(t, tff.SequenceType) for t in self._result_types):
      self._gains_by_repeatable = not reduction_loops.replace(
        graph_def
      ) and reduction_loops.can_replace(graph_def, are_repeatable=True)
    self._fill_in(graph_def)
    queues = _name_queues(graph_def)
    # A kernel that keeps a call's values must not run concurrently with itself.
    take_turns = queues or any(
      stateless_kernels.has_state(node.op)
      for node in graph_functions.nodes(graph_def)
    )
    self._turns = threading.Lock() if take_turns else contextlib.nullcontext()
    self._function = self._to_function(graph_def)
    self._end_queues = (
      graph_functions.GraphFunction(
        _ends(queues), [], ['end:0'], attributes=_call_options()
      )
      if queues
      else None
    )

  def _read_graph(self) -> tf.compat.v1.GraphDef:
    graph_def = tf.compat.v1.GraphDef()
    self._graph.graph_def.Unpack(graph_def)
    stateless_kernels.make_stateless(graph_def)
    empty_factors.replace(graph_def)
    return _extract(
      graph_def, self._feeds, self._fetches, self._graph.initialize_op
    )

  def _fill_in(self, graph_def: tf.compat.v1.GraphDef) -> None:
    """Sets a graph's parameters and options, in place."""
    token, _ = graph_functions.split_tensor_name(
      self._graph.session_token_tensor_name
    )
    given = {graph_functions.split_tensor_name(f)[0] for f in self._feeds}
    for node in graph_functions.nodes(graph_def):
      parameter = parameters.read(node)
      if parameter is not None:
        value = self._parameters[parameter] = parameter.value
        node.CopyFrom(_constant(node.name, value, tf.float32))
      elif node.name == token and token not in given:
        node.CopyFrom(_constant(node.name, _SESSION_TOKEN, tf.string))
      # Called functions run with the graph's own options: `_call_options`.
      elif node.op in ('PartitionedCall', 'StatefulPartitionedCall'):
        config = tf.compat.v1.ConfigProto.FromString(
          node.attr['config_proto'].s
        )
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        node.attr['config_proto'].s = config.SerializeToString(
          deterministic=True
        )

  def _to_function(
    self, graph_def: tf.compat.v1.GraphDef
  ) -> graph_functions.GraphFunction:
    return graph_functions.GraphFunction(
      graph_def, self._feeds, self._fetches, attributes=_call_options()
    )

  def _function_for(
    self, leaves: Sequence[Any]
  ) -> graph_functions.GraphFunction:
    """Returns the fastest form of the graph for the leaves of an argument."""
    if not self._gains_by_repeatable or not all(
      sequence_values.is_repeatable(leaf)
      for leaf, leaf_type in zip(leaves, self._argument_types, strict=True)
      if isinstance(leaf_type, tff.SequenceType)
    ):
      return self._function
    with self._lock:
      if self._of_repeatable is None:
        graph_def = self._read_graph()
        reduction_loops.replace(graph_def, are_repeatable=True)
        self._fill_in(graph_def)
        self._of_repeatable = self._to_function(graph_def)
      return self._of_repeatable

  def __call__(
    self,
    argument: Any = None,
    *,
    cancellation_manager: private_apis.CancellationManager | None = None,
  ) -> Any:
    """Runs the computation on a local value, unless the manager cancels it.

    Raises:
      tf.errors.OpError: If the TensorFlow code raises it.
    """
    if any(p.value != value for p, value in self._parameters.items()):
      self._import()
    leaves = [] if argument is None else type_leaves.flatten(argument)
    function = self._function_for(leaves)
    tensors = list(map(_to_tensor, leaves, self._argument_types))
    with self._turns:
      try:
        results = function(tensors, cancellation_manager)
      finally:
        if self._end_queues is not None:
          self._end_queues([])
    return type_leaves.unflatten(
      map(_from_tensor, results, self._result_types), self._type.result
    )


def _extract(
  graph_def: tf.compat.v1.GraphDef,
  feeds: Sequence[str],
  fetches: Sequence[str],
  initialize_op: str,
) -> tf.compat.v1.GraphDef:
  """Returns the part of a graph for its results, initialisation included.

  `initialize_op` initialises variables and tables; it is empty for none.
  """
  targets = [*feeds, *fetches]
  nodes = {node.name: node for node in graph_def.node}
  needed = graph_functions.nodes_needed(nodes, targets)
  initialization: Collection[str] = ()
  if initialize_op and any(_holds_state(node.op) for node in needed.values()):
    targets.append(initialize_op)
    initialization = graph_functions.nodes_needed(nodes, [initialize_op])
  graph = graph_functions.extract(graph_def, targets)
  nodes = {node.name: node for node in graph.node}
  _make_anonymous(graph, initialization)
  assignments = {
    node.input[0]: node.name
    for node in graph.node
    if node.op == 'AssignVariableOp' and node.name in initialization
  }
  for node in graph.node:
    if node.name not in initialization:
      if any(
        graph_functions.split_tensor_name(source)[0] in initialization
        for source in node.input
      ):
        node.input.append(f'^{initialize_op}')
    elif node.op == 'ReadVariableOp':
      # An initial value may read another variable, so that one is assigned
      # first. TFF runs assignments in any order and fails by chance.
      assignment = assignments.get(node.input[0])
      if assignment and node.name not in graph_functions.nodes_needed(
        nodes, [assignment]
      ):
        node.input.append(f'^{assignment}')
  return graph


@functools.cache
def _holds_state(operation: str) -> bool:
  """Returns whether an operation makes or finds state, such as a variable."""
  definition = private_apis.find_operation(operation)
  return (
    definition is not None
    and definition.is_stateful
    and not operation.startswith(_OF_ONE_CALL)
    and any(map(_is_holder, definition.output_arg))
    and not any(map(_is_holder, definition.input_arg))
  )


def _is_holder(argument: Any) -> bool:
  return argument.is_ref or argument.type == tf.resource.as_datatype_enum


def _make_anonymous(
  graph_def: tf.compat.v1.GraphDef, initialization: Collection[str]
) -> None:
  """Gives each call of a graph, changed in place, its own state.

  `initialization` has the names of the nodes that initialise the state.

  Raises:
    GraphError: If the graph has state that TensorFlow finds only by its name.
  """
  first: dict[tuple[str, bytes], str] = {}
  merged = {}
  for node in sorted(
    (node for node in graph_def.node if _holds_state(node.op)),
    key=lambda node: node.name not in initialization,
  ):
    if node.op in _QUEUES:
      continue
    if node.op not in _ANONYMOUS_OPERATIONS:
      raise _state_error(node)
    # Nodes that find the same state by its name become one.
    name = node.attr['shared_name'].s
    if name and first.setdefault((node.op, name), node.name) != node.name:
      merged[node.name] = first[node.op, name]
    elif node.op == 'VarHandleOp' and node.name not in initialization:
      # The variable would seem empty; TFF's runtime reports an error.
      raise _state_error(node)
    node.op = _ANONYMOUS_OPERATIONS[node.op]
    known = {attr.name for attr in private_apis.find_operation(node.op).attr}
    for attribute in list(node.attr):
      if attribute not in known:
        del node.attr[attribute]
    if node.op == 'VarHandleOp':
      node.attr['shared_name'].s = _ANONYMOUS_NAME
  for node in graph_def.node:
    node.input[:] = [merged.get(source, source) for source in node.input]
  for function in graph_def.library.function:
    for node in function.node_def:
      if (
        _holds_state(node.op)
        and node.op not in _QUEUES
        and node.attr['shared_name'].s != _ANONYMOUS_NAME
      ):
        raise _state_error(node)


def _name_queues(graph_def: tf.compat.v1.GraphDef) -> list[_NodeDef]:
  """Names a graph's queues as no other graph's, in place, and returns them."""
  prefix = graph_functions.unique_name()
  queues = []
  for owner, nodes in (
    ('', graph_def.node),
    *((f.signature.name, f.node_def) for f in graph_def.library.function),
  ):
    for node in nodes:
      if node.op in _QUEUES:
        # In TFF's runtime all calls of a function share one queue.
        name = node.attr['shared_name'].s.decode() or f'{owner}/{node.name}'
        node.attr['shared_name'].s = f'{prefix}/{name}'.encode()
        queues.append(node)
  return queues


def _ends(queues: Sequence[_NodeDef]) -> tf.compat.v1.GraphDef:
  """Returns a graph that ends queues when its result `end` is computed."""
  graph_def = tf.compat.v1.GraphDef(node=[_constant('end', 0, tf.int32)])
  for i, queue in enumerate(queues):
    # Nodes of one name find the same queue.
    found = graph_def.node.add()
    found.CopyFrom(queue)
    found.name = f'queue_{i}'
    del found.input[:]
    ended = graph_def.node.add(
      name=f'end_{i}', op='DestroyResourceOp', input=[found.name]
    )
    ended.attr['ignore_lookup_error'].b = True
    graph_def.node[0].input.append(f'^{ended.name}')
  return graph_def


def _state_error(node: _NodeDef) -> GraphError:
  return GraphError(
    'The state of a computation must be variables with initial values, lookup '
    f'tables and queues, got {node.op} {node.name!r}. '
    "TFF's own runtime may run it: see --context=local_worker."
  )


@functools.cache
def _call_options() -> tuple[Any, ...]:
  """Returns the options that run functions unoptimised, as in TFF's runtime."""
  config = tf.compat.v1.ConfigProto()
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  return ('executor_type', '', 'config_proto', config.SerializeToString())


def _constant(name: str, value: Any, dtype: tf.DType) -> _NodeDef:
  """Returns a node of a given name that is a constant."""
  node = _NodeDef(name=name, op='Const')
  node.attr['dtype'].type = dtype.as_datatype_enum
  node.attr['value'].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
  return node


def tensor_names(binding: pb.TensorFlow.Binding) -> list[str]:
  """Returns the names of a binding's tensors, in order."""
  match binding.WhichOneof('binding'):
    case 'tensor':
      return [binding.tensor.tensor_name]
    case 'sequence':
      return [binding.sequence.variant_tensor_name]
    case 'struct':
      elements = [tensor_names(element) for element in binding.struct.element]
      return list(itertools.chain.from_iterable(elements))
    case _:
      return []


def _to_tensor(leaf: Any, leaf_type: tff.Type) -> tf.Tensor:
  if isinstance(leaf_type, tff.SequenceType):
    return sequence_values.to_variant(leaf, leaf_type)
  return leaf


def _from_tensor(tensor: tf.Tensor, leaf_type: tff.Type) -> Any:
  if isinstance(leaf_type, tff.SequenceType):
    return sequence_values.from_variant(tensor, leaf_type)
  return tensor
