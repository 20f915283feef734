# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ragged_axes: each listed use on a device and in this process."""

from unittest import mock

from fedfish_tff.execution import contexts
from fedfish_tff.execution.running import ragged_axes
from tests.execution import client_computations
from tests.execution.pjrt import accelerator

from absl.testing import absltest
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, 6]))


def _gradient(function, x):
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = function(x)
  return tf.convert_to_tensor(tape.gradient(y, x))


def _images(x):
  return tf.reshape(x, [-1, 3, 2, 1])


def _integers(x):
  return tf.cast(x * 10, tf.int32)


def _norm(x, is_training=True):
  return tf.raw_ops.FusedBatchNormV3(
    x=tf.reshape(x, [-1, 1, 3, 2]),
    scale=tf.constant([1.0, 2.0]),
    offset=tf.constant([0.5, 0.1]),
    mean=tf.constant([0.2, 0.3]),
    variance=tf.constant([1.5, 1.1]),
    is_training=is_training,
    exponential_avg_factor=0.5,
  )


def _normalized(x):
  return [*_norm(x)[:3], _norm(x, is_training=False)[0]]


def _recurrent(x):
  """Returns a state after three steps."""
  parts = tf.reshape(x, [-1, 3, 2])
  _, state = tf.while_loop(
    lambda i, _: i < 3,
    lambda i, state: (i + 1, tf.tanh(state + parts[:, i])),
    (0, tf.zeros([tf.shape(x)[0], 2])),
  )
  return state


_LISTED = dict(
  floats=lambda x: [
    f(x)
    for f in (
      *(tf.abs, tf.math.ceil, tf.cos, tf.exp, tf.math.expm1, tf.floor),
      *(tf.sigmoid, tf.negative, tf.round, tf.sign, tf.sin, tf.tan, tf.tanh),
      *(tf.math.erf, tf.math.log1p, tf.nn.softplus, tf.nn.gelu, tf.nn.relu6),
      lambda x: (
        tf.math.log(tf.abs(x)) + tf.sqrt(tf.abs(x)) * tf.math.rsqrt(x**2)
      ),
      lambda x: tf.math.atan2(x, 1 - x) / (2 - x) % 0.3,
      lambda x: (
        tf.maximum(x, tf.minimum(1 - x, 0.1)) * tf.clip_by_value(x, 0, 1)
      ),
      lambda x: tf.where((x > 0) & ~(x > 1) | tf.math.is_finite(x), x, 2 * x),
      lambda x: (
        tf.abs(tf.complex(x, 1.0)) * tf.math.real(tf.complex(x, x))
        + tf.math.imag(tf.complex(x, x))
      ),
    )
  ],
  integers=lambda x: [
    f(_integers(x))
    for f in (
      lambda i: tf.bitwise.bitwise_xor(i, 5) + tf.bitwise.invert(i),
      lambda i: tf.bitwise.left_shift(i, 2) + tf.bitwise.right_shift(i, 1),
      lambda i: tf.bitwise.right_shift(tf.cast(i, tf.uint32), 1),
      lambda i: tf.raw_ops.PopulationCount(x=i),
      lambda i: tf.bitcast(i, tf.uint32) // 3 + tf.bitcast(i, tf.uint32) % 5,
      lambda i: tf.bitwise.bitwise_and(i, 6) | tf.bitwise.bitwise_or(i, 1),
    )
  ],
  moved=lambda x: [
    tf.transpose(x)[:2] @ x,
    x + tf.range(6.0),
    x * tf.cast(tf.range(tf.shape(x)[0]), tf.float32)[:, tf.newaxis],
    tf.ones([tf.shape(x)[0], 2]),
    tf.reshape(x, [-1]),
    tf.reshape(x, [-1, 2]),
    tf.reshape(tf.reshape(x, [-1]), [-1, 6]),
    tf.reshape(x, [tf.shape(x)[0], 2, 3]),
    x[:, 1::2],
    x[..., -1],
    tf.concat([x, x**2], 1),
    _gradient(lambda y: tf.concat([y, y**2], 1), x),
    tf.pad(x, [[0, 0], [1, 2]], constant_values=1.0),
    tf.reverse(x, [1]),
    tf.roll(x, 1, 1),
    tf.sort(x, 1),
    *tf.math.top_k(x, 3),
    tf.argmax(x, 1),
    tf.one_hot(tf.argmax(x, 1), 6),
    tf.linalg.set_diag(x @ tf.transpose(x), x[:, 0]) @ x,
  ],
  combined=lambda x: [
    tf.reduce_mean(x, 0),
    tf.reduce_max(x, 0),
    tf.reduce_min(x),
    tf.reduce_prod(x, 0),
    tf.reduce_any(x > 1, 0),
    tf.reduce_all(x > 0, 0),
    tf.math.reduce_variance(x, 1),
    tf.math.reduce_std(x, 0),
    tf.nn.softmax(x, 0),
    tf.cumsum(x, 1),
    x @ tf.reshape(tf.range(12.0), [6, 2]),
    (x @ tf.transpose(x)) @ x,
    tf.einsum('ni,nj->ij', x, x**2),
    tf.einsum('ni,nj->nij', x, x),
    tf.matmul(tf.reshape(x, [-1, 3, 2]), tf.reshape(x, [-1, 2, 3])),
    tf.nn.sparse_softmax_cross_entropy_with_logits(tf.argmax(x, 1), 2 * x),
    _gradient(lambda y: tf.reduce_mean(tf.nn.relu(y) ** 2, 0), x),
  ],
  looked_up=lambda x: [
    tf.gather(tf.range(12.0) ** 2, tf.argmax(x, 1)),
    tf.gather(x, [0, 0]),
    tf.gather(x, tf.argmax(x, 1), batch_dims=1),
    _gradient(lambda e: tf.gather(e, tf.argmax(x, 1)) * x, tf.ones([9, 6])),
    _gradient(lambda y: tf.gather(y, [0, 0]) ** 2, x),
    tf.tensor_scatter_nd_add(
      tf.zeros([6]), tf.argmax(x, 1)[:, tf.newaxis], x[:, 0]
    ),
  ],
  windows=lambda x: [
    tf.nn.max_pool2d(_images(x), 2, 1, 'SAME'),
    tf.nn.avg_pool2d(_images(x), [2, 1], 1, 'VALID'),
    _gradient(lambda y: tf.nn.max_pool2d(_images(y), 2, 1, 'VALID') ** 2, x),
    tf.nn.conv2d(_images(x), tf.ones([2, 2, 1, 3]), 1, 'SAME'),
    tf.nn.conv2d(_images(x), tf.ones([2, 1, 1, 3]), 1, 'SAME', dilations=2),
    _gradient(
      lambda y: tf.nn.conv2d(_images(y), tf.ones([2, 2, 1, 3]), 1, 'SAME') ** 2,
      x,
    ),
    _gradient(
      lambda k: tf.nn.conv2d(_images(x), k, 1, 'VALID') ** 2,
      tf.ones([2, 2, 1, 3]),
    ),
    _gradient(
      lambda k: (
        tf.nn.depthwise_conv2d(
          tf.reshape(x, [-1, 3, 1, 2]), k, [1] * 4, 'VALID'
        )
        ** 2
      ),
      tf.ones([2, 1, 2, 1]),
    ),
  ],
  normalized=lambda x: [*_normalized(x), _gradient(_normalized, x)],
  loops=lambda x: [
    _recurrent(x),
    tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x * 2),
  ],
)


