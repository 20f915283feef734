# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Operations whose kernels may not run beside themselves, and what replaces them.

All calls of a node share its kernel: clients side by side, iterations of a
loop, threads that call one function. If a call writes to the kernel, another
takes its sizes and values for its own.
"""

from collections.abc import Mapping
import itertools

from fedfish_tff import private_apis
from fedfish_tff.execution.reading import imported_graph

import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2

# oneDNN's kernels of fused batch normalisation keep the number of channels, and
# where the means and variances of the current call are, in members
# (mkl_fused_batch_norm_op.cc, until TensorFlow's pull request 99852). Keras' layer
# normalisation, too, is one, with as many channels as a batch has rows.
_NORMALIZATIONS = (
  'FusedBatchNorm',
  'FusedBatchNormV2',
  'FusedBatchNormV3',
)
_GRADIENTS = (
  'FusedBatchNormGrad',
  'FusedBatchNormGradV2',
  'FusedBatchNormGradV3',
)

# All axes but that of the channels, and where their values stand for an image.
_AXES = {b'NHWC': ([0, 1, 2], [-1]), b'NCHW': ([0, 2, 3], [-1, 1, 1])}


def make_stateless(graph_def: tf.compat.v1.GraphDef) -> None:
  """Replaces the operations whose kernels keep what a call writes.

  A call of a function that has other operations takes the place of each, with
  the same results to rounding.

  Args:
    graph_def: The graph, changed in place.
  """
  functions: dict[bytes, str] = {}
  for node in itertools.chain(
    graph_def.node, *(f.node_def for f in graph_def.library.function)
  ):
    if node.op not in (*_NORMALIZATIONS, *_GRADIENTS):
      continue
    # What has its default may be left out of a node.
    attributes = {
      attribute.name: node.attr.get(attribute.name, attribute.default_value)
      for attribute in private_apis.find_operation(node.op).attr
    }
    # oneDNN has no kernel of images with a depth.
    if attributes['data_format'].s not in _AXES:
      continue
    key = node_def_pb2.NodeDef(op=node.op, attr=attributes).SerializeToString(
      deterministic=True
    )
    if key not in functions:
      functions[key] = f'fedfish_stateless_{len(functions)}'
      graph_def.library.function.append(
        _function(functions[key], node.op, attributes)
      )
    node.op = functions[key]
    node.attr.clear()


def _function(
  name: str, operation: str, attributes: Mapping[str, tf.compat.v1.AttrValue]
) -> function_pb2.FunctionDef:
  """Returns a function with the inputs and outputs of an operation."""
  definition = private_apis.find_operation(operation)
  with tf.Graph().as_default() as graph:
    inputs = [
      tf.compat.v1.placeholder(
        argument.type or attributes[argument.type_attr].type
      )
      for argument in definition.input_arg
    ]
    outputs = (_normalize if operation in _NORMALIZATIONS else _differentiate)(
      inputs, attributes
    )
  # The older ones have no room for cuDNN.
  outputs = outputs[: len(definition.output_arg)]
  (function,) = imported_graph.build_graph_functions(
    graph.as_graph_def(),
    name=name,
    feeds=[tensor.name for tensor in inputs],
    fetches=[tensor.name for tensor in outputs],
  ).definitions
  for own, output in zip(
    function.signature.output_arg, definition.output_arg, strict=True
  ):
    function.ret[output.name] = function.ret.pop(own.name)
    own.name = output.name
  return function


def _normalize(
  inputs: list[tf.Tensor], attributes: Mapping[str, tf.compat.v1.AttrValue]
) -> list[tf.Tensor]:
  """Computes what FusedBatchNormV3 does."""
  x, scale, offset, mean, variance = inputs
  axes, shape = _AXES[attributes['data_format'].s]
  images = tf.cast(x, tf.float32)
  running_mean, running_variance = mean, variance
  if attributes['is_training'].b:
    mean = tf.reduce_mean(images, axes)
  centered = images - tf.reshape(mean, shape)
  if attributes['is_training'].b:
    variance = tf.reduce_mean(tf.square(centered), axes)
    count = _count(images, mean)
    unbiased = variance * (count / tf.maximum(count - 1.0, 1.0))
    factor = attributes['exponential_avg_factor'].f
    if factor == 1.0:
      # There need be no running ones.
      running_mean, running_variance = mean, unbiased
    else:
      running_mean += factor * (mean - running_mean)
      running_variance += factor * (unbiased - running_variance)
  factors = scale * tf.math.rsqrt(variance + attributes['epsilon'].f)
  y = centered * tf.reshape(factors, shape) + tf.reshape(offset, shape)
  return [
    tf.cast(y, x.dtype),
    *map(tf.identity, (running_mean, running_variance, mean, variance)),
    tf.zeros([0]),
  ]


def _differentiate(
  inputs: list[tf.Tensor], attributes: Mapping[str, tf.compat.v1.AttrValue]
) -> list[tf.Tensor]:
  """Computes what FusedBatchNormGradV3 does."""
  y_backprop, x, scale, mean, variance, *_ = inputs
  axes, shape = _AXES[attributes['data_format'].s]
  change = tf.cast(y_backprop, tf.float32)
  images = tf.cast(x, tf.float32)
  centered = images - tf.reshape(mean, shape)
  inverse = tf.math.rsqrt(variance + attributes['epsilon'].f)
  scale_backprop = inverse * tf.reduce_sum(change * centered, axes)
  offset_backprop = tf.reduce_sum(change, axes)
  x_backprop = change
  if attributes['is_training'].b:
    # Means and variances are of the images themselves.
    count = _count(images, mean)
    x_backprop -= tf.reshape(offset_backprop / count, shape)
    x_backprop -= centered * tf.reshape(scale_backprop * inverse / count, shape)
  x_backprop *= tf.reshape(scale * inverse, shape)
  return [
    tf.cast(x_backprop, x.dtype),
    scale_backprop,
    offset_backprop,
    tf.zeros([0]),
    tf.zeros([0]),
  ]


def _count(images: tf.Tensor, mean: tf.Tensor) -> tf.Tensor:
  """Returns how many numbers of the images each mean is of."""
  return tf.cast(tf.size(images), tf.float32) / tf.cast(
    tf.size(mean), tf.float32
  )
