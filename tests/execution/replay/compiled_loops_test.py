# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of loops over batches that XLA compiles: right, or refused."""

import collections
import contextlib
import functools
import re
from unittest import mock

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import datasets
from fedfish_tff import loop_compilation
from fedfish_tff import models
from fedfish_tff import parameters
from fedfish_tff.execution import contexts
from fedfish_tff.execution.ray import stage_actor
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import sequence_arrays
from fedfish_tff.execution.running import cohort_stages
from tests import tolerance
from tests.execution import client_computations
from tests.execution.fuzzing import ragged
from tests.execution.pjrt import accelerator

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_ROWS = tff.SequenceType(tff.TensorType(np.float32, [None, ragged.WIDTH]))
_OPTIMIZERS = {
  'sgd': lambda: tff.learning.optimizers.build_sgdm(0.1),
  'momentum': lambda: tff.learning.optimizers.build_sgdm(0.1, 0.9),
  'adam': lambda: tff.learning.optimizers.build_adam(0.01),
}


def _client(rng, size, *, features, classes, batch_size, epochs=1):
  x = rng.normal(size=(size, features)).astype(np.float32)
  y = rng.integers(0, classes, size).astype(np.int32)
  return datasets.sequential_batches(
    (np.tile(x, (epochs, 1)), np.tile(y, epochs)),
    client_id=str(size),
    batch_size=batch_size,
  )


def _batches_of_rows(draw):
  """Returns three clients' batches of up to 4 drawn rows."""
  return [
    datasets.sequential_batches(
      draw([n, ragged.WIDTH]).astype(np.float32), client_id=str(n), batch_size=4
    )
    for n in (9, 3, 6)
  ]


