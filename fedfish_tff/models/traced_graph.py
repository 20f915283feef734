# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions that read variables, as graphs without them."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import errors
from fedfish_tff import private_apis

import tensorflow as tf

# Of images, with channels before height and width; of anything for a bias.
_CHANNELS_FIRST = b'NCHW'
# Beginning of the names of the nodes that hold variables' values.
_VARIABLE = 'fedfish_tff/variable'
# Beginnings of the names of operations that change variables.
_CHANGES = (
  'Assign',
  'RngReadAndSkip',
  'ResourceScatter',
  # Which draw from a generator's variable.
  'StatefulRandomBinomial',
  'StatefulStandardNormal',
  'StatefulTruncatedNormal',
  'StatefulUniform',
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedGraph:
  """A graph in which variables have become constants.

  Attributes:
    graph_def: The graph.
    inputs: Name of the tensor that is given.
    outputs: Specs of the outputs, with the names of the tensors.
    variables: The variables, by the names of the nodes that hold their values,
      in the order of use.
  """

  graph_def: tf.compat.v1.GraphDef
  inputs: str
  outputs: tuple[tf.TensorSpec, ...]
  variables: Mapping[str, tf.Variable]


def trace_graph(
  compute: Callable[[tf.Tensor], Any], input_spec: tf.TensorSpec
) -> TracedGraph:
  """Traces a function of one tensor, which keeps its variables alive.

  Args:
    compute: Returns a tensor or a structure of them.
    input_spec: Of its argument.

  Raises:
    errors.InputError: If the function changes a variable, or takes images with
      channels first.
  """
  function = tf.function(
    compute, input_signature=[input_spec]
  ).get_concrete_function()
  for node in all_nodes(function.graph.as_graph_def()):
    if node.op.startswith(_CHANGES):
      raise errors.InputError(
        f'A model must only read its variables, got one that {node.name} changes, '
        'as batch normalisation does in training: create_keras_classifier has '
        'freeze_statistics=True, and GroupNormalization keeps none.'
      )
    if node.attr['data_format'].s == _CHANNELS_FIRST and node.op != 'BiasAdd':
      raise errors.InputError(
        f'Images have their channels first at {node.name}, which TensorFlow '
        'computes on no CPU; data_format channels_last was expected (see '
        'image_data_format in ~/.keras/keras.json).'
      )
  # In the graph, variables have the names of the placeholders that hold them,
  # which come in the order of use; `variables` has no order.
  variables = {
    id(variable.handle): variable for variable in function.graph.variables
  }
  held = {
    placeholder.op.name: variables[id(handle)]
    for handle, placeholder in function.graph.captures
    if id(handle) in variables
  }
  frozen = private_apis.freeze_variables(function)
  graph_def = frozen.graph.as_graph_def()
  for node in all_nodes(graph_def):
    if node.op == 'IdentityN':
      # Where the gradient of its operations is replaced by a function of the
      # graph before this one, as of swish to save memory.
      node.attr.pop('_gradient_op_type', None)
  # Some placeholders are named by a number of this process.
  names = {name: f'{_VARIABLE}_{i}' for i, name in enumerate(held)}
  for node in graph_def.node:
    node.name = names.get(node.name, node.name)
    node.input[:] = [names.get(name, name) for name in node.input]
  (inputs,) = (tensor.name for tensor in frozen.inputs)
  return TracedGraph(
    graph_def=graph_def,
    inputs=inputs,
    outputs=tuple(
      tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
      for tensor in frozen.outputs
    ),
    variables={names[name]: variable for name, variable in held.items()},
  )


def take_part(
  graph_def: tf.compat.v1.GraphDef, output: str
) -> tf.compat.v1.GraphDef:
  """Returns a graph of the nodes that a tensor is computed by.

  Args:
    graph_def: The graph.
    output: The name of the tensor.
  """
  nodes = {node.name: node for node in graph_def.node}
  needed: set[str] = set()
  waiting = [_node_of(output)]
  while waiting:
    name = waiting.pop()
    if name not in needed:
      needed.add(name)
      waiting.extend(map(_node_of, nodes[name].input))
  return tf.compat.v1.GraphDef(
    node=[node for node in graph_def.node if node.name in needed],
    versions=graph_def.versions,
    library=graph_def.library,
  )


def source_of(graph_def: tf.compat.v1.GraphDef, tensor: str) -> str:
  """Returns the tensor that identities give on, such as a graph's outputs.

  Args:
    graph_def: The graph.
    tensor: The name of the tensor.
  """
  nodes = {node.name: node for node in graph_def.node}
  while nodes[_node_of(tensor)].op == 'Identity':
    tensor = nodes[_node_of(tensor)].input[0]
  return tensor if ':' in tensor else f'{tensor}:0'


def all_nodes(graph_def: tf.compat.v1.GraphDef) -> Iterator[Any]:
  """Yields the nodes of a graph and those of its functions.

  Args:
    graph_def: The graph.
  """
  yield from graph_def.node
  for function in graph_def.library.function:
    yield from function.node_def


def _node_of(tensor: str) -> str:
  """Returns the name of the node in a tensor's or a control edge's name."""
  return tensor.removeprefix('^').partition(':')[0]
