# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random client work on batches of fewer rows than others: a line of text each.

  roll:1 | dense:3 | gradient

is a chain of steps from rows [n, k] to rows, by names of `STEPS` with a number.
The results are weighted by their places and added up.
"""

from collections.abc import Callable
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

WIDTH = 6


def _size(x: tf.Tensor) -> tf.Tensor:
  return tf.shape(x)[0]


def _weights(*shape: int) -> tf.Tensor:
  return tf.constant(np.cos(np.arange(np.prod(shape))), tf.float32, shape)


def _dense(x: tf.Tensor, n: int) -> tf.Tensor:
  return tf.nn.relu(x @ _weights(WIDTH, WIDTH) + _weights(WIDTH) * n)


def _images(x: tf.Tensor) -> tf.Tensor:
  return tf.reshape(x, [-1, 3, 2, 1])


def _flat(x: tf.Tensor) -> tf.Tensor:
  """Returns rows [n, WIDTH] of any others."""
  x = tf.reshape(x, [_size(x), -1])
  return tf.reduce_sum(x, 1, keepdims=True) * _weights(WIDTH)


def _normalized(x: tf.Tensor, n: int) -> tf.Tensor:
  y, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
    x=tf.reshape(x, [-1, 1, 3, 2]),
    scale=_weights(2),
    offset=_weights(2),
    mean=_weights(2),
    variance=_weights(2),
    is_training=n % 2 == 0,
    exponential_avg_factor=1 - 0.1 * n if n else 1.0,
  )
  return _flat(y) + tf.reduce_sum(mean * variance)


def _layer_norm(x: tf.Tensor, n: int) -> tf.Tensor:
  mean, variance = tf.nn.moments(x, [n % 2], keepdims=True)
  return (x - mean) * tf.math.rsqrt(variance + 1e-3)


def _recurrent(x: tf.Tensor, n: int) -> tf.Tensor:
  parts = tf.reshape(x, [_size(x), 3, 2])
  _, state = tf.while_loop(
    lambda i, _: i < 3,
    lambda i, state: (i + 1, tf.tanh(state + parts[:, i] * n)),
    (0, tf.zeros([_size(x), 2])),
  )
  return _flat(state)


def _mapped(x: tf.Tensor, n: int) -> tf.Tensor:
  return tf.map_fn(lambda row: tf.cumsum(row) * n, x)


def _classes(x: tf.Tensor) -> tf.Tensor:
  return tf.argmax(x, 1, tf.int32)


def _checked(x: tf.Tensor, n: int) -> tf.Tensor:
  with tf.control_dependencies([tf.debugging.assert_less(x, 1.6 + n)]):
    return tf.identity(x)


def _loop_of_checks(x: tf.Tensor, n: int) -> tf.Tensor:
  _, total = tf.while_loop(
    lambda i, _: i < 3,
    lambda i, total: (i + 1, total + tf.gather(_weights(4), i + n)),
    (0, 0.0),
  )
  return x * total


Step = Callable[[tf.Tensor, int], tf.Tensor]

STEPS: Mapping[str, Step] = dict(
  # What models are made of.
  dense=_dense,
  elementwise=lambda x, n: [tf.tanh, tf.nn.gelu, tf.nn.softplus][n % 3](x),
  softmax=lambda x, n: tf.nn.softmax(x * 2, n % 2),
  convolution=lambda x, n: _flat(
    tf.nn.conv2d(_images(x), _weights(2, 2, 1, 3), 1 + n % 2, 'SAME')
  ),
  pooling=lambda x, n: _flat(
    [tf.nn.max_pool2d, tf.nn.avg_pool2d][n % 2](_images(x), 2, 1, 'SAME')
  ),
  normalization=_normalized,
  moments=_layer_norm,
  embedding=lambda x, n: tf.gather(_weights(9, WIDTH), _classes(x) + n % 4),
  cross_entropy=lambda x, n: (
    tf.nn.sparse_softmax_cross_entropy_with_logits(_classes(x), x + n)[
      :, tf.newaxis
    ]
    * _weights(WIDTH)
  ),
  recurrence=_recurrent,
  reshape=lambda x, n: tf.reshape(tf.reshape(x, [-1, n % 2 + 1]), [-1, WIDTH]),
  statistics=lambda x, n: (
    x
    + [tf.reduce_mean, tf.reduce_max, tf.reduce_sum, tf.reduce_prod][n % 4](
      x, 0
    )
  ),
  products=lambda x, n: tf.matmul(x, x, transpose_b=True) @ x * 0.1,
  pad=lambda x, n: tf.pad(x, [[0, 0], [n, 0]])[:, :WIDTH],
  one_hot=lambda x, n: tf.one_hot(_classes(x), WIDTH) * n,
  select=lambda x, n: tf.where(x > 0.3 * n, x, tf.reduce_sum(x)),
  branch=lambda x, n: tf.cond(
    tf.reduce_sum(x) > n, lambda: x * 2, lambda: tf.cumsum(x, 1)
  ),
  top=lambda x, n: _flat(tf.math.top_k(x, n % 4 + 1)[n % 2 * 0]),
  sort=lambda x, n: tf.sort(x, 1),
  count=lambda x, n: x / tf.cast(_size(x) + n, tf.float32),
  squares=lambda x, n: x * tf.cast(tf.range(_size(x)), tf.float32)[:, None],
  # What depends on places along the batch.
  reversed=lambda x, n: tf.gather(x, tf.range(_size(x) - 1, -1, -1)),
  reverse=lambda x, n: tf.reverse(x, [n % 2]),
  reflected=lambda x, n: tf.pad(
    x, [[0, 0], [1, 2]], ['REFLECT', 'SYMMETRIC'][n % 2]
  )[:, n % 4 : n % 4 + WIDTH],
  resize=lambda x, n: (
    tf.image.resize(x[None, :, :, None], [3, WIDTH])[0, :, :, 0]
    + tf.reduce_sum(x)
  ),
  roll=lambda x, n: tf.roll(x, n, 0),
  cumsum=lambda x, n: tf.cumsum(x, 0, reverse=n % 2 == 0),
  sorted=lambda x, n: tf.sort(x, 0),
  last=lambda x, n: x + x[-1],
  first=lambda x, n: x + x[:1],
  every_other=lambda x, n: x[:: n % 2 + 1],
  differences=lambda x, n: x[1:] - x[:-1],
  concatenate=lambda x, n: tf.concat([x, x[:1] * n], 0),
  tile=lambda x, n: tf.tile(x, [n % 2 + 1, 1]),
  repeat=lambda x, n: tf.repeat(x, n % 3 + 1, axis=0),
  mask=lambda x, n: tf.boolean_mask(x, x[:, 0] > 0.2 * n),
  unique=lambda x, n: (
    x + tf.cast(tf.reduce_sum(tf.unique(_classes(x))[n % 2]), tf.float32)
  ),
  band=lambda x, n: (
    tf.linalg.band_part(x @ tf.transpose(x), n % 2, n - 1) @ x * 0.1
  ),
  eye=lambda x, n: (tf.eye(_size(x)) + n) @ x,
  diagonal=lambda x, n: (
    x * tf.linalg.diag_part(tf.matmul(x, x, transpose_b=True))[:, None] * 0.1
  ),
  singular=lambda x, n: x + tf.reduce_sum(tf.linalg.svd(x, compute_uv=False)),
  spread=lambda x, n: x * tf.linspace(0.0, 1.0, 7)[: _size(x), None],
  argmax=lambda x, n: x + tf.cast(tf.argmax(x, 0), tf.float32),
  segments=lambda x, n: tf.math.unsorted_segment_sum(
    x, _classes(x), [WIDTH, 7][n % 2]
  ),
  scattered=lambda x, n: tf.tensor_scatter_nd_add(x, [[0]], x[:1] * n),
  picked=lambda x, n: x + tf.gather(x, _classes(x) % _size(x)),
  mapped=_mapped,
  window=lambda x, n: tf.nn.avg_pool1d(x[None], 2, 1, 'SAME')[0],
  grown=lambda x, n: tf.reshape(tf.transpose(x), [-1, WIDTH]),
  fill=lambda x, n: tf.fill([_size(x), WIDTH], 0.5 * n) + x,
  shifted=lambda x, n: tf.ones([10 - _size(x), WIDTH]) * tf.reduce_sum(x) + n,
  # What may fail.
  place=lambda x, n: x + tf.gather(x, n),
  class_out_of_range=lambda x, n: (
    x + tf.gather(_weights(6), _classes(x) + n)[:, None]
  ),
  label_out_of_range=lambda x, n: (
    x
    + tf.nn.sparse_softmax_cross_entropy_with_logits(_classes(x) + n, x)[
      :, None
    ]
  ),
  division=lambda x, n: (
    x + tf.cast(12 // (_classes(x) + n - 1), tf.float32)[:, None]
  ),
  assertion=_checked,
  checks_in_a_loop=_loop_of_checks,
)


def generate(seed: int) -> str:
  """Returns a program."""
  rng = np.random.default_rng(seed)
  names = rng.choice(list(STEPS), rng.integers(1, 5))
  steps = [f'{name}:{rng.integers(4)}' for name in names]
  return ' | '.join([*steps, *['gradient'] * int(rng.integers(2))])


def run(text: str, x: tf.Tensor) -> tf.Tensor:
  """Runs a program on rows [n, WIDTH]; returns a number."""
  names = text.split(' | ')
  has_gradient = names[-1] == 'gradient'
  steps = [name.split(':') for name in names if name != 'gradient']

  def total(x: tf.Tensor) -> tf.Tensor:
    for name, n in steps:
      x = STEPS[name](x, int(n))
      x.set_shape([None, WIDTH])
    return x

  if not has_gradient:
    return _weighted(total(x))
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = _weighted(total(x) ** 2)
  return _weighted(
    tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
  )


def _weighted(x: tf.Tensor) -> tf.Tensor:
  x = tf.reshape(x, [-1])
  return tf.reduce_sum(x * tf.cos(tf.cast(tf.range(tf.size(x)), tf.float32)))
