# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Turns a serialized TensorFlow graph into functions of TensorFlow's runtime.

TFF runs a graph in a session: first the operation that initialises variables
and tables, then what the results need. Here both become one function:

*   Every operation that takes a variable or a table waits for all of them to be
    initialised. The initialisation has nodes of its own, so that nothing is
    read before.
*   Variables and tables are anonymous: each call makes its own, and they end
    with the call. So calls may run at the same time and never see each other's
    state. What has no anonymous form keeps its name, made unique, and such
    calls take turns (`GraphFunctions.is_shared`).
*   The functions of the graph's library get names of their own, since those of
    different graphs are often the same.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import types

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry

_NodeDef = node_def_pb2.NodeDef
_FunctionDef = function_pb2.FunctionDef

# The name that makes a variable anonymous, from TensorFlow's sources
# (`ResourceHandle::ANONYMOUS_NAME`).
_ANONYMOUS_NAME = b'cd2c89b7-88b7-44c8-ad83-06c2a9158347'

# What holds state, and the operation that makes the same without a name.
_ANONYMOUS_OPERATIONS: Mapping[str, str] = types.MappingProxyType(
  {
    'VarHandleOp': 'VarHandleOp',
    'HashTableV2': 'AnonymousHashTable',
    'MutableHashTableV2': 'AnonymousMutableHashTable',
    'MutableHashTableOfTensorsV2': 'AnonymousMutableHashTableOfTensors',
    'MutableDenseHashTableV2': 'AnonymousMutableDenseHashTable',
  }
)
# These hold state for one call only, whatever their names.
_OF_ONE_CALL = ('Anonymous', 'Dummy', 'TensorArray', 'Stack')
_INITIALIZATION = 'fedfish_initialization/'


class GraphError(ValueError):
  """A graph is not one that TFF would have made; the message says why."""


@dataclasses.dataclass(frozen=True, eq=False)
class GraphFunctions:
  """A graph as functions.

  Attributes:
    functions: All of them; the first takes the feeds and returns the fetches.
    is_shared: Whether calls share some state, and so must take turns.
  """

  functions: tuple[_FunctionDef, ...]
  is_shared: bool


def build_graph_functions(
  graph_def: tf.compat.v1.GraphDef,
  *,
  name: str,
  feeds: Sequence[str],
  fetches: Sequence[str],
  constants: Mapping[str, tf.compat.v1.NodeDef] | None = None,
  initialize_op: str = '',
) -> GraphFunctions:
  """Builds the functions of one graph.

  Args:
    graph_def: The graph.
    name: The name of its function; the names of the others begin with it.
    feeds: Names of the tensors that are the function's arguments.
    fetches: Names of the tensors that are its results.
    constants: Nodes that take the place of others, by name.
    initialize_op: Name of the operation that initialises variables and tables;
      empty for none.

  Returns:
    The functions, with what the fetches do not need left out.

  Raises:
    GraphError: If the graph lacks a node or a function that it refers to.
  """
  nodes = {node.name: node for node in graph_def.node}
  nodes.update(constants or {})
  library = {f.signature.name: f for f in graph_def.library.function}
  fed = {_node_of(feed) for feed in feeds}

  selected = _select(nodes, [_node_of(fetch) for fetch in fetches], fed)
  main = {name: _copy(nodes[name]) for name in selected}
  if initialize_op:
    _put_first(main, nodes, fed, initialize_op)

  called = _find_called(main.values(), library)
  named = _names_in_use(library[f] for f in called)
  is_shared = bool(named)
  for node in main.values():
    if _holds_state(node) and not _make_anonymous(node, named):
      is_shared = True
  names = {f: f'{name}_{i}' for i, f in enumerate(called)}
  body = _build_function(name, main, feeds, fetches, nodes, library)
  others = []
  for function in called:
    other = _FunctionDef()
    other.CopyFrom(library[function])
    other.signature.name = names[function]
    others.append(other)
  for function in (body, *others):
    for node in function.node_def:
      _rename_functions(node, names)
      _rename_state(node, name)
  return GraphFunctions(functions=(body, *others), is_shared=is_shared)


def _node_of(tensor: str) -> str:
  return tensor.removeprefix('^').partition(':')[0]


def _copy(node: _NodeDef) -> _NodeDef:
  copy = _NodeDef()
  copy.CopyFrom(node)
  # Whom a node is placed with may be left out, and the placer knows better.
  if '_class' in copy.attr:
    del copy.attr['_class']
  return copy


def _select(
  nodes: Mapping[str, _NodeDef], targets: Iterable[str], fed: Iterable[str]
) -> list[str]:
  """Returns the names of the nodes that targets need, without what is fed."""
  seen = set(fed)
  selected = []
  stack = list(targets)
  while stack:
    name = stack.pop()
    if name in seen:
      continue
    seen.add(name)
    if name not in nodes:
      raise GraphError(f'The graph has no node {name!r}, which it refers to.')
    selected.append(name)
    stack.extend(_node_of(source) for source in nodes[name].input)
  return selected


