# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature extractors from networks that are graphs, whole or in two parts."""

from collections.abc import Mapping
import dataclasses
import hashlib
import math
from typing import Any

from fedfish_tff import errors
from fedfish_tff.models import autograph
from fedfish_tff.models import feature_map
from fedfish_tff.models import traced_graph

import numpy as np
import tensorflow as tf

# The name of the input of the second part of a divided network.
_PART_INPUT = 'part_input'


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphNetwork:
  """A network, or a part of one.

  Attributes:
    name: The extractor's name.
    graph_def: The graph, in which weights are constants.
    inputs: The name of the input tensor.
    input_spec: The spec of a batch.
    output: The spec of the features, with the tensor's name and a fixed size.
    weights: The values of weights by the names of their nodes. The extractor
      leaves out those that its features do not depend on.
    splits: The specs of layers' inputs, with the tensors' names, by the names
      of the layers before which the network can be split.
    input_shape: The shape of one input in the graph, if inputs come as vectors.
  """

  name: str
  graph_def: tf.compat.v1.GraphDef
  inputs: str
  input_spec: tf.TensorSpec
  output: tf.TensorSpec
  weights: Mapping[str, np.ndarray]
  splits: Mapping[str, tf.TensorSpec] = dataclasses.field(default_factory=dict)
  input_shape: tuple[int, ...] | None = None

  def extractor(self) -> feature_map.FeatureMap:
    """Returns the extractor that computes the graph."""
    graph_def = traced_graph.take_part(self.graph_def, self.output.name)
    present = {node.name for node in graph_def.node}
    # Leaves out weights that the features do not depend on.
    weights = {key: self.weights[key] for key in self.weights if key in present}
    num_features = math.prod(self.output.shape[1:])

    @autograph.graph_function
    def apply(weights_now: Any, x: tf.Tensor) -> tf.Tensor:
      replaced = dict(zip(weights, weights_now, strict=True))
      if self.input_shape is not None:
        x = tf.reshape(x, [-1, *self.input_shape])
      replaced[self.inputs] = x
      (features,) = tf.graph_util.import_graph_def(
        graph_def,
        input_map=replaced,
        return_elements=[self.output.name],
        name='',
      )
      return tf.reshape(features, [-1, num_features])

    # The order of nodes differs from process to process.
    in_order = tf.compat.v1.GraphDef(
      node=sorted(graph_def.node, key=lambda node: node.name),
      library=graph_def.library,
    )
    digest = hashlib.sha256(in_order.SerializeToString(deterministic=True))
    architecture = (
      f'{self.output.name} of {self.inputs}, {self.input_shape}, in graph '
      f'{digest.hexdigest()} with weights {", ".join(weights)}'
    )
    return feature_map.FeatureMap(
      name=self.name,
      architecture=architecture,
      input_spec=self.input_spec,
      num_features=num_features,
      initial_weights=tuple(weights.values()),
      apply=apply,
      layers=tuple(self.splits),
      divide=lambda layer: _split(self, layer),
    )


def _split(
  whole: GraphNetwork, layer: str
) -> tuple[feature_map.FeatureMap, feature_map.FeatureMap]:
  """Returns the part before a layer, and the part that begins with it."""
  between = whole.splits[layer]
  output = tf.TensorSpec(
    whole.output.shape,
    whole.output.dtype,
    # The output itself waits for all weights, those of the lower part included.
    traced_graph.source_of(whole.graph_def, whole.output.name),
  )
  with tf.Graph().as_default() as graph:
    given_instead = tf.compat.v1.placeholder(
      between.dtype, between.shape, name=_PART_INPUT
    )
    tf.import_graph_def(
      whole.graph_def, input_map={between.name: given_instead}, name=''
    )
  graph_def = traced_graph.take_part(graph.as_graph_def(), output.name)
  (given, _) = whole.inputs.split(':')
  if given in {node.name for node in graph_def.node}:
    raise errors.InputError(
      f'Extractor {whole.name!r} must be split before a layer that all goes '
      f'through, got {layer!r}, past whose inputs a connection leads.'
    )
  shape = between.shape[1:]
  if between.dtype != tf.float32 or not shape.is_fully_defined():
    raise errors.InputError(
      f'Extractor {whole.name!r} must be split before a layer with float32 '
      f'inputs of a fixed size, got {layer!r} with '
      f'{between.dtype.name}{between.shape.as_list()}.'
    )
  lower = dataclasses.replace(
    whole, name=f'{whole.name}_to_{layer}', output=between, splits={}
  )
  upper = dataclasses.replace(
    whole,
    name=f'{whole.name}_from_{layer}',
    graph_def=graph_def,
    inputs=f'{_PART_INPUT}:0',
    output=output,
    splits={},
    input_shape=tuple(shape),
    input_spec=tf.TensorSpec([None, math.prod(shape)], tf.float32),
  )
  return lower.extractor(), upper.extractor()
