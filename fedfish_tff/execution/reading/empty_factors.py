# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Products of zeros with values that are computed from no elements.

TFF's runtime replaces a product with a constant of zeros by zeros, even if the
other factor is NaN. Here NaN remains, since it shows that a client has diverged.
A factor that is reduced from tensors without elements, such as their mean, has
no data that could diverge: it becomes 1, so that the product is 0 here, too.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import MutableSequence

from fedfish_tff import graph_functions
from fedfish_tff import private_apis
from fedfish_tff.execution.reading import serialized_graph

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef

# The positions of a constant of zeros and of the factor beside it.
_PRODUCTS: Mapping[str, tuple[tuple[int, int], ...]] = {
  'MatMul': ((0, 1), (1, 0)),
  'Mul': ((0, 1), (1, 0)),
  'RealDiv': ((0, 1),),
}
_REDUCTIONS = frozenset(('Max', 'Mean', 'Min', 'Prod', 'Sum'))
_PLACEHOLDERS = ('Placeholder', 'PlaceholderWithDefault')


def replace(graph_def: tf.compat.v1.GraphDef) -> None:
  """Makes factors without data 1 where the other factor is a constant of zeros.

  The graph is changed in place.
  """
  serialized = serialized_graph.SerializedGraph(graph_def)
  _replace_in(graph_def.node, lambda: serialized.main, '{name}')
  for function in graph_def.library.function:
    name = function.signature.name
    _replace_in(
      function.node_def,
      lambda name=name: serialized.function(name),
      # A function's node also names the output.
      '{name}:{output}:0',
    )


def _replace_in(
  nodes: MutableSequence[_NodeDef],
  body: Callable[[], serialized_graph.Body],
  tensor_name: str,
) -> None:
  """Changes the nodes of a graph or of a function, in place."""
  by_name = {node.name: node for node in nodes}
  found = []
  for node in nodes:
    for zeros, factor in _PRODUCTS.get(node.op, ()):
      reduced = _reduced(by_name, node.input[factor], _REDUCTIONS)
      if (
        reduced
        and _reduced(by_name, node.input[zeros], ()) == {}
        and _is_zero(body(), node.name, zeros)
      ):
        found.append((node, factor, reduced))
  for node, factor, reduced in found:
    node.input[factor] = _or_one(nodes, node, factor, reduced, tensor_name)


def _reduced(
  nodes: Mapping[str, _NodeDef], tensor: str, reductions: Collection[str]
) -> dict[str, _NodeDef] | None:
  """Returns the tensors that a value is reduced from, with the reductions.

  Args:
    nodes: The nodes by name.
    tensor: The name of the value.
    reductions: The operations that reduce tensors.

  Returns:
    The reduced tensors by name; None if the value also depends on something
    else than constants.
  """
  found = {}
  seen = set()
  pending = [tensor]
  while pending:
    name = pending.pop().partition(':')[0]
    if name in seen:
      continue
    seen.add(name)
    node = nodes.get(name)
    if node is None or node.op in _PLACEHOLDERS:
      return None
    if node.op in reductions:
      found[node.input[0]] = node
      continue
    definition = private_apis.find_operation(node.op)
    if (
      definition is None
      or definition.is_stateful
      or any(value.HasField('func') for value in node.attr.values())
    ):
      return None
    pending.extend(source for source in node.input if source[0] != '^')
  return found


def _is_zero(body: serialized_graph.Body, name: str, position: int) -> bool:
  """Returns whether an input of a node, a constant, consists of zeros."""
  source = body.nodes[name].input[position]
  tensor = '{}:{}'.format(*graph_functions.split_tensor_name(source))
  graph_def = tf.compat.v1.GraphDef(node=body.nodes.values())
  (value,) = graph_functions.GraphFunction(
    graph_functions.extract(graph_def, [tensor]),
    [],
    [tensor],
    attributes=private_apis.function_call_options(),
  )([])
  return not value.numpy().any()


def _or_one(
  nodes: MutableSequence[_NodeDef],
  product: _NodeDef,
  factor: int,
  reduced: Mapping[str, _NodeDef],
  tensor_name: str,
) -> str:
  """Adds nodes that replace a factor without data; returns their tensor."""
  dtype = product.attr['T'].type

  def add(op: str, output: str, inputs: list[str], **attributes: int) -> str:
    name = f'{product.name}/fedfish_{op}_{len(nodes)}'
    node = _NodeDef(name=name, op=op, input=inputs)
    for attribute, value in attributes.items():
      if attribute == 'N':
        node.attr[attribute].i = value
      else:
        node.attr[attribute].type = value
    nodes.append(node)
    return tensor_name.format(name=name, output=output)

  int64 = tf.int64.as_datatype_enum
  sizes = [
    add('Size', 'output', [tensor], T=node.attr['T'].type, out_type=int64)
    for tensor, node in reduced.items()
  ]
  size = add('AddN', 'sum', sizes, T=int64, N=len(sizes))
  has_data = add('Cast', 'y', [size], SrcT=int64, DstT=tf.bool.as_datatype_enum)
  value = product.input[factor]
  one = add('OnesLike', 'y', [value], T=dtype)
  return add('SelectV2', 'output', [has_data, value, one], T=dtype)