def _holds_state(node: _NodeDef) -> bool:
  """Whether a node makes or finds a variable, a table or the like."""
  definition = op_def_registry.get(node.op)
  return (
    definition is not None
    and definition.is_stateful
    and any(map(_is_holder, definition.output_arg))
    and not any(map(_is_holder, definition.input_arg))
  )


def _is_holder(argument: op_def_pb2.OpDef.ArgDef) -> bool:
  return argument.is_ref or argument.type == tf.resource.as_datatype_enum


def _put_first(
  main: dict[str, _NodeDef],
  nodes: Mapping[str, _NodeDef],
  fed: Iterable[str],
  initialize_op: str,
) -> None:
  """Adds the initialisation, and makes those wait that take what it prepares.

  Args:
    main: The function's nodes, changed.
    nodes: The graph's nodes.
    fed: Names of the nodes that are arguments.
    initialize_op: Name of the operation that depends on all initialisations.
  """
  selected = _select(nodes, [initialize_op], fed)
  holders = {name for name in selected if _holds_state(nodes[name])}
  if holders.isdisjoint(main):
    return
  own = set(selected).difference(holders)
  for name, node in main.items():
    if name not in holders and any(
      source[0] != '^' and _node_of(source) in holders for source in node.input
    ):
      node.input.append(f'^{_INITIALIZATION}{initialize_op}')

  def rename(source: str) -> str:
    if _node_of(source) not in own:
      return source
    mark = '^' if source[0] == '^' else ''
    return f'{mark}{_INITIALIZATION}{source.removeprefix("^")}'

  for name in holders.difference(main):
    main[name] = _copy(nodes[name])
  waits = _find_waits(nodes, own)
  for name in own:
    node = _copy(nodes[name])
    node.name = _INITIALIZATION + name
    node.input[:] = [rename(source) for source in node.input]
    node.input.extend(f'^{_INITIALIZATION}{other}' for other in waits[name])
    if 'frame_name' in node.attr:
      # Loops of one name would be one loop.
      frame = node.attr['frame_name']
      frame.s = _INITIALIZATION.encode() + frame.s
    main[node.name] = node


def _find_waits(
  nodes: Mapping[str, _NodeDef], own: set[str]
) -> Mapping[str, list[str]]:
  """Finds initial values that are made of other variables.

  Args:
    nodes: The graph's nodes.
    own: Names of those of the initialisation.

  Returns:
    For each node of the initialisation, the assignments it has to wait for.
    (TFF runs them in any order, and sometimes such a computation fails.)
  """
  assignments = {
    nodes[name].input[0]: name
    for name in own
    if nodes[name].op == 'AssignVariableOp'
  }
  waits = collections.defaultdict(list)
  for name in own:
    if nodes[name].op == 'ReadVariableOp':
      assignment = assignments.get(nodes[name].input[0])
      if assignment and name not in _select(nodes, [assignment], ()):
        waits[name].append(assignment)
  return waits


def _find_called(
  nodes: Iterable[_NodeDef], library: Mapping[str, _FunctionDef]
) -> list[str]:
  """Returns the names of the library's functions that nodes lead to."""
  called: dict[str, None] = {}
  stack = list(nodes)
  while stack:
    node = stack.pop()
    found = []
    if node.op in library:
      found.append(node.op)
    _visit_functions(node, lambda function, to=found: to.append(function.name))
    for name in found:
      if not name or name in called:
        continue
      if name not in library:
        raise GraphError(
          f'The graph has no function {name!r}, which {node.name!r} calls.'
        )
      called[name] = None
      stack.extend(library[name].node_def)
  return list(called)


def _visit_functions(
  node: _NodeDef, visit: Callable[[attr_value_pb2.NameAttrList], None]
) -> None:
  """Calls `visit` with every function that a node's attributes name."""
  stack = list(node.attr.values())
  while stack:
    value = stack.pop()
    kind = value.WhichOneof('value')
    if kind == 'func':
      functions = [value.func]
    elif kind == 'list':
      functions = list(value.list.func)
    else:
      continue
    for function in functions:
      visit(function)
      stack.extend(function.attr.values())


def _rename_functions(node: _NodeDef, names: Mapping[str, str]) -> None:
  def rename(function: attr_value_pb2.NameAttrList) -> None:
    function.name = names.get(function.name, function.name)

  node.op = names.get(node.op, node.op)
  _visit_functions(node, rename)


def _state_name(node: _NodeDef) -> bytes:
  """Returns the name under which a node's state is found; empty if its own."""
  return node.attr['shared_name'].s if 'shared_name' in node.attr else b''


