# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Turns a serialized TensorFlow graph into functions of TensorFlow's runtime.

TFF runs a graph in a session: first the operation that initialises variables
and tables, then what the results need. Here these are two functions:

*   The first makes the variables and tables, initialises them, and returns
    them. They are anonymous: each call makes its own, and they end with the
    call. So calls may run at the same time and never see each other's state.
*   The second takes them with its arguments and returns the results.

What has no anonymous form keeps its name, made unique. It lives as long as the
functions do, so that calls at the same time need functions of other names
(`GraphFunctions.is_reusable`, `rename`). Queues are ended by a third function,
behind which the first two may be called again: to build them, and to get them
ready, takes longer than a call.

The functions of the graph's library get names of their own, since those of
different graphs are often the same.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools

from fedfish_tff import private_apis
from fedfish_tff import stateless_kernels
from fedfish_tff.execution.reading import state_holders

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2

_NodeDef = node_def_pb2.NodeDef
_FunctionDef = function_pb2.FunctionDef


class GraphError(ValueError):
  """A graph that cannot become functions; the message says why."""


@dataclasses.dataclass(frozen=True, eq=False)
class GraphFunctions:
  """A graph as functions.

  Attributes:
    definitions: All functions, those they call included.
    main: The name of the function that takes the feeds, then what `setup`
      returns, and returns the fetches.
    setup: The name of the function that makes and initialises what holds state;
      empty if there is nothing to initialise.
    setup_feeds: The numbers of the feeds that `setup` takes.
    num_holders: How many things `setup` returns.
    is_reusable: Whether calls of the functions share no state, kernels' included.
    reset: The name of the function that ends the state that calls share; empty
      if nothing can.
  """

  definitions: tuple[_FunctionDef, ...]
  main: str
  setup: str
  setup_feeds: tuple[int, ...]
  num_holders: int
  is_reusable: bool
  reset: str


