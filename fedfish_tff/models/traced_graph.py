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
        f'A variable is changed by {node.name}, as batch normalisation '
        'does in training; a model that only reads its variables was expected, '
        'with GroupNormalization for example.'
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
  (inputs,) = (tensor.name for tensor in frozen.inputs)
  return TracedGraph(
    graph_def=graph_def,
    inputs=inputs,
    outputs=tuple(
      tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
      for tensor in frozen.outputs
    ),
    variables=held,
  )


def all_nodes(graph_def: tf.compat.v1.GraphDef) -> Iterator[Any]:
  """Yields the nodes of a graph and those of its functions.

  Args:
    graph_def: The graph.
  """
  yield from graph_def.node
  for function in graph_def.library.function:
    yield from function.node_def