def _names_in_use(functions: Iterable[_FunctionDef]) -> set[bytes]:
  """Returns the names by which functions find state."""
  return {
    _state_name(node)
    for function in functions
    for node in function.node_def
    if node.op in _ANONYMOUS_OPERATIONS
    and _holds_state(node)
    and _state_name(node) not in (b'', _ANONYMOUS_NAME)
  }


def _make_anonymous(node: _NodeDef, named: Iterable[bytes]) -> bool:
  """Makes a node's state its call's own; `False` if that is not possible.

  Args:
    node: The node that holds state, changed.
    named: Names of state that functions look up.
  """
  if node.op.startswith(_OF_ONE_CALL):
    return True
  if node.op not in _ANONYMOUS_OPERATIONS or _state_name(node) in named:
    return False
  node.op = _ANONYMOUS_OPERATIONS[node.op]
  if node.op == 'VarHandleOp':
    node.attr['shared_name'].s = _ANONYMOUS_NAME
    return True
  known = {attr.name for attr in op_def_registry.get(node.op).attr}
  for attr in list(node.attr):
    if attr not in known and attr[0] != '_':
      del node.attr[attr]
  return True


def _rename_state(node: _NodeDef, name: str) -> None:
  """Makes the name of a node's state one that no other graph uses."""
  if _state_name(node) not in (b'', _ANONYMOUS_NAME):
    prefix = f'{name}/'.encode()
    node.attr['shared_name'].s = prefix + node.attr['shared_name'].s


def _build_function(
  name: str,
  main: Mapping[str, _NodeDef],
  feeds: Sequence[str],
  fetches: Sequence[str],
  nodes: Mapping[str, _NodeDef],
  library: Mapping[str, _FunctionDef],
) -> _FunctionDef:
  """Builds the function that has nodes of a graph for its body.

  Args:
    name: The function's name.
    main: The body's nodes, by name.
    feeds: Names of the tensors that are the arguments.
    fetches: Names of the tensors that are the results.
    nodes: The graph's nodes, for the arguments' types.
    library: The functions that the body may call by operation.
  """
  function = _FunctionDef()
  function.signature.name = name
  function.signature.is_stateful = True
  offsets: dict[str, list[str]] = {}

  # Inside a function a value is named node:output:number, where the output is
  # one of the operation's; in a graph it is node:position.
  def rename(tensor: str) -> str:
    node, _, position = tensor.partition(':')
    if node in arguments:
      return arguments[node]
    if node not in offsets:
      offsets[node] = _output_names(main[node], library)
    return f'{node}:{offsets[node][int(position or 0)]}'

  arguments = {}
  for i, feed in enumerate(feeds):
    arguments[_node_of(feed)] = f'fedfish_argument_{i}'
    argument = function.signature.input_arg.add()
    argument.name = f'fedfish_argument_{i}'
    argument.type = nodes[_node_of(feed)].attr['dtype'].type
  for node in main.values():
    copy = function.node_def.add()
    copy.CopyFrom(node)
    copy.input[:] = [
      source if source[0] == '^' else rename(source)
      for source in node.input
      # An argument is there from the start: no one waits for it.
      if source[0] != '^' or _node_of(source) not in arguments
    ]
  for i, fetch in enumerate(fetches):
    result = function.signature.output_arg.add()
    result.name = f'fedfish_result_{i}'
    node, _, position = fetch.partition(':')
    if node in arguments:
      result.type = nodes[node].attr['dtype'].type
    else:
      result.type = _output_types(main[node], library)[int(position or 0)]
    function.ret[result.name] = rename(fetch)
  return function


def _signature(
  node: _NodeDef, library: Mapping[str, _FunctionDef]
) -> op_def_pb2.OpDef:
  if node.op in library:
    return library[node.op].signature
  definition = op_def_registry.get(node.op)
  if definition is None:
    raise GraphError(
      f'The graph has an operation {node.op!r} that TensorFlow does not know.'
    )
  return definition


def _output_types(
  node: _NodeDef, library: Mapping[str, _FunctionDef]
) -> list[int]:
  """Returns the type of each of a node's outputs."""
  outputs = []
  for output in _signature(node, library).output_arg:
    if output.type_list_attr:
      outputs.extend(node.attr[output.type_list_attr].list.type)
      continue
    kind = output.type or node.attr[output.type_attr].type
    number = node.attr[output.number_attr].i if output.number_attr else 1
    outputs.extend([kind] * number)
  return outputs


def _output_names(
  node: _NodeDef, library: Mapping[str, _FunctionDef]
) -> list[str]:
  """Returns output:number for each of a node's outputs."""
  names = []
  for output in _signature(node, library).output_arg:
    if output.type_list_attr:
      number = len(node.attr[output.type_list_attr].list.type)
    elif output.number_attr:
      number = node.attr[output.number_attr].i
    else:
      number = 1
    names.extend(f'{output.name}:{i}' for i in range(number))
  return names
