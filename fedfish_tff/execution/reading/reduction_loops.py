# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A reduction of a dataset as a loop over an iterator, which does it faster.

At each run, a reduction instantiates its function anew, which takes longer than
the steps of a small model. A loop is instantiated once, with the graph that has
it. These reductions remain:

*   Several in one graph, since they share the caches and shuffles of a dataset
    that they read one after the other. Iterators do not. If the arguments are
    repeatable and the graph draws nothing, this does not show: they become
    loops, too.
*   One with a function that draws by a seed. The draws start anew with each
    instance of the function.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import Any

from fedfish_tff import graph_functions
from fedfish_tff import private_apis
from fedfish_tff.execution.reading import serialized_graph

import tensorflow as tf
from tensorflow.core.framework import function_pb2

# The results of a reduction.
_OUTPUT = 'components'

# Operations that run a function at most once.
_CALLS = (
  'Case',
  'If',
  'PartitionedCall',
  'StatefulPartitionedCall',
  'StatelessCase',
  'StatelessIf',
)
_LOOPS = ('StatelessWhile', 'While')

# Operations on datasets whose passes are equal if those over their inputs are.
_PLAIN_DATASETS = frozenset(
  {
    'BatchDatasetV2',
    'ConcatenateDataset',
    'FilterDataset',
    'FlatMapDataset',
    'MapDataset',
    'PaddedBatchDatasetV2',
    'PrefetchDataset',
    'RangeDataset',
    'ReduceDataset',
    'RepeatDataset',
    'ShardDataset',
    'SkipDataset',
    'TakeDataset',
    'TensorDataset',
    'TensorSliceDataset',
    'UnbatchDataset',
    'ZipDataset',
  }
)

# Stateful operations that draw nothing, or the beginnings of their names.
_NOT_DRAWING = (
  'AnonymousHashTable',
  'AnonymousMutable',
  'Assert',
  'Assign',
  'CheckNumerics',
  'HashTable',
  'LookupTable',
  'ReadVariableOp',
  'ResourceApply',
  'ResourceGather',
  'ResourceScatter',
  'VarHandleOp',
  'VarIsInitializedOp',
  *_CALLS,
  *_LOOPS,
)

_NodeDef = tf.compat.v1.NodeDef
_Functions = Mapping[str, function_pb2.FunctionDef]


def replace(
  graph_def: tf.compat.v1.GraphDef, *, are_repeatable: bool = False
) -> bool:
  """Replaces the reductions of a graph and of its functions where it may.

  Args:
    graph_def: A graph that returns no dataset, in the form of
      `graph_functions.extract`; changed in place.
    are_repeatable: Whether all readers of each argument get the same elements.

  Returns:
    Whether the reductions are replaced: all or none.
  """
  functions, readers = _readers(graph_def)
  if not can_replace(graph_def, are_repeatable=are_repeatable):
    return False
  serialized = serialized_graph.SerializedGraph(graph_def)
  steps = [functions[node.attr['f'].func.name] for _, node in readers]
  shapes = [serialized.argument_shapes(step.signature.name) for step in steps]
  for (owner, node), step, own in zip(readers, steps, shapes, strict=True):
    loop = graph_functions.unique_name()
    graph_def.library.function.extend(_loop(loop, node, step, own))
    node.op = loop
    node.attr.clear()
    if owner:
      _rename_outputs(functions[owner], node.name)
  return True


def can_replace(
  graph_def: tf.compat.v1.GraphDef, *, are_repeatable: bool
) -> bool:
  """Returns whether `replace` replaces the reductions of a graph."""
  functions, readers = _readers(graph_def)
  if not readers or any(node.op != 'ReduceDataset' for _, node in readers):
    return False
  bodies = {'': graph_def.node, **{n: f.node_def for n, f in functions.items()}}
  # Loops of TensorFlow 1 are parts of the graph.
  if any(node.op == 'Enter' for nodes in bodies.values() for node in nodes):
    return False
  if are_repeatable:
    return _draws_nothing(bodies) and all(
      _runs_in_calls(owner, bodies) for owner, _ in readers
    )
  if len(readers) > 1:
    return False
  ((owner, node),) = readers
  return _runs_once(owner, bodies) and not _draws_by_seed(
    node.attr['f'].func.name, functions
  )


def _readers(
  graph_def: tf.compat.v1.GraphDef,
) -> tuple[_Functions, list[tuple[str, _NodeDef]]]:
  """Returns a graph's functions, and the nodes that read datasets.

  Each comes with the name of its function; empty for the graph's own nodes.
  """
  functions = {f.signature.name: f for f in graph_def.library.function}
  bodies = {'': graph_def.node, **{n: f.node_def for n, f in functions.items()}}
  return functions, [
    (owner, node)
    for owner, nodes in bodies.items()
    for node in nodes
    if _reads_dataset(node.op)
  ]


def _reads_dataset(operation: str) -> bool:
  """Returns whether an operation reads a dataset and makes no other of it."""
  definition = private_apis.find_operation(operation)
  return operation == 'MakeIterator' or (
    'Dataset' in operation
    and definition is not None
    and all(
      argument.type != tf.variant.as_datatype_enum
      for argument in definition.output_arg
    )
  )


def _draws_nothing(bodies: Mapping[str, Sequence[_NodeDef]]) -> bool:
  """Returns whether a graph is known not to draw and to shuffle nothing."""
  for node in (node for nodes in bodies.values() for node in nodes):
    if node.op in bodies:
      continue
    definition = private_apis.find_operation(node.op)
    if definition is None:
      return False
    if 'Dataset' in node.op:
      if node.op not in _PLAIN_DATASETS:
        return False
    elif definition.is_stateful and not node.op.startswith(_NOT_DRAWING):
      return False
  return True


