# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Serialized graphs as functions of TensorFlow's runtime.

The runtime knows functions by name, and different graphs often use the same
names. So all functions that a graph calls get unique names.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import weakref

from fedfish_tff import private_apis

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2

_numbers = itertools.count()


def unique_name() -> str:
  """Returns a name that the runtime does not know."""
  return f'fedfish_graph_{next(_numbers)}'


def nodes(graph_def: tf.compat.v1.GraphDef) -> Iterator[node_def_pb2.NodeDef]:
  """Yields the nodes of a graph and of the functions in its library."""
  return itertools.chain(
    graph_def.node, *(f.node_def for f in graph_def.library.function)
  )


def functions_of(
  node: node_def_pb2.NodeDef,
) -> Iterator[attr_value_pb2.NameAttrList]:
  """Yields the functions in a node's attributes, and in theirs."""
  values = list(node.attr.values())
  while values:
    value = values.pop()
    for function in [value.func] * value.HasField('func') + [*value.list.func]:
      yield function
      values.extend(function.attr.values())


def split_tensor_name(name: str) -> tuple[str, int]:
  """Returns a tensor's node and position among its outputs."""
  node, _, index = name.removeprefix('^').partition(':')
  return node, int(index or 0)


def nodes_needed(
  nodes: Mapping[str, node_def_pb2.NodeDef],
  targets: Iterable[str],
  known: Iterable[str] = (),
) -> dict[str, node_def_pb2.NodeDef]:
  """Returns some nodes and all nodes that they need, each after its inputs.

  A cycle is a loop of TensorFlow 1, which has a `NextIteration`. One of its
  nodes stands before an input of its own.

  Args:
    nodes: The nodes of a graph or of a function by name.
    targets: The names of these nodes, or of their tensors.
    known: The names of nodes that are left out, with what only they need.
  """
  known = set(known)
  needed: dict[str, node_def_pb2.NodeDef] = {}
  begun: set[str] = set()
  stack = [(name, False) for name in reversed(list(targets))]
  while stack:
    target, inputs_are_done = stack.pop()
    if inputs_are_done:
      needed[target] = nodes[target]
      continue
    name, _ = split_tensor_name(target)
    if name not in begun and name not in known:
      begun.add(name)
      stack.append((name, True))
      stack.extend((source, False) for source in reversed(nodes[name].input))
  return needed


def extract(
  graph_def: tf.compat.v1.GraphDef, targets: Iterable[str]
) -> tf.compat.v1.GraphDef:
  """Returns the part of a graph that some nodes need.

  Args:
    graph_def: A graph with those nodes, which stays as it is.
    targets: The names of these nodes, or of their tensors.

  Returns:
    A graph of the needed nodes and of the functions that they call, under
    unique names.
  """
  needed = nodes_needed({node.name: node for node in graph_def.node}, targets)
  part = tf.compat.v1.GraphDef(
    node=[node for node in graph_def.node if node.name in needed],
    versions=graph_def.versions,
  )
  prefix = unique_name()
  library = {f.signature.name: f for f in graph_def.library.function}
  called: dict[str, function_pb2.FunctionDef] = {}
  pending = list(part.node)

  def new_name(name: str) -> str:
    if name not in library:
      return name
    if name not in called:
      called[name] = function_pb2.FunctionDef()
      called[name].CopyFrom(library[name])
      called[name].signature.name = f'{prefix}_{len(called)}'
      pending.extend(called[name].node_def)
    return called[name].signature.name

  while pending:
    node = pending.pop()
    node.op = new_name(node.op)
    for function in functions_of(node):
      function.name = new_name(function.name)
  part.library.function.extend(called.values())
  return part


class GraphFunction:
  """A graph as a function that TensorFlow's runtime keeps with this object."""

  def __init__(
    self,
    graph_def: tf.compat.v1.GraphDef,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    attributes: tuple[object, ...],
  ):
    """Adds the function to the runtime.

    Args:
      graph_def: A graph in the form of `extract`.
      inputs: The names of the tensors that are the arguments, one per node.
      outputs: The names of the tensors that are the results.
      attributes: The attributes of `private_apis.function_call_options` with
        which the function is called.
    """
    given = {f'^{split_tensor_name(name)[0]}' for name in inputs}
    for node in graph_def.node:
      # A node may be colocated with one that `extract` has left out.
      node.attr.pop('_class', None)
      # Arguments need no control dependencies.
      node.input[:] = [source for source in node.input if source not in given]
    operations = {node.op for node in graph_def.node}
    body = tf.compat.v1.GraphDef(
      node=graph_def.node, versions=graph_def.versions
    )
    # Other functions are only named in attributes, which need no definition
    # here.
    body.library.function.extend(
      f for f in graph_def.library.function if f.signature.name in operations
    )
    with tf.Graph().as_default() as graph:
      tf.graph_util.import_graph_def(body, name='')
    self._name = unique_name()
    self._num_results = len(outputs)
    self._attributes = attributes
    definition = private_apis.function_definition(
      self._name,
      graph,
      list(map(graph.get_tensor_by_name, inputs)),
      {
        f'result_{i}': graph.get_tensor_by_name(name)
        for i, name in enumerate(outputs)
      },
    )
    definitions = [*graph_def.library.function, definition]
    for function in definitions:
      private_apis.add_function(function)
    finalizer = weakref.finalize(
      self, _remove_functions, [f.signature.name for f in definitions]
    )
    finalizer.atexit = False  # TensorFlow may no longer exist then.

  def __call__(
    self,
    tensors: Sequence[tf.Tensor],
    cancellation_manager: private_apis.CancellationManager | None = None,
  ) -> Sequence[tf.Tensor]:
    """Runs the function.

    Args:
      tensors: The arguments.
      cancellation_manager: The manager that can end the call early.

    Raises:
      tf.errors.OpError: If the graph raises it.
    """
    return private_apis.call_function(
      self._name,
      tensors,
      num_results=self._num_results,
      attributes=self._attributes,
      cancellation_manager=cancellation_manager,
    )


def _remove_functions(names: Sequence[str]) -> None:
  for name in names:
    private_apis.remove_function(name)
