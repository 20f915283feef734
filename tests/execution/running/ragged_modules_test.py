# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for ragged_modules; ragged_axes_test has what it passes."""

from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs
from tests.execution import client_computations
from tests.execution import single_stages

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, 3]))


def _gradient(function, x):
  with tf.GradientTape() as tape:
    tape.watch(x)
    y = function(x)
  return tape.gradient(y, x)


def _compile(function, *sizes):
  """Makes a program of sums of a function of batches of some sizes."""
  stage = single_stages.stage_of(
    client_computations.sum_of_clients(
      lambda data: data.reduce(
        0.0, lambda a, x: a + tf.reduce_sum(tf.cast(function(x), tf.float32))
      ),
      _ROWS,
    )
  )
  graph = cohort_graph.StageGraph(stage, parallelism=1, use_xla=True)
  (data,) = stage.client_inputs
  (aggregate,) = stage.aggregates
  batches = [np.ones([n, 3], np.float32) for n in sizes]
  (inputs,) = cohort_stages.GraphRun(
    graph,
    packed_cache.PackedSequenceCache(),
    {aggregate.zero: tf.zeros([])},
    stage_runs.Clients({data: [batches]}, range(1), 1),
  ).chunks()
  graph.to_hlo(inputs)


class RaggedModulesTest(parameterized.TestCase):
  @parameterized.parameters(
    # A kernel counts from the bound.
    (lambda x: x[-1], 'StridedSlice'),
    (lambda x: x[..., -2:, :], 'StridedSlice'),
    (lambda x: tf.range(tf.shape(x)[0] - 1, -1, -1), 'Range'),
    (lambda x: tf.image.resize(x[..., tf.newaxis], [2, 2])[0], 'Resize'),
    (
      lambda x: tf.raw_ops.FusedBatchNorm(
        x=x[:, tf.newaxis, tf.newaxis],
        scale=tf.ones([3]),
        offset=tf.zeros([3]),
        mean=[],
        variance=[],
      )[2],
      'FusedBatchNorm',
    ),
    # Values beyond the size would be combined with others.
    (lambda x: tf.roll(x, 1, 0), 'Concat|Slice|Roll'),
    (tf.cumsum, 'Cumsum'),
    (lambda x: tf.sort(x, 0), 'TopK|Sort|Transpose'),
    (lambda x: tf.argmax(x, 0), 'ArgMax'),
    (lambda x: tf.unique(tf.argmax(x, 1))[0], 'Unique'),
    (lambda x: tf.reverse(x, [0]), 'Reverse'),
    (lambda x: tf.pad(x, [[0, 0], [1, 1]], 'SYMMETRIC'), 'MirrorPad'),
    (lambda x: tf.linalg.svd(x, compute_uv=False), 'Svd|dot'),
    (lambda x: tf.linalg.band_part(x @ tf.transpose(x), 0, -1), 'BandPart'),
    (lambda x: tf.eye(tf.shape(x)[0]), 'Fill|Diag'),
    (lambda x: tf.linalg.diag_part(x @ tf.transpose(x)), 'DiagPart'),
    (lambda x: tf.nn.max_pool1d(x[tf.newaxis], 2, 1, 'SAME'), 'MaxPool'),
    (lambda x: _gradient(lambda y: tf.concat([y, 2 * y], 0), x), 'Concat'),
    (lambda x: tf.reshape(tf.transpose(x), [-1]), 'Reshape'),
  )
  def test_ragged_batches(self, function, reason):
    with self.assertRaisesRegex(
      serialized_graph.NotReplayableError, f'{reason}.*fewer rows than others'
    ):
      _compile(function, 4, 3)
    # Without a batch of fewer rows there is nothing to get wrong.
    if reason != 'Svd|dot':
      _compile(function, 3, 3)
