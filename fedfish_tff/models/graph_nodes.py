# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a graph compute: their parts and their checksum."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import hashlib
from typing import Any

import tensorflow as tf

# Attributes of nodes that say where they came from, not what they compute.
_IRRELEVANT_ATTRIBUTES = ('_output_shapes', '_class')


def needed_nodes(
  graph_def: tf.compat.v1.GraphDef,
  output: str,
  *,
  known: Collection[str] = (),
) -> list[str]:
  """Returns the nodes that a tensor is computed by, each after its inputs.

  Args:
    graph_def: The graph.
    output: Name of the tensor.
    known: Names of tensors that need not be computed.
  """
  nodes = {node.name: node for node in graph_def.node}
  known = {_read(tensor) for tensor in known}

  def sources(name: str) -> Iterator[str]:
    for tensor in nodes[name].input:
      if _read(tensor) not in known:
        yield _read(tensor)[0]

  return list(_in_order(_read(output)[0], sources))


def take_part(
  graph_def: tf.compat.v1.GraphDef,
  output: str,
  *,
  replaced: str | None = None,
  placeholder: str = '',
) -> tf.compat.v1.GraphDef:
  """Returns a graph of what a tensor needs.

  Args:
    graph_def: The graph.
    output: Name of the tensor.
    replaced: Name of a tensor that is given; None for none.
    placeholder: Name of a new node that gives it.
  """
  known = () if replaced is None else (replaced,)
  names = set(needed_nodes(graph_def, output, known=known))
  part = tf.compat.v1.GraphDef(
    versions=graph_def.versions, library=graph_def.library
  )
  if replaced is not None:
    with tf.Graph().as_default() as graph:
      tf.import_graph_def(graph_def, name='')
      dtype = graph.get_tensor_by_name(replaced).dtype
      given = tf.compat.v1.placeholder(dtype, name=placeholder)
    part.node.add().CopyFrom(given.op.node_def)
  for node in graph_def.node:
    if node.name not in names:
      continue
    copy = part.node.add()
    copy.CopyFrom(node)
    for i, tensor in enumerate(copy.input):
      if replaced is not None and _read(tensor) == _read(replaced):
        copy.input[i] = placeholder
  return part


def source_of(graph_def: tf.compat.v1.GraphDef, tensor: str) -> str:
  """Returns the tensor that identities give on, such as a graph's outputs."""
  nodes = {node.name: node for node in graph_def.node}
  name, port = _read(tensor)
  while nodes[name].op == 'Identity':
    name, port = _read(nodes[name].input[0])
  return f'{name}:{port}'


def describe(
  graph_def: tf.compat.v1.GraphDef, output: str, weights: Sequence[str]
) -> str:
  """Returns a checksum of what a graph computes, whatever its names.

  Keras numbers layers by what the process made before.

  Args:
    graph_def: The graph.
    output: Name of the tensor that it is for.
    weights: Names of nodes whose values do not count, in an order that does.
  """
  nodes = {node.name: node for node in graph_def.node}
  numbers: dict[str, int] = {}
  digest = hashlib.sha256()
  for name in needed_nodes(graph_def, output):
    node = nodes[name]
    numbers[name] = len(numbers)
    parts: list[Any] = [node.op]
    for source in node.input:
      source_name, port = _read(source)
      parts.append((numbers[source_name], port))
    if name in weights:
      parts.append(('weight', weights.index(name)))
    else:
      for key in sorted(node.attr):
        if key not in _IRRELEVANT_ATTRIBUTES:
          value = node.attr[key].SerializeToString(deterministic=True)
          parts.append((key, value))
    digest.update(repr(parts).encode())
  # Loops and branches; their names make another checksum at worst.
  for function in _called(graph_def, [nodes[name] for name in numbers]):
    digest.update(function.SerializeToString(deterministic=True))
  return f'graph {digest.hexdigest()}'


def _read(tensor: str) -> tuple[str, str]:
  """Returns a tensor's node and which output it is; ^0 for control edges."""
  node, _, port = tensor.lstrip('^').partition(':')
  return node, ('^' if tensor[0] == '^' else '') + (port or '0')


def _called(graph_def: tf.compat.v1.GraphDef, nodes: list[Any]) -> list[Any]:
  """Returns the functions that nodes call, and those that these call."""
  library = {
    function.signature.name: function for function in graph_def.library.function
  }
  found: dict[str, Any] = {}
  waiting = list(nodes)
  while waiting:
    for value in waiting.pop().attr.values():
      for name in (value.func.name, *(f.name for f in value.list.func)):
        if name in library and name not in found:
          found[name] = library[name]
          waiting.extend(library[name].node_def)
  return list(found.values())


def _in_order(
  last: str, sources: Callable[[str], Iterator[str]]
) -> Iterator[str]:
  """Yields the nodes that `last` depends on, each after its inputs."""
  done: set[str] = set()
  stack = [last]
  while stack:
    name = stack[-1]
    waiting = next((s for s in sources(name) if s not in done), None)
    if waiting is not None:
      stack.append(waiting)
      continue
    stack.pop()
    if name not in done:
      done.add(name)
      yield name