def _runs_in_calls(name: str, bodies: Mapping[str, Sequence[_NodeDef]]) -> bool:
  """Returns whether only calls, branches and loops run a function."""
  seen, pending = set(), [name]
  while pending:
    name = pending.pop()
    if name in seen or not name:
      continue
    seen.add(name)
    for owner, nodes in bodies.items():
      for node in nodes:
        if name in _functions_of(node):
          if node.op not in (name, *_CALLS, *_LOOPS):
            return False
          pending.append(owner)
  return True


def _runs_once(name: str, bodies: Mapping[str, Sequence[_NodeDef]]) -> bool:
  """Returns whether a graph runs one of its functions at most once.

  Args:
    name: The function's name; empty for the nodes of the graph itself.
    bodies: The nodes of the graph and of its functions.
  """
  while name:
    callers = [
      (owner, node)
      for owner, nodes in bodies.items()
      for node in nodes
      if name in _functions_of(node)
    ]
    if len(callers) != 1:
      return False
    ((owner, node),) = callers
    if node.op != name and node.op not in _CALLS:
      return False
    name = owner
  return True


def _draws_by_seed(name: str, functions: _Functions) -> bool:
  """Returns whether a function, or one that it calls, draws by a seed."""
  seen = set()
  pending = [name]
  while pending:
    name = pending.pop()
    if name in seen or name not in functions:
      continue
    seen.add(name)
    for node in functions[name].node_def:
      if any(node.attr[s].i for s in ('seed', 'seed2') if s in node.attr):
        return True
      pending.extend(_functions_of(node))
  return False


def _functions_of(node: _NodeDef) -> list[str]:
  """Returns the names of the functions that a node may run."""
  return [node.op, *(f.name for f in graph_functions.functions_of(node))]


def _loop(
  name: str,
  node: _NodeDef,
  step: function_pb2.FunctionDef,
  argument_shapes: Sequence[tf.TensorShape],
) -> Sequence[function_pb2.FunctionDef]:
  """Returns a reduction as a function, and the functions that it calls.

  Args:
    name: The new function's name.
    node: The node of the reduction.
    step: The function that the reduction calls.
    argument_shapes: The shapes of the arguments of `step`.
  """
  state_types = list(node.attr['Tstate'].list.type)
  other_types = list(node.attr['Targuments'].list.type)
  num_state, num_others = len(state_types), len(other_types)
  element = range(num_state, len(step.signature.input_arg) - num_others)
  types = [step.signature.input_arg[i].type for i in element]
  shapes = [argument_shapes[i] for i in element]
  state_shapes = [
    tf.TensorShape(s) for s in node.attr['output_shapes'].list.shape
  ]

  with tf.Graph().as_default() as graph:
    dataset = tf.compat.v1.placeholder(tf.variant, [])
    state = list(map(tf.compat.v1.placeholder, state_types, state_shapes))
    others = list(map(tf.compat.v1.placeholder, other_types))
    iterator = tf.raw_ops.AnonymousIteratorV3(
      output_types=types, output_shapes=shapes
    )
    following = functools.partial(
      tf.raw_ops.IteratorGetNextAsOptional,
      iterator=iterator,
      output_types=types,
      output_shapes=shapes,
    )

    def run_step(optional: tf.Tensor, *state: tf.Tensor) -> list[tf.Tensor]:
      parts = tf.raw_ops.OptionalGetValue(
        optional=optional, output_types=types, output_shapes=shapes
      )
      call = private_apis.create_operation(
        'StatefulPartitionedCall',
        [*state, *parts, *others],
        {
          'f': node.attr['f'],
          'Tin': _types([*state_types, *types, *other_types]),
          'Tout': _types(state_types),
        },
        node_name='step',
      )
      for result, shape in zip(call.outputs, state_shapes, strict=True):
        result.set_shape(shape)
      with tf.control_dependencies([call]):
        return [following(), *call.outputs]

    with tf.control_dependencies(
      [tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator)]
    ):
      first = following()
    _, *results = tf.while_loop(
      lambda optional, *_: tf.raw_ops.OptionalHasValue(optional=optional),
      run_step,
      [first, *state],
      shape_invariants=[tf.TensorShape([]), *state_shapes],
    )
  inner = graph.as_graph_def().library.function
  definition = private_apis.function_definition(
    name,
    graph,
    [dataset, *state, *others],
    {f'{_OUTPUT}_{i}': result for i, result in enumerate(results)},
  )
  # Their names may be those of other functions of the graph.
  names = {f.signature.name: f'{name}_{f.signature.name}' for f in inner}
  for function in inner:
    function.signature.name = names[function.signature.name]
  for part in definition.node_def:
    if part.op in _LOOPS:
      # As a cycle of the graph, oneDNN's kernels would be chosen by chance.
      part.attr.pop('_lower_using_switch_merge', None)
      for attribute in ('cond', 'body'):
        called = part.attr[attribute].func
        called.name = names[called.name]
  return [*inner, definition]


def _types(types: Sequence[int]) -> Any:
  value = tf.compat.v1.AttrValue()
  value.list.type.extend(types)
  return value


def _rename_outputs(function: function_pb2.FunctionDef, name: str) -> None:
  """Names the results of a call in place of those of a reduction."""
  before = f'{name}:{_OUTPUT}:'

  def renamed(tensor: str) -> str:
    if not tensor.startswith(before):
      return tensor
    return f'{name}:{_OUTPUT}_{tensor.removeprefix(before)}:0'

  for node in function.node_def:
    node.input[:] = map(renamed, node.input)
  for result, tensor in function.ret.items():
    function.ret[result] = renamed(tensor)