@pytest.mark.thorough
class RaggedAxesTest(accelerator.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.devices = contexts.create_context(
      'pjrt', platform=accelerator.PLATFORM, cache=''
    )
    cls.here = contexts.create_context()
    rng = np.random.default_rng(0)
    cls.data = [
      [rng.uniform(-1, 2, [n, 6]).astype(np.float32) for n in sizes]
      for sizes in ([4, 4, 1], [3], [4], [2])
    ]

  def _run(self, context, function):
    """Returns the clients' sums of the function's results, by place."""

    def weighted(y):
      y = tf.cast(tf.reshape(y, [-1]), tf.float32)
      places = tf.cast(tf.range(tf.size(y)), tf.float32)
      return tf.reduce_sum(y * tf.cos(places))

    def work(batches):
      zeros = tf.zeros([len(function(tf.ones([2, 6])))])
      return batches.reduce(
        zeros, lambda a, x: a + tf.stack(list(map(weighted, function(x))))
      )

    comp = client_computations.at_clients(work, _ROWS)
    with tff.framework.get_context_stack().install(context):
      return np.stack(comp(self.data))

  @absltest.skipUnless(accelerator.COMPARES_BOUNDS, 'TensorFlow 2.14')
  def test_each_use(self):
    used = set()

    def note(opcode, rule):
      def run(instruction):
        axes = rule(instruction)
        if any(value.is_ragged for value in instruction.taken):
          used.add(opcode)
        return axes

      return run

    noting = {o: note(o, rule) for o, rule in ragged_axes.AXES.items()}
    with mock.patch.dict(ragged_axes.AXES, noting):
      for name, function in _LISTED.items():
        with self.subTest(name):
          with self.assertNoLogs(level='WARNING'):
            found = self._run(self.devices, function)
          expected = self._run(self.here, function)
          np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    # These make a ragged axis of none.
    made = {'constant', 'iota', 'set-dimension-size'}
    self.assertEqual(used | made, set(ragged_axes.AXES))
