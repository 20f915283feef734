# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Work of several clients side by side, each operation for all of them at once.

`tf.vectorized_map` does that, with a first axis for clients. This module adds
convolutions with weights that differ between clients, as one group of channels
per client, and branches with conditions that differ. Batches with only a bound
on their size are not supported.
"""

from collections.abc import Callable
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution.reading import serialized_graph

import tensorflow as tf


def map_clients(
  run_client: Callable[[tf.Tensor], Any], clients: tf.Tensor
) -> Any:
  """Returns clients' results, with a first axis for clients.

  Args:
    run_client: A function from a client to a nest of tensors. No shape in it
      may differ between clients.
    clients: The positions of clients, int32 [clients].

  Raises:
    NotReplayableError: If an operation cannot run for all clients at once.
  """
  try:
    return tf.vectorized_map(run_client, clients, fallback_to_while_loop=False)
  except ValueError as error:
    reason = str(error).strip().rpartition('\n')[2].strip()
    raise serialized_graph.NotReplayableError(reason) from error


def _merge(node: Any, number: int) -> tf.Tensor:
  """Returns an input [W, ..., C] of W clients with all channels in one axis."""
  tensor = node.stacked_input(number)
  rank = node.op.inputs[number].shape.rank
  tensor = tf.transpose(tensor, [*range(1, rank), 0, rank])
  shape = tf.shape(tensor)
  return tf.reshape(
    tensor, tf.concat([shape[:-2], shape[-2:-1] * shape[-1:]], axis=0)
  )


def _split(node: Any, tensor: tf.Tensor) -> tf.Tensor:
  """Returns a result with all channels in one axis as [W, ..., C]."""
  width = node.pfor.loop_len_vector
  rank = node.op.outputs[0].shape.rank
  shape = tf.shape(tensor)
  shape = tf.concat([shape[:-1], width, shape[-1:] // width], axis=0)
  return tf.transpose(
    tf.reshape(tensor, shape), [rank - 1, *range(rank - 1), rank]
  )


def _channels_of_all(node: Any, sizes: tf.Tensor) -> tf.Tensor:
  return tf.concat([sizes[:3], sizes[3:] * node.pfor.loop_len_vector], axis=0)


def _attributes(node: Any) -> dict[str, Any]:
  padding = node.get_attr('padding')
  return dict(
    strides=node.get_attr('strides'),
    padding=tf.compat.as_str(padding),
    explicit_paddings=node.get_attr('explicit_paddings'),
    dilations=node.get_attr('dilations'),
  )


def _conv2d(node: Any) -> tf.Tensor:
  node.stack_inputs([0, 1])
  return _split(
    node,
    tf.raw_ops.Conv2D(
      input=_merge(node, 0), filter=_merge(node, 1), **_attributes(node)
    ),
  )


def _conv2d_backprop_input(node: Any) -> tf.Tensor:
  node.stack_inputs([1, 2])
  return _split(
    node,
    tf.raw_ops.Conv2DBackpropInput(
      input_sizes=_channels_of_all(node, node.unstacked_input(0)),
      filter=_merge(node, 1),
      out_backprop=_merge(node, 2),
      **_attributes(node),
    ),
  )


def _conv2d_backprop_filter(node: Any) -> tf.Tensor:
  node.stack_inputs([0, 2])
  return _split(
    node,
    tf.raw_ops.Conv2DBackpropFilter(
      input=_merge(node, 0),
      filter_sizes=_channels_of_all(node, node.unstacked_input(1)),
      out_backprop=_merge(node, 2),
      **_attributes(node),
    ),
  )


def _convolution(convert: Callable[[Any], tf.Tensor], weights: int):
  """Returns a converter of convolutions in which input `weights` differs."""

  def convert_node(node: Any, as_tensorflow: Callable[[], Any]) -> Any:
    if node.get_attr('data_format') != b'NHWC':
      return as_tensorflow()
    return convert(node) if node.input(weights).is_stacked else as_tensorflow()

  return convert_node


def _if(node: Any, as_tensorflow: Callable[[], Any]) -> list[tf.Tensor]:
  """Computes both branches if clients differ, the only way in XLA."""
  if not node.input(0).is_stacked:
    return as_tensorflow()
  node.stack_inputs()
  stacked = [value.t for value in node.inputs]

  def run(arguments: list[tf.Tensor]) -> list[tf.Tensor]:
    condition, *arguments = arguments
    return [
      tf.where(tf.cast(condition, tf.bool), *results)
      for results in zip(
        *(
          private_apis.call_in_graph(
            node.op.graph, node.get_attr(branch).name, arguments
          )
          for branch in ('then_branch', 'else_branch')
        ),
        strict=True,
      )
    ]

  return tf.vectorized_map(run, stacked, fallback_to_while_loop=False)


for _operation in ('If', 'StatelessIf'):
  private_apis.vectorize_operation(_operation, _if)
private_apis.vectorize_operation('Conv2D', _convolution(_conv2d, 1))
private_apis.vectorize_operation(
  'Conv2DBackpropInput', _convolution(_conv2d_backprop_input, 1)
)
private_apis.vectorize_operation(
  'Conv2DBackpropFilter', _convolution(_conv2d_backprop_filter, 0)
)
