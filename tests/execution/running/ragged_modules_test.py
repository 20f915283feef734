# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of HLO's modules and values; ragged_axes_test has what passes."""

import math
import types

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import packed_cache
from fedfish_tff.execution.pjrt import device_client
from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.running import cohort_graph
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import hlo_modules
from fedfish_tff.execution.running import ragged_values
from fedfish_tff.execution.running import stage_runs
from tests.execution import client_computations
from tests.execution import single_stages
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
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


_NUMBERS = st.integers(-20, 20)


def _instruction(opcode, shape=(), **fields):
  shape = types.SimpleNamespace(dimensions=shape)
  return types.SimpleNamespace(opcode=opcode, shape=shape, **fields)


def _table(values, source='rows'):
  """Returns a table with a row more for the larger bound."""
  values = np.array(values, np.int64)
  return ragged_values.Table(source, values, np.append(values, values[-1:], 0))


def _tabulate(instruction, *tables):
  return ragged_values.tabulate(instruction, instruction, tables)


class RaggedValuesTest(absltest.TestCase):
  @hypothesis.given(
    st.lists(st.tuples(_NUMBERS, _NUMBERS.filter(bool)), min_size=1, max_size=6)
  )
  def test_divides_as_xla_does(self, pairs):
    found = _tabulate(_instruction('divide'), *map(_table, zip(*pairs)))
    self.assertEqual(
      found.small.tolist(), [math.trunc(a / b) for a, b in pairs]
    )

  @hypothesis.given(st.lists(_NUMBERS, min_size=2, max_size=6))
  def test_rearranges(self, numbers):
    pairs = np.stack([numbers, np.array(numbers) + 1], axis=1)
    kept = types.SimpleNamespace(start=1, limit=2, stride=1)
    cut = _tabulate(
      _instruction('slice', [1], slice_dimensions=[kept]), _table(pairs)
    )
    joined = _tabulate(
      _instruction('concatenate', [3], dimensions=[0]), _table(pairs), cut
    )
    self.assertEqual(
      joined.small.tolist(), [[n, n + 1, n + 1] for n in numbers]
    )
    less = _tabulate(
      _instruction('compare', comparison_direction='LT'),
      _table(numbers),
      _table(numbers[::-1]),
    )
    self.assertEqual(
      less.small.tolist(), [a < b for a, b in zip(numbers, numbers[::-1])]
    )

  def test_is_exact_where_the_bound_changes_nothing(self):
    self.assertTrue(_table([1, 2]).is_exact)
    other = ragged_values.Table('rows', np.arange(3), np.arange(1, 5))
    self.assertFalse(other.is_exact)
    self.assertFalse(ragged_values.Value((None,), other).is_exact)

  def test_knows_no_values_of_two_numbers_of_rows_or_of_other_operations(self):
    ours, theirs = _table([1, 2]), _table([1, 2], source='others')
    self.assertIsNone(_tabulate(_instruction('add'), ours, theirs))
    self.assertIsNone(_tabulate(_instruction('sort'), ours))
    self.assertIsNone(_tabulate(_instruction('add'), ours, None))


class HloModulesTest(accelerator.TestCase):
  def _run(self, change, function, *arrays):
    """Returns a function's result, and its changed module's instructions."""
    specs = [tf.TensorSpec(a.shape, a.dtype) for a in arrays]
    module = private_apis.compile_to_hlo(
      tf.function(function).get_concrete_function(*specs)
    )
    change(module)
    process = device_client.DeviceProcess('cpu', cache='')
    self.addCleanup(process.stop)
    device = process.device(0)
    program = device.compile(module.SerializeToString())
    results = device.run(program, device.put(arrays))
    (found,) = device.fetch(results, program.results)
    return found, [i for c in module.computations for i in c.instructions]

  def test_gradient_of_a_kernel(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 7, 5, 2)).astype(np.float32)
    upstream = rng.normal(size=(3, 3, 2, 4)).astype(np.float32)

    def gradient(x, upstream):
      return tf.raw_ops.Conv2DBackpropFilter(
        input=x,
        filter_sizes=[3, 3, 2, 4],
        out_backprop=upstream,
        strides=[1, 2, 2, 1],
        padding='VALID',
      )

    found, instructions = self._run(
      hlo_modules.order_convolutions, gradient, x, upstream
    )
    (axes,) = [
      i.convolution_dimension_numbers
      for i in instructions
      if i.opcode == 'convolution'
    ]
    self.assertEqual(
      (axes.input_batch_dimension, axes.input_feature_dimension), (0, 3)
    )
    expected = np.zeros([3, 3, 2, 4])
    for row in range(3):
      for column in range(3):
        seen = x[:, row : row + 5 : 2, column : column + 3 : 2]
        expected[row, column] = np.einsum('bhwi,bhwo->io', seen, upstream)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

  def test_gradient_of_pooling_for_some_rows(self):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 7, 6, 2)).astype(np.float32)
    num_rows = 3

    def gradient(x, num_rows):
      x = x[:num_rows]
      pooled = tf.nn.max_pool2d(x, 3, 2, 'VALID')
      (gradient,) = tf.gradients(pooled**2, x)
      # Rows beyond the batch would be counted if its size were lost.
      return tf.reduce_sum(gradient, axis=0)

    found, instructions = self._run(
      hlo_modules.fix_pooling, gradient, x, np.int32(num_rows)
    )
    (scatter,) = [i for i in instructions if i.opcode == 'select-and-scatter']
    self.assertFalse(any(scatter.shape.is_dynamic_dimension))
    expected = np.zeros_like(x)
    for i, j in np.ndindex(3, 2):
      place = np.s_[:num_rows, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
      largest = x[place].max(axis=(1, 2), keepdims=True)
      expected[place] += 2 * largest * (x[place] == largest)
    np.testing.assert_allclose(found, expected.sum(axis=0), rtol=1e-5)
