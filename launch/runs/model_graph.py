# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A digest that recognises models that compute the same."""

from collections.abc import Iterable
from collections.abc import Mapping
import hashlib
from typing import Any

from fedfish_tff import models

import tensorflow as tf
import tensorflow_federated as tff


def describe(model: tff.learning.models.FunctionalModel) -> str:
  """Returns a digest that is equal only for models that compute the same.

  It depends on constants such as frozen weights and seeds, but not on initial
  weights. Models with different digests may still compute the same.
  """
  with tf.Graph().as_default() as graph:

    def placeholder(like: Any) -> tf.Tensor:
      return tf.compat.v1.placeholder(like.dtype, like.shape)

    weights = tf.nest.map_structure(placeholder, model.initial_weights)
    batch = tf.nest.map_structure(placeholder, model.input_spec)
    x, y = (batch['x'], batch['y']) if isinstance(batch, Mapping) else batch
    for training in (True, False):
      output, added, _ = models.run_pass(model, weights, x, training)
      loss = model.loss(output=output, label=y)
      model.update_metrics_state(
        model.initialize_metrics_state(),
        labels=y,
        batch_output=tff.learning.models.BatchOutput(
          loss=loss if added is None else loss + added,
          predictions=output,
          num_examples=tf.shape(tf.nest.flatten(output)[0])[0],
        ),
      )
  definition = graph.as_graph_def()
  functions = {f.signature.name: f for f in definition.library.function}
  return _digest(definition.node, functions)


def _digest(
  nodes: Iterable[tf.compat.v1.NodeDef], functions: Mapping[str, Any]
) -> str:
  """Returns a digest of nodes and of the functions that they call."""

  # Names of functions depend on earlier traces, so their digests replace them.
  def digest_of(name: str) -> str:
    function = functions[name]
    results = sorted(function.ret.items())
    return f'{_digest(function.node_def, functions)} {results}'

  digest = hashlib.sha256()
  for node in sorted(nodes, key=lambda node: node.name):
    copy = tf.compat.v1.NodeDef()
    copy.CopyFrom(node)
    if node.op in functions:
      copy.op = digest_of(node.op)
    for name, value in node.attr.items():
      if name[0] == '_':  # An annotation, which may name functions.
        del copy.attr[name]
      elif value.func.name:
        copy.attr[name].func.name = digest_of(value.func.name)
      for function in copy.attr[name].list.func if value.list.func else ():
        function.name = digest_of(function.name)
    digest.update(copy.SerializeToString(deterministic=True))
  return digest.hexdigest()
