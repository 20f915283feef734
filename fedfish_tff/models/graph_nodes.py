# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a graph compute: their parts and their checksum."""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import hashlib
from typing import Any

from fedfish_tff import errors

import tensorflow as tf

# Attributes of nodes that say where they came from or, by the numbers of this
# process, how to differentiate them; not what they compute.
_IRRELEVANT_ATTRIBUTES = ('_output_shapes', '_class', '_gradient_op_type')


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

  Raises:
    errors.InputError: If the graph has cycles.
  """
  nodes = {node.name: node for node in graph_def.node}
  known = {_read(tensor) for tensor in known}

  def sources(name: str) -> Iterator[str]:
    for tensor in nodes[name].input:
      if _read(tensor) not in known:
        yield _read(tensor)[0]

  return list(_in_order([_read(output)[0]], sources))


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

  Raises:
    errors.InputError: If the graph has cycles.
  """
  functions = {
    function.signature.name: function for function in graph_def.library.function
  }

  @functools.cache
  def name_function(name: str) -> str:
    """Returns a name that says what a function, as of a loop, computes."""
    if name not in functions:
      return name
    function = functions[name]
    signature = function.signature
    results = [function.ret[result.name] for result in signature.output_arg]
    effects = [function.control_ret[key] for key in signature.control_output]
    outputs = [*results, *(f'^{effect}' for effect in effects)]
    arguments = [argument.name for argument in signature.input_arg]
    digest = hashlib.sha256()
    numbers = _update(
      digest, function.node_def, outputs, name_function, arguments=arguments
    )
    for output in outputs:
      source, port = _read(output)
      digest.update(repr((numbers[source], port)).encode())
    return digest.hexdigest()

  digest = hashlib.sha256()
  _update(digest, graph_def.node, [output], name_function, weights=weights)
  _, port = _read(output)
  if port != '0':
    digest.update(port.encode())
  return f'graph {digest.hexdigest()}'


def _update(
  digest: Any,
  node_defs: Iterable[Any],
  outputs: Sequence[str],
  name_function: Callable[[str], str],
  *,
  arguments: Sequence[str] = (),
  weights: Sequence[str] = (),
) -> Mapping[str, int]:
  """Adds to a checksum what outputs are computed by.

  Args:
    digest: The checksum.
    node_defs: All nodes.
    outputs: Names of tensors.
    name_function: From a function's name to one that says what it computes.
    arguments: Names of what is given.
    weights: As for `describe`.

  Returns:
    The numbers of the arguments, below 0, and of the nodes.
  """
  nodes = {node.name: node for node in node_defs}
  numbers = {name: -1 - i for i, name in enumerate(arguments)}

  def sources(name: str) -> Iterator[str]:
    for tensor in nodes[name].input:
      if _read(tensor)[0] not in arguments:
        yield _read(tensor)[0]

  roots = [_read(output)[0] for output in outputs]
  roots = [root for root in roots if root not in arguments]
  for number, name in enumerate(_in_order(roots, sources)):
    node = nodes[name]
    numbers[name] = number
    parts: list[Any] = [node.op]
    for source in node.input:
      source_name, port = _read(source)
      parts.append((numbers[source_name], port))
    if name in weights:
      parts.append(('weight', weights.index(name)))
    else:
      for key in sorted(node.attr):
        if key not in _IRRELEVANT_ATTRIBUTES:
          parts.append((key, _describe_value(node.attr[key], name_function)))
    digest.update(repr(parts).encode())
  return numbers


def _describe_value(value: Any, name_function: Callable[[str], str]) -> bytes:
  """Returns an attribute's value, with functions by what they compute."""
  described = type(value)()
  described.CopyFrom(value)
  if described.HasField('func'):
    described.func.name = name_function(described.func.name)
  elif described.HasField('list'):
    for function in described.list.func:
      function.name = name_function(function.name)
  return described.SerializeToString(deterministic=True)


def _read(tensor: str) -> tuple[str, str]:
  """Returns a tensor's node and which output it is; ^0 for control edges."""
  node, _, port = tensor.lstrip('^').partition(':')
  return node, ('^' if tensor[0] == '^' else '') + (port or '0')


def _in_order(
  last: Sequence[str], sources: Callable[[str], Iterator[str]]
) -> Iterator[str]:
  """Yields the nodes that others depend on, each after its inputs."""
  done: set[str] = set()
  for name in last:
    # In the order of the dictionary.
    waiting = {} if name in done else {name: sources(name)}
    while waiting:
      name = next(reversed(waiting))
      source = next((s for s in waiting[name] if s not in done), None)
      if source in waiting:
        raise errors.InputError(
          f'The graph has a cycle at node {source!r}, as of loops of '
          'TensorFlow 1; one without cycles was expected.'
        )
      if source is not None:
        waiting[source] = sources(source)
        continue
      del waiting[name]
      done.add(name)
      yield name
