# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Graphs without variables, from functions that read variables."""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
from typing import Any

from fedfish_tff import errors
from fedfish_tff import graph_functions
from fedfish_tff import private_apis

import tensorflow as tf

# The data format with channels before height and width. Bias operations may
# have it for any input.
_CHANNELS_FIRST = b'NCHW'
# The prefix of the names of nodes that hold variables' values.
_VARIABLE = 'fedfish_tff/variable'
# The prefixes of the names of operations that change variables.
_CHANGES = (
  'Assign',
  'RngReadAndSkip',
  'ResourceScatter',
  # These draw from a generator's variable.
  'StatefulRandomBinomial',
  'StatefulStandardNormal',
  'StatefulTruncatedNormal',
  'StatefulUniform',
)
# Parts of the names of operations that draw random numbers; those in _CHANGES
# are refused.
_DRAWS = ('Random', 'Multinomial', 'TruncatedNormal')


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedGraph:
  """A graph in which variables are constants.

  Attributes:
    graph_def: The graph without variables.
    inputs: The names of the input tensors, in the order of `tf.nest`.
    outputs: The specs of the outputs, with the names of the tensors.
    variables: The variables, by the names of the nodes that hold their values,
      in the order of use.
  """

  graph_def: tf.compat.v1.GraphDef
  inputs: tuple[str, ...]
  outputs: tuple[tf.TensorSpec, ...]
  variables: Mapping[str, tf.Variable]


def trace_graph(compute: Callable[[Any], Any], input_spec: Any) -> TracedGraph:
  """Traces a function of one argument that keeps its variables alive.

  Args:
    compute: The function, which returns a tensor or a structure of tensors. It
      may change no variable, and take no images with channels first.
    input_spec: The spec of its argument, of a tensor or a structure of tensors.
  """
  function = tf.function(
    compute, input_signature=[input_spec]
  ).get_concrete_function()
  for node in graph_functions.nodes(function.graph.as_graph_def()):
    if node.op.startswith(_CHANGES):
      raise errors.InputError(
        f'A model must only read its variables, got one that {node.name} changes; '
        'layers of a Keras model may change them in training, outside of loops and '
        'branches.'
      )
    if node.attr['data_format'].s == _CHANNELS_FIRST and node.op != 'BiasAdd':
      raise errors.InputError(
        'Images must have their channels last (data_format channels_last, see '
        'image_data_format in ~/.keras/keras.json), got them first at '
        f'{node.name}, which TensorFlow computes on no CPU.'
      )
  # In the graph, variables have the names of the placeholders that hold them.
  # These come in the order of use; `variables` has no order.
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
  for node in graph_functions.nodes(graph_def):
    if node.op == 'IdentityN':
      # It may replace a gradient, such as that of swish to save memory, by a
      # function of the original graph, which this graph lacks.
      node.attr.pop('_gradient_op_type', None)
  # Some placeholders' names have a number that depends on the process.
  names = {name: f'{_VARIABLE}_{i}' for i, name in enumerate(held)}
  for node in graph_def.node:
    node.name = names.get(node.name, node.name)
    node.input[:] = [names.get(name, name) for name in node.input]
  return TracedGraph(
    graph_def=graph_def,
    inputs=tuple(tensor.name for tensor in frozen.inputs),
    outputs=tuple(
      tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
      for tensor in frozen.outputs
    ),
    variables={names[name]: variable for name, variable in held.items()},
  )


def draws_random_numbers() -> bool:
  """Returns whether the graph being built draws random numbers."""
  graph_def = tf.compat.v1.get_default_graph().as_graph_def()
  return any(
    draw in node.op
    for node in graph_functions.nodes(graph_def)
    for draw in _DRAWS
  )


def take_part(
  graph_def: tf.compat.v1.GraphDef, *outputs: str
) -> tf.compat.v1.GraphDef:
  """Returns the graph of the nodes that tensors depend on."""
  needed = graph_functions.nodes_needed(
    {node.name: node for node in graph_def.node}, outputs
  )
  return tf.compat.v1.GraphDef(
    node=[node for node in graph_def.node if node.name in needed],
    versions=graph_def.versions,
    library=graph_def.library,
  )


def source_of(graph_def: tf.compat.v1.GraphDef, tensor: str) -> str:
  """Returns the tensor that identities pass on to a tensor."""
  nodes = {node.name: node for node in graph_def.node}
  while (node := nodes[tensor.partition(':')[0]]).op == 'Identity':
    tensor = node.input[0]
  return tensor if ':' in tensor else f'{tensor}:0'