class LoopTestCase(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    compiled_loops.log_refusal.cache_clear()
    self.context = contexts.create_context()
    self.enter_context(tff.framework.get_context_stack().install(self.context))
    self.compiled = self.enter_context(
      mock.patch.object(compiled_loops, 'call', side_effect=compiled_loops.call)
    )

  def round_of(self, model, optimizer, clients, *, rounds=1):
    """Returns the result of rounds of FedAvg from the model's weights."""
    process = algorithms.build_fed_avg(
      model, optimizer, tff.learning.optimizers.build_sgdm(1.0)
    )
    state = process.initialize()
    for _ in range(rounds):
      output = process.next(state, clients)
      state = output.state
    return output

  def assert_rounds_equal(self, actual, expected):
    self.assert_values_equal(
      actual.state.global_model_weights, expected.state.global_model_weights
    )
    one, other = (dict(_flat(output.metrics)) for output in (actual, expected))
    self.assertEqual(one.keys(), other.keys())
    for name, value in other.items():
      np.testing.assert_allclose(one[name], value, 1e-5, err_msg=name)

  def assert_values_equal(self, actual, expected):
    for one, other in zip(
      tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True
    ):
      tolerance.assert_close(one, other, relative=tolerance.FLOAT32_SUMS)


def _flat(nest, name=''):
  if hasattr(nest, 'items'):
    for key, value in nest.items():
      yield from _flat(value, f'{name}/{key}')
  else:
    for number, value in enumerate(tf.nest.flatten(nest)):
      yield f'{name}/{number}', np.asarray(value)


class TrainingTest(LoopTestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if not accelerator.COMPARES_BOUNDS:
      raise absltest.SkipTest('this TensorFlow compiles no loop')

  @hypothesis.settings(max_examples=6, deadline=None)
  @hypothesis.given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    batch_size=st.integers(1, 5),
    hidden=st.lists(st.integers(1, 6), max_size=2),
    features=st.integers(1, 5),
    epochs=st.integers(1, 3),
    optimizer=st.sampled_from(sorted(_OPTIMIZERS)),
    seed=st.integers(0, 9),
  )
  @pytest.mark.slow
  def test_rounds(
    self, sizes, batch_size, hidden, features, epochs, optimizer, seed
  ):
    rng = np.random.default_rng(seed)
    clients = [
      _client(
        rng,
        n,
        features=features,
        classes=3,
        batch_size=batch_size,
        epochs=epochs,
      )
      for n in sizes
    ]
    model = models.create_mlp_classifier(
      num_features=features, num_classes=3, hidden_units=hidden, seed=seed
    )
    optimizer = _OPTIMIZERS[optimizer]()
    before = self.compiled.call_count
    actual = self.round_of(model, client_work.compile_loops(optimizer), clients)
    self.assertGreater(self.compiled.call_count, before)
    self.assert_rounds_equal(actual, self.round_of(model, optimizer, clients))

  def _model(self):
    return models.create_mlp_classifier(
      num_features=4, num_classes=3, hidden_units=(5,), seed=0
    )

  def _clients(self, sizes=(7, 0, 3, 12)):
    rng = np.random.default_rng(0)
    return [_client(rng, n, features=4, classes=3, batch_size=4) for n in sizes]

  @pytest.mark.slow
  def test_a_keras_model(self):
    def create():
      layers = tf.keras.layers
      initializer = tf.keras.initializers.GlorotUniform(seed=1)
      return tff.learning.models.from_keras_model(
        tf.keras.Sequential(
          [
            layers.InputLayer((4,)),
            layers.Dense(5, 'relu', kernel_initializer=initializer),
            layers.Dense(3, kernel_initializer=initializer),
          ]
        ),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        input_spec=(
          tf.TensorSpec([None, 4], tf.float32),
          tf.TensorSpec([None], tf.int32),
        ),
      )

    optimizer = _OPTIMIZERS['momentum']()
    actual = self.round_of(
      create, client_work.compile_loops(optimizer), self._clients()
    )
    self.assertTrue(self.compiled.called)
    self.assert_rounds_equal(
      actual, self.round_of(create, optimizer, self._clients())
    )

  def _both(self, optimizer, run):
    """Compares the results of two rounds with compiled loops and without.

    Args:
      optimizer: The clients' optimizer.
      run: A function from an optimizer to the result.

    Returns:
      The number of compiled loops.
    """
    actual = run(client_work.compile_loops(optimizer))
    number = self.compiled.call_count
    expected = run(optimizer)
    self.assertEqual(self.compiled.call_count, number)
    self.assert_values_equal(actual, expected)
    return number

  @pytest.mark.slow
  def test_client_states(self):
    def run(optimizer):
      process = algorithms.build_scaffold(
        self._model(), optimizer, num_clients=4
      )
      state = process.initialize()
      own = [process.initialize_client(state)] * 4
      for _ in range(2):
        state, own, _ = process.next(state, own, self._clients())
      return process.get_model_weights(state), own

    self.assertGreater(self._both(_OPTIMIZERS['sgd'](), run), 0)

  @pytest.mark.slow
  def test_the_second_pass_of_fed_fish(self):
    def run(optimizer):
      process = algorithms.build_fed_fish(self._model(), optimizer)
      state = process.initialize()
      for _ in range(2):
        state = process.next(state, self._clients()).state
      return process.get_model_weights(state)

    self.assertGreater(self._both(_OPTIMIZERS['sgd'](), run), 1)

  @parameterized.parameters('rate', 'factor')
  @pytest.mark.slow
  def test_a_replaced_learning_rate(self, name):
    def run(optimizer):
      process = algorithms.build_fed_avg(
        self._model(), optimizer, tff.learning.optimizers.build_sgdm(1.0)
      )
      state = process.initialize()
      results = [process.next(state, self._clients()).state]
      for value in (0.5, 0.25):
        with parameters.replaced({name: value}):
          results.append(process.next(state, self._clients()).state)
      weights = list(map(process.get_model_weights, results))
      for other in weights[1:]:
        self.assertFalse(
          np.allclose(weights[0].trainable[0], other.trainable[0])
        )
      return weights

    optimizer = client_work.build_rate_parameter_optimizer(
      _OPTIMIZERS['sgd'](), 'rate', factor_name='factor'
    )
    self.assertEqual(self._both(optimizer, run), 1)

  def test_a_diverged_client_is_counted_as_without(self):
    clients = self._clients()
    clients[2].examples[0][0] = np.inf
    optimizer = _OPTIMIZERS['sgd']()
    actual, expected = (
      self.round_of(self._model(), each, clients)
      for each in (client_work.compile_loops(optimizer), optimizer)
    )
    self.assertTrue(self.compiled.called)
    self.assert_rounds_equal(actual, expected)
    self.assertIn(1, list(map(float, dict(_flat(actual.metrics)).values())))

  def test_errors_are_those_of_the_client(self):
    clients = self._clients()
    clients[3].examples[1][5] = 7
    optimizer = _OPTIMIZERS['sgd']()
    found = []
    for each in (client_work.compile_loops(optimizer), optimizer):
      with self.assertRaises(Exception) as raised:
        self.round_of(self._model(), each, clients)
      message = re.sub(r'graph_[0-9_]+', 'graph', str(raised.exception))
      found.append((type(raised.exception), message))
    self.assertTrue(self.compiled.called)
    self.assertEqual(found[0], found[1])
    self.assertIn('Client 4 of 4', found[0][1])

  @pytest.mark.thorough
  def test_rounds_repeat_bit_for_bit_in_any_context(self):
    # Later rounds of a resumed run begin with another cohort.
    optimizer = client_work.compile_loops(_OPTIMIZERS['momentum']())
    clients = self._clients()
    first = self.round_of(self._model(), optimizer, clients)
    with tff.framework.get_context_stack().install(contexts.create_context()):
      self.round_of(self._model(), optimizer, self._clients((30, 41, 5)))
      second = self.round_of(self._model(), optimizer, clients)
    for one, other in zip(
      tf.nest.flatten(first.state), tf.nest.flatten(second.state), strict=True
    ):
      np.testing.assert_array_equal(one, other)

  @pytest.mark.thorough
  def test_bits_do_not_depend_on_the_clients_computed_together(self):
    # No client of a whole batch, and such clients alone.
    for sizes, chunks in (
      ((1, 3, 2), (2,)),
      ((3, 9, 21, 0, 40, 1, 64), (1, 3)),
    ):
      rng = np.random.default_rng(0)
      clients = [
        _client(rng, n, features=64, classes=10, batch_size=20) for n in sizes
      ]
      model = models.create_mlp_classifier(
        num_features=64, num_classes=10, hidden_units=(32,), seed=0
      )
      optimizer = client_work.compile_loops(_OPTIMIZERS['adam']())
      with self.assertNoLogs(level='WARNING'):
        whole = self.round_of(model, optimizer, clients)
      for most in chunks:
        before = self.compiled.call_count
        with (
          mock.patch.object(cohort_stages, '_CHUNK_CLIENTS', most),
          mock.patch.object(sequence_arrays, '_LEAST_BYTES', 1),
          tff.framework.get_context_stack().install(contexts.create_context()),
          self.assertNoLogs(level='WARNING'),
        ):
          parts = self.round_of(model, optimizer, clients)
        self.assertGreater(self.compiled.call_count, before)
        for one, other in zip(
          tf.nest.flatten(whole.state),
          tf.nest.flatten(parts.state),
          strict=True,
        ):
          np.testing.assert_array_equal(one, other)


class RefusalTest(LoopTestCase):
  def _rows(self):
    rng = np.random.default_rng(0)
    return _batches_of_rows(lambda shape: rng.normal(size=shape))

  def _sum(self, step, rows, *, is_marked=True, weights=4):
    """Returns the sum of clients' matrices, each a loop over batches of rows."""

    def work(batches):
      def run(matrix, x):
        with loop_compilation.mark() if is_marked else contextlib.nullcontext():
          return matrix + step(x, matrix)

      return batches.reduce(tf.zeros([weights, weights]), run)

    comp = client_computations.sum_of_clients(work, _ROWS)
    return comp(rows)

  @parameterized.named_parameters(
    ('last_row', lambda x, w: tf.matmul(x[-1:, :4], w), 'StridedSlice|Slice'),
    (
      'stateful_random_numbers',
      lambda x, w: tf.matmul(tf.random.normal([4, 4]), w) * 0,
      'RandomStandardNormal',
    ),
    ('no_dense_layer', lambda x, w: w + tf.reduce_sum(x), 'without dense'),
    (
      'a_loop',
      lambda x, w: tf.while_loop(
        lambda i, _: i < 2, lambda i, w: (i + 1, tf.matmul(w, w)), (0, w)
      )[1],
      'While',
    ),
  )
  def test_what_is_refused(self, step, reason):
    with self.assertLogs(level='WARNING') as logs:
      actual = self._sum(step, self._rows())
    self.assertRegex(
      '\n'.join(logs.output), f'XLA does not compile a loop .*({reason})'
    )
    expected = self._sum(step, self._rows(), is_marked=False)
    np.testing.assert_array_equal(actual, expected)
    self.assertEmpty(self.context.runner.general_path_reasons)

  @parameterized.named_parameters(
    ('lists', lambda clients: list(map(list, clients))),
    (
      'several_sizes',
      lambda clients: [
        *clients[1:],
        datasets.sequential_batches(
          clients[0].examples, client_id='', batch_size=2
        ),
      ],
    ),
    (
      'large_size',
      lambda clients: [
        datasets.sequential_batches(
          client.examples, client_id='', batch_size=10**9
        )
        for client in clients
      ],
    ),
  )
  def test_data_without_a_common_batch_size_are_refused(self, change):
    clients = change(self._rows())

    def step(x, w):
      del w
      return tf.matmul(x[:, :4], x[:, :4], transpose_a=True)

    with self.assertLogs(level='WARNING') as logs:
      actual = self._sum(step, clients)
    self.assertIn('data without a batch size', '\n'.join(logs.output))
    np.testing.assert_array_equal(
      actual, self._sum(step, clients, is_marked=False)
    )
    self.assertEmpty(self.context.runner.general_path_reasons)

  def test_strings_are_refused(self):
    def work(is_marked, batches):
      def run(total, x):
        with loop_compilation.mark() if is_marked else contextlib.nullcontext():
          words = tf.strings.length(x['words'])[:, tf.newaxis]
          rows = tf.cast(words, tf.float32) * x['rows']
          return total + tf.matmul(rows, rows, transpose_a=True)

      return batches.reduce(tf.zeros([2, 2]), run)

    element = collections.OrderedDict(
      rows=tff.TensorType(np.float32, [None, 2]),
      words=tff.TensorType(np.str_, [None]),
    )
    clients = [
      datasets.sequential_batches(
        collections.OrderedDict(
          rows=np.ones([n, 2], np.float32), words=np.array(['a', 'bc', 'd'][:n])
        ),
        client_id=str(n),
        batch_size=2,
      )
      for n in (1, 3)
    ]
    with self.assertLogs(level='WARNING') as logs:
      actual, expected = (
        client_computations.sum_of_clients(
          functools.partial(work, is_marked), tff.SequenceType(element)
        )(clients)
        for is_marked in (True, False)
      )
    self.assertIn('strings', '\n'.join(logs.output))
    np.testing.assert_array_equal(actual, expected)
    self.assertEmpty(self.context.runner.general_path_reasons)

  def test_gpus_are_refused(self):
    def work(batches):
      with loop_compilation.mark():
        return batches.reduce(tf.zeros([4, 4]), lambda w, x: tf.matmul(w, w))

    plan = federated_plan.compile_plan(
      client_computations.sum_of_clients(work, _ROWS)
    )
    (stage,) = stage_actor.stages_of(plan)
    runner = cohort_stages.CohortStageRunner(parallelism=1, devices=['GPU:0'])
    with self.assertLogs(level='WARNING') as logs:
      graph = runner.create_graph(stage, use_xla=False, compiles_loops=True)
    self.assertIn('GPUs', '\n'.join(logs.output))
    self.assertFalse(graph.compiles_loops)

  def test_many_weights_are_refused(self):
    with self.assertLogs(level='WARNING') as logs:
      self._sum(lambda x, w: tf.matmul(w, w), self._rows(), weights=250)
    self.assertIn('62,501 numbers', '\n'.join(logs.output))
    self.assertFalse(self.compiled.called)

  def test_sums_of_numbers_are_not_compiled(self):
    def work(batches):
      def run(total, x):
        with loop_compilation.mark():
          return total + tf.reduce_sum(tf.matmul(x, x, transpose_b=True))

      return batches.reduce(0.0, run)

    client_computations.sum_of_clients(work, _ROWS)(self._rows())
    self.assertFalse(self.compiled.called)


class FuzzTest(LoopTestCase):
  @parameterized.parameters(*range(60))
  @pytest.mark.slow
  def test_program(self, seed):
    text = ragged.generate(seed)
    rng = np.random.default_rng(0)
    data = _batches_of_rows(lambda shape: rng.uniform(-1, 2, shape))

    def work(is_marked, batches):
      def run(total, x):
        with loop_compilation.mark() if is_marked else contextlib.nullcontext():
          # A dense layer, so that the loop is worth compiling.
          total = total + ragged.run(text, x) + 0 * tf.matmul(total, total)
        return total

      return batches.reduce(tf.zeros([1, 1]), run)

    results = []
    for is_marked in (True, False):
      comp = client_computations.sum_of_clients(
        functools.partial(work, is_marked), _ROWS
      )
      try:
        results.append(np.float32(comp(data)))
      except tf.errors.OpError as error:
        # An operation may name any of several bad values.
        client = re.match('Client [0-9] of 3', str(error))
        results.append((type(error).__name__, client and client[0]))
    actual, expected = results
    if isinstance(actual, tuple) or isinstance(expected, tuple):
      self.assertEqual(str(actual), str(expected), text)
    else:
      scale = max(1.0, float(np.nanmax(np.abs(expected), initial=0)))
      np.testing.assert_allclose(
        actual, expected, 1e-3, 1e-3 * scale, err_msg=text
      )
