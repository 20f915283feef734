# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Replacement of operations with kernels that must not run concurrently.

All calls of a node share its kernel: concurrent clients, iterations of a loop,
threads that call one function. If a call writes to the kernel, another call may
take those sizes and values for its own.

oneDNN's kernels, which TensorFlow uses on CPUs, were read in 2.14 for members
that a call writes. Convolutions and matrix products keep constant weights in
oneDNN's order, behind a lock, and the primitives of all kernels belong to a
thread. Gradients of convolutions, products of many matrices, pooling, softmax,
quantisation and its inverse, instance and layer normalisation keep only
attributes. TensorFlow's own random generators have a lock. Among its other
kernels, a test runs those that Keras' layers need, side by side; 300 calls of
each found no others in 2.21. Three kinds have members that a call writes:

*   Fused batch normalisation and its gradient: `make_stateless` replaces them.
*   A convolution joined with a sum, which TensorFlow's optimiser makes of the
    two: `private_apis.exact_functions` prevents it.
*   Quantised convolutions and matrix products: `has_state` detects them.
"""

from collections.abc import Callable
from collections.abc import Mapping
import hashlib

from fedfish_tff import graph_functions
from fedfish_tff import private_apis

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2

# Their kernels keep the number of channels, and the places of the call's means
# and variances (mkl_fused_batch_norm_op.cc, until TensorFlow's pull request
# 99852; in 2.21.0 they still end the process, side by side). Keras' layer
# normalisation uses them, too, with the batch's rows as channels.
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

# Their kernels keep the call's bias and summand (MklQuantizedConv2DOp of
# mkl_conv_ops.cc, mkl_qmatmul_op.cc). Keras does not make them.
_QUANTIZED = (
  'QuantizedConv2D',
  'QuantizedDepthwiseConv2D',
  'QuantizedMatMulWithBias',
)

# All axes except that of the channels, and the shape that broadcasts values of
# channels over images.
_AXES = {b'NHWC': ([0, 1, 2], [-1]), b'NCHW': ([0, 2, 3], [-1, 1, 1])}


def has_state(operation: str) -> bool:
  """Returns whether a kernel keeps a call's values and cannot be replaced.

  The kernel is named by its operation, such as 'AddV2'.
  """
  return operation.startswith(_QUANTIZED)


def make_stateless(graph_def: tf.compat.v1.GraphDef) -> None:
  """Replaces fused batch normalisation, since its kernel keeps a call's values.

  A call of a function of other operations replaces each, with the same results
  up to rounding.

  Args:
    graph_def: The graph, changed in place.
  """
  names = set()
  for node in graph_functions.nodes(graph_def):
    if node.op not in (*_NORMALIZATIONS, *_GRADIENTS):
      continue
    # A node may leave out attributes with default values.
    attributes = {
      attribute.name: node.attr.get(attribute.name, attribute.default_value)
      for attribute in private_apis.find_operation(node.op).attr
    }
    # oneDNN has no kernel for images with a depth.
    if attributes['data_format'].s not in _AXES:
      continue
    content = node_def_pb2.NodeDef(op=node.op, attr=attributes)
    digest = hashlib.sha256(content.SerializeToString(deterministic=True))
    name = f'fedfish_stateless_{digest.hexdigest()[:32]}'
    if name not in names:
      names.add(name)
      graph_def.library.function.append(_function(name, node.op, attributes))
    node.op = name
    node.attr.clear()


def trace(
  function: Callable[[tf.Tensor], tf.Tensor], spec: tf.TensorSpec
) -> Callable[[np.ndarray], tf.Tensor]:
  """Traces a function of one tensor that threads may call concurrently.

  `spec` is that of the tensor.
  """
  traced = tf.function(function, input_signature=[spec]).get_concrete_function()
  graph_def = traced.graph.as_graph_def()
  make_stateless(graph_def)
  inputs = [tensor.name for tensor in traced.inputs]
  outputs = [traced.outputs[0].name]
  with private_apis.exact_functions() as attributes:
    graph_function = graph_functions.GraphFunction(
      graph_functions.extract(graph_def, [*inputs, *outputs]),
      inputs,
      outputs,
      attributes=attributes,
    )

  def call(argument: np.ndarray) -> tf.Tensor:
    tensors = [tf.constant(argument), *traced.captured_inputs]
    return graph_function(tensors)[0]

  return call


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
  names = [output.name for output in definition.output_arg]
  # Older versions of the operation lack the last output, which is for cuDNN.
  return private_apis.function_definition(
    name, graph, inputs, dict(zip(names, outputs))
  )


def _normalize(
  inputs: list[tf.Tensor], attributes: Mapping[str, tf.compat.v1.AttrValue]
) -> list[tf.Tensor]:
  """Computes the outputs of FusedBatchNormV3."""
  x, scale, offset, mean, variance = inputs
  axes, shape = _AXES[attributes['data_format'].s]
  images = tf.cast(x, tf.float32)
  # Without images, oneDNN returns statistics of 0 for the gradient, and running
  # ones of NaN.
  has_images = tf.size(x) > 0
  running_mean, running_variance = mean, variance
  if attributes['is_training'].b:
    mean = tf.where(has_images, tf.reduce_mean(images, axes), 0.0)
  centered = images - tf.reshape(mean, shape)
  if attributes['is_training'].b:
    variance = tf.reduce_mean(tf.square(centered), axes)
    variance = tf.where(has_images, variance, 0.0)
    count = _count(images, mean)
    unbiased = variance * (count / tf.maximum(count - 1.0, 1.0))
    factor = attributes['exponential_avg_factor'].f
    if factor == 1.0:
      # The running statistics may be empty here.
      running_mean, running_variance = mean, unbiased
    else:
      running_mean += factor * (mean - running_mean)
      running_variance += factor * (unbiased - running_variance)
  running = [
    tf.where(has_images, value, np.nan)
    for value in (running_mean, running_variance)
  ]
  factors = scale * tf.math.rsqrt(variance + attributes['epsilon'].f)
  y = centered * tf.reshape(factors, shape) + tf.reshape(offset, shape)
  return [
    tf.cast(y, x.dtype),
    *running,
    tf.identity(mean),
    tf.identity(variance),
    tf.zeros([0]),
  ]


def _differentiate(
  inputs: list[tf.Tensor], attributes: Mapping[str, tf.compat.v1.AttrValue]
) -> list[tf.Tensor]:
  """Computes the outputs of FusedBatchNormGradV3."""
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
    # In training, means and variances depend on the images.
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
  """Returns the number of values of the images in each mean."""
  return tf.cast(tf.size(images), tf.float32) / tf.cast(
    tf.size(mean), tf.float32
  )