def build_graph_functions(
  graph_def: tf.compat.v1.GraphDef,
  *,
  name: str,
  feeds: Sequence[str],
  fetches: Sequence[str],
  constants: Mapping[str, _NodeDef] | None = None,
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
    GraphError: If the graph lacks a node or a function that it refers to, or
      has variables of TensorFlow 1 (`use_resource=False`).
  """
  nodes = {node.name: _copy(node) for node in graph_def.node}
  nodes.update(constants or {})
  state_holders.merge_holders(nodes)
  library = {f.signature.name: f for f in graph_def.library.function}
  fed = {_node_of(feed) for feed in feeds}
  main = _select(nodes, map(_node_of, fetches), fed)
  setup = _select(nodes, [initialize_op] if initialize_op else (), fed)
  holders = [node for node in setup if state_holders.holds_state(nodes[node])]
  handed = [holder for holder in holders if holder in set(main)]
  if not handed:
    setup, holders = [], []
  others = [
    n for n in main if n not in handed and state_holders.holds_state(nodes[n])
  ]

  called = _find_called([nodes[n] for n in (*main, *setup)], library)
  # A variable that is not initialised is empty if anonymous, and an error else.
  named = {
    state_holders.state_name(nodes[n])
    for n in others
    if nodes[n].op == 'VarHandleOp'
  }
  for function in called:
    named |= state_holders.names_in_use(library[function])
  queues = _name_queues([nodes[n] for n in (*main, *setup)], called, library)
  anonymous = [
    state_holders.make_anonymous(nodes[n], named)
    for n in (*holders, *others)
    if nodes[n].op not in state_holders.QUEUES
  ]

  needed = {_node_of(i) for node in setup for i in nodes[node].input}
  setup_feeds = [i for i, f in enumerate(feeds) if _node_of(f) in needed]
  definitions = []
  if setup:
    _order_initialization(nodes, setup)
    function = _build_function(
      f'{name}_setup',
      [nodes[node] for node in setup],
      [nodes[_node_of(feeds[i])] for i in setup_feeds],
      handed,
      library,
    )
    function.control_ret['initialization'] = _node_of(initialize_op)
    function.signature.control_output.append('initialization')
    definitions.append(function)
  body = [nodes[node] for node in main if node not in handed]
  arguments = [nodes[_node_of(node)] for node in (*feeds, *handed)]
  definitions.append(_build_function(name, body, arguments, fetches, library))
  bodies = (library[function].node_def for function in called)
  is_free = (
    not named
    and all(anonymous)
    and not any(
      stateless_kernels.has_state(node.op)
      for node in itertools.chain(map(nodes.get, (*main, *setup)), *bodies)
    )
  )
  if queues and is_free:
    definitions.append(_build_reset(f'{name}_reset', queues, library))
  names = {f: f'{name}_{i}' for i, f in enumerate(called)}
  for function in called:
    definitions.append(_FunctionDef())
    definitions[-1].CopyFrom(library[function])
    definitions[-1].signature.name = names[function]
  for function in definitions:
    for node in function.node_def:
      _rename_functions(node, names)
      state_holders.rename_state(node, name)
  return GraphFunctions(
    definitions=tuple(definitions),
    main=name,
    setup=f'{name}_setup' if setup else '',
    setup_feeds=tuple(setup_feeds),
    num_holders=len(handed),
    is_reusable=is_free and not queues,
    reset=f'{name}_reset' if queues and is_free else '',
  )


def rename(functions: GraphFunctions, name: str) -> GraphFunctions:
  """Returns the same functions, and their state, under other names.

  Args:
    functions: The functions.
    name: The new name, as long as `functions.main`, whose place it takes in the
      serialized definitions.
  """
  before, after = functions.main.encode(), name.encode()
  return dataclasses.replace(
    functions,
    definitions=tuple(
      _FunctionDef.FromString(
        definition.SerializeToString().replace(before, after)
      )
      for definition in functions.definitions
    ),
    main=name,
    setup=functions.setup.replace(functions.main, name),
    reset=functions.reset.replace(functions.main, name),
  )


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


def _order_initialization(
  nodes: Mapping[str, _NodeDef], setup: Iterable[str]
) -> None:
  """Lets initial values that are made of other variables wait for these.

  TFF runs the initialisations in any order: there such a computation fails, or
  not, by chance.

  Args:
    nodes: The graph's nodes, changed.
    setup: Names of the nodes of the initialisation.
  """
  assignments = {
    _node_of(nodes[name].input[0]): name
    for name in setup
    if nodes[name].op == 'AssignVariableOp'
  }
  for name in setup:
    if nodes[name].op == 'ReadVariableOp':
      assignment = assignments.get(_node_of(nodes[name].input[0]))
      if assignment and name not in _select(nodes, [assignment], ()):
        nodes[name].input.append(f'^{assignment}')


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


def _name_queues(
  main: Iterable[_NodeDef],
  called: Iterable[str],
  library: Mapping[str, _FunctionDef],
) -> list[_NodeDef]:
  """Returns the queues of a graph, each of which gets a name to be found by.

  Args:
    main: The nodes outside of functions.
    called: The names of the functions that are called.
    library: The functions; the nodes of queues are changed.
  """
  queues = []
  for owner in ('', *called):
    for node in library[owner].node_def if owner else main:
      if node.op in state_holders.QUEUES:
        # In TFF's runtime all calls of a function have one queue.
        if not state_holders.state_name(node):
          node.attr['shared_name'].s = f'{owner}/{node.name}'.encode()
        queues.append(node)
  return queues


def _build_reset(
  name: str, queues: Iterable[_NodeDef], library: Mapping[str, _FunctionDef]
) -> _FunctionDef:
  """Builds the function that ends queues, so that they begin anew."""
  nodes = []
  for i, queue in enumerate(queues):
    nodes.append(_copy(queue))
    nodes[-1].name = f'queue_{i}'
    del nodes[-1].input[:]
    nodes.append(
      _NodeDef(name=f'end_{i}', op='DestroyResourceOp', input=[f'queue_{i}'])
    )
    # Nodes of one name are one queue.
    nodes[-1].attr['ignore_lookup_error'].b = True
  function = _build_function(name, nodes, [], [], library)
  for node in nodes[1::2]:
    function.control_ret[node.name] = node.name
    function.signature.control_output.append(node.name)
  return function


def _rename_functions(node: _NodeDef, names: Mapping[str, str]) -> None:
  def rename(function: attr_value_pb2.NameAttrList) -> None:
    function.name = names.get(function.name, function.name)

  node.op = names.get(node.op, node.op)
  _visit_functions(node, rename)


def _build_function(
  name: str,
  nodes: Iterable[_NodeDef],
  arguments: Sequence[_NodeDef],
  results: Sequence[str],
  library: Mapping[str, _FunctionDef],
) -> _FunctionDef:
  """Builds the function that has nodes of a graph for its body.

  Args:
    name: The function's name.
    nodes: The body's nodes.
    arguments: The nodes that are the arguments, of one output each.
    results: Names of the tensors that are the results.
    library: The functions that the body may call by operation.
  """
  function = _FunctionDef()
  function.signature.name = name
  function.signature.is_stateful = True
  taken = {
    node.name: f'fedfish_argument_{i}' for i, node in enumerate(arguments)
  }
  outputs: dict[str, list[tuple[str, int]]] = {}
  for node in nodes:
    outputs[node.name] = _outputs(node, library)
    copy = function.node_def.add()
    copy.CopyFrom(node)

  # Inside a function a value is named node:output:number, where the output is
  # one of the operation's; in a graph it is node:position.
  def rename(tensor: str) -> str:
    node, _, position = tensor.partition(':')
    if node in taken:
      return taken[node]
    return f'{node}:{outputs[node][int(position or 0)][0]}'

  for node in function.node_def:
    node.input[:] = [
      source if source[0] == '^' else rename(source)
      for source in node.input
      # An argument is there from the start: no one waits for it.
      if source[0] != '^' or _node_of(source) not in taken
    ]
  for node in arguments:
    argument = function.signature.input_arg.add()
    argument.name = taken[node.name]
    outputs[node.name] = _outputs(node, library)
    argument.type = outputs[node.name][0][1]
  for i, tensor in enumerate(results):
    node, _, position = tensor.partition(':')
    result = function.signature.output_arg.add()
    result.name = f'fedfish_result_{i}'
    result.type = outputs[node][int(position or 0)][1]
    function.ret[result.name] = rename(tensor)
  return function


def _outputs(
  node: _NodeDef, library: Mapping[str, _FunctionDef]
) -> list[tuple[str, int]]:
  """Returns the name (output:number) and type of each of a node's outputs."""
  if node.op in library:
    signature = library[node.op].signature
  else:
    signature = private_apis.find_operation(node.op)
  if signature is None:
    raise GraphError(
      f'The graph has an operation {node.op!r} that TensorFlow does not know.'
    )
  outputs = []
  for output in signature.output_arg:
    if output.is_ref:
      raise GraphError(
        f'The graph has a variable of TensorFlow 1, {node.name!r}; expected '
        'variables made with use_resource=True.'
      )
    if output.type_list_attr:
      kinds = node.attr[output.type_list_attr].list.type
    else:
      number = node.attr[output.number_attr].i if output.number_attr else 1
      kinds = [output.type or node.attr[output.type_attr].type] * number
    outputs.extend((f'{output.name}:{i}', kind) for i, kind in enumerate(kinds))
  return outputs
