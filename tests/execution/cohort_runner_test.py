# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_runner."""

import asyncio
import collections
import contextlib
import functools
import gc
import threading

from fedfish_tff.execution import contexts
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import cohort_graph
from tests import processes
from tests.execution import client_computations
from tests.execution import two_contexts

from absl.testing import parameterized
import grpc
import hypothesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
import numpy as np
import psutil
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)
_SERVER_FLOAT = tff.FederatedType(np.float32, tff.SERVER)
_VECTOR = tff.TensorType(np.float64, [3])


@tff.federated_computation(
  tff.FederatedType(_VECTOR, tff.CLIENTS),
  tff.FederatedType(np.float64, tff.CLIENTS),
)
def _statistics(vectors, weights):
  return collections.OrderedDict(
    sum=tff.federated_sum(vectors),
    mean=tff.federated_mean(vectors),
    weighted_mean=tff.federated_mean(vectors, weights),
    min=tff.federated_min(vectors),
    max=tff.federated_max(vectors),
  )


@tff.federated_computation(_CLIENT_INTS)
def _sum(values):
  return tff.federated_sum(values)


@tff.tensorflow.computation(np.int32)
def _check_small(x):
  check = tf.debugging.assert_less(x, 3, message='The client is too large')
  with tf.control_dependencies([check]):
    return tf.identity(x)


class _CohortContextTestCase(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    default = tff.framework.get_context_stack().current
    self.addCleanup(tff.framework.set_default_context, default)
    contexts.set_default_context()


class IntrinsicsTest(_CohortContextTestCase):
  @hypothesis.given(
    np_st.arrays(
      np.float64,
      st.tuples(st.integers(1, 6), st.just(3)),
      elements=st.floats(-1e6, 1e6),
    ),
    st.data(),
  )
  @hypothesis.settings(max_examples=25, deadline=None)
  def test_against_numpy(self, vectors, data):
    weights = data.draw(
      np_st.arrays(np.float64, len(vectors), elements=st.floats(0.5, 4.0))
    )
    result = _statistics(list(vectors), list(weights))
    expected = dict(
      sum=vectors.sum(axis=0),
      mean=vectors.mean(axis=0),
      weighted_mean=np.average(vectors, axis=0, weights=weights),
      min=vectors.min(axis=0),
      max=vectors.max(axis=0),
    )
    self.assertIs(type(result), collections.OrderedDict)
    self.assertEqual(list(result), list(expected))
    for name, value in expected.items():
      np.testing.assert_allclose(
        result[name], value, rtol=1e-12, atol=1e-9, err_msg=name
      )

  def test_secure_sums(self):
    @tff.federated_computation(_CLIENT_INTS)
    def comp(values):
      return (
        tff.federated_secure_sum(values, 100),
        tff.federated_secure_sum_bitwidth(values, 7),
        tff.backends.mapreduce.federated_secure_modular_sum(values, 16),
      )

    self.assertEqual(comp([3, 20, 100]), (123, 123, 123 % 16))
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, '(?s)Client 2 of 2: .*larger than maximum'
    ):
      comp([3, 128])

  @parameterized.named_parameters(
    ('plain', tff.federated_select), ('secure', tff.federated_secure_select)
  )
  def test_select(self, select):
    @tff.federated_computation(
      tff.FederatedType(tff.TensorType(np.int32, [2]), tff.CLIENTS),
      tff.FederatedType(tff.TensorType(np.float32, [3]), tff.SERVER),
    )
    def comp(keys, table):
      take = tff.tensorflow.computation(
        lambda t, k: tf.gather(t, k),
        (tff.TensorType(np.float32, [3]), np.int32),
      )
      total = tff.tensorflow.computation(
        lambda slices: slices.reduce(0.0, lambda a, b: a + b),
        tff.SequenceType(np.float32),
      )
      max_key = tff.federated_value(3, tff.SERVER)
      slices = select(keys, max_key, table, take)
      return slices, tff.federated_map(total, slices)

    slices, totals = comp(
      [np.array([0, 2], np.int32), np.array([1, 1], np.int32)],
      np.array([1, 10, 100], np.float32),
    )
    self.assertEqual(
      [list(s.as_numpy_iterator()) for s in slices],
      [[1.0, 100.0], [10.0, 10.0]],
    )
    self.assertEqual(totals, [101.0, 20.0])

  def test_values_and_evaluations(self):
    @tff.federated_computation(_SERVER_FLOAT)
    def comp(x):
      two = tff.tensorflow.computation(lambda: 2.0)
      return (
        tff.federated_broadcast(x),
        tff.federated_value(3.0, tff.CLIENTS),
        tff.federated_value(4.0, tff.SERVER),
        tff.federated_eval(two, tff.CLIENTS),
        tff.federated_eval(two, tff.SERVER),
        5,
      )

    contexts.set_default_context(default_num_clients=3)
    self.assertEqual(comp(1.0), (1.0, 3.0, 4.0, [2.0, 2.0, 2.0], 2.0, 5))

  def test_each_client_draws_its_own_random_value(self):
    draw = tff.tensorflow.computation(lambda: tf.random.uniform([]))

    @tff.federated_computation(_SERVER_FLOAT)
    def comp(x):
      mapped = tff.federated_map(
        tff.tensorflow.computation(
          lambda x: x + tf.random.uniform([]), np.float32
        ),
        tff.federated_broadcast(x),
      )
      return tff.federated_eval(draw, tff.CLIENTS), mapped

    contexts.set_default_context(default_num_clients=5)
    evaluated, mapped = comp(1.0)
    self.assertLen({*evaluated, *mapped}, 10)

  def test_results_in_their_containers(self):
    point_type = collections.namedtuple('Point', 'x y')

    @tff.federated_computation(_CLIENT_INTS, _SERVER_FLOAT)
    def comp(values, x):
      zipped = tff.federated_zip(collections.OrderedDict(b=values, a=values))
      return point_type(x=[zipped, ()], y=x)

    result = comp([1, 2], 0.5)
    self.assertIsInstance(result, point_type)
    self.assertEqual(result.y, 0.5)
    self.assertIsInstance(result.x, list)
    self.assertEqual(
      result.x[0],
      [collections.OrderedDict(b=i, a=i) for i in (1, 2)],
    )
    self.assertEqual(list(result.x[0][0]), ['b', 'a'])

  def test_strings_that_end_in_nul_bytes(self):
    strings = [b'a\0', b'\0', b'b', b'c\0\0']
    length = client_computations.at_clients(
      lambda s: (s, tf.strings.length(s)), np.str_
    )
    self.assertEqual(length(strings), [(s, len(s)) for s in strings])


class InvokeTest(_CohortContextTestCase):
  def test_number_of_clients(self):
    @tff.federated_computation
    def count():
      return tff.federated_sum(tff.federated_value(1, tff.CLIENTS))

    self.assertEqual(count(), 0)
    contexts.set_default_context(default_num_clients=4)
    self.assertEqual(count(), 4)
    # The argument's number of clients goes before the default.
    self.assertEqual(_sum([1, 2]), 3)
    self.assertEqual(_sum([]), 0)

  def test_client_errors_name_the_client(self):
    comp = client_computations.sum_of_clients(_check_small)
    with self.assertRaisesRegex(
      tf.errors.InvalidArgumentError, '(?s)Client 4 of 5: .*client is too large'
    ):
      comp([0, 1, 2, 3, 4])
    with self.assertRaises(grpc.RpcError):  # As users of TFF expect.
      comp([0, 1, 2, 3, 4])
    self.assertEqual(comp([0, 1, 2]), 3)
    # A client's mistake says nothing against the graph.
    self.assertEmpty(
      tff.framework.get_context_stack().current.runner.general_path_reasons
    )

  def test_tensorflow_computations(self):
    @tff.tensorflow.computation(np.int32, np.int32)
    def divide(a, b):
      return collections.OrderedDict(quotient=a // b, remainder=a % b)

    self.assertEqual(
      divide(17, 5), collections.OrderedDict(quotient=3, remainder=2)
    )
    self.assertEqual(divide(b=5, a=tf.constant(17))['remainder'], 2)

  def test_calls_from_several_threads(self):
    results = {}

    def call(i):
      with tff.framework.get_context_stack().install(context):
        results[i] = [_sum(list(range(i + j))) for j in range(5)]

    context = contexts.create_context()
    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(processes.HANG_SECONDS)
    self.assertEqual(
      results,
      {i: [sum(range(i + j)) for j in range(5)] for i in range(6)},
    )

  def test_calls_inside_of_an_event_loop(self):
    async def call():
      return _sum([1, 2])

    self.assertEqual(asyncio.run(call()), 3)

  def test_async(self):
    context = contexts.create_context(asynchronous=True, default_num_clients=3)
    increment = tff.tensorflow.computation(lambda x: x + 1, np.int32)

    async def call():
      first = _sum([1, 2])
      self.assertTrue(asyncio.iscoroutine(first))
      second, third = await asyncio.gather(_sum([3, 4]), _sum([5]))
      return (
        await first,
        second,
        third,
        await context.invoke(increment, increment(6)),
      )

    with tff.framework.get_context_stack().install(context):
      self.assertEqual(asyncio.run(call()), (3, 7, 5, 8))
      with self.assertRaisesRegex(ValueError, 'Conflicting'):
        asyncio.run(_statistics([np.zeros(3)], []))

  def test_what_is_gone_is_forgotten(self):
    """All but the last few computations, in case that they are made anew."""

    def alive():
      gc.collect()
      kinds = (federated_plan.Plan, cohort_graph.StageGraph)
      return [
        sum(type(found) is kind for found in gc.get_objects()) for kind in kinds
      ]

    before = alive()
    contexts.set_default_context()
    for n in range(20):
      add = functools.partial(lambda n, x: x + n, n)
      comp = client_computations.at_clients(add, np.int32)
      self.assertEqual(comp([1, 2]), [1 + n, 2 + n])
    del comp
    plans, graphs = np.subtract(alive(), before)
    self.assertLess(plans, 10)
    self.assertLess(graphs, 10)
    contexts.set_default_context()
    self.assertEqual(alive(), before)

  def test_starts_no_process_and_opens_no_port(self):
    process = psutil.Process()
    before = {c.pid for c in process.children(recursive=True)}
    sockets = len(process.net_connections())
    self.assertEqual(_sum([1, 2]), 3)
    self.assertEqual({c.pid for c in process.children(recursive=True)}, before)
    self.assertLen(process.net_connections(), sockets)
    self.assertEmpty(
      [t for t in threading.enumerate() if t.name.startswith('cohort')]
    )


@tf.function
def _skip_in_a_loop(data):
  total = 0.0
  for _ in tf.range(3):
    total += data.reduce(0.0, lambda a, b: a + b)
    data = data.skip(1)
  return total


def _skip_in_a_reduction(data):
  spec = data.element_spec

  def skip(variant, _):
    rest = tf.data.experimental.from_variant(variant, spec).skip(1)
    return tf.data.experimental.to_variant(rest)

  start = tf.data.experimental.to_variant(data.repeat(2))
  rest = tf.data.experimental.from_variant(data.reduce(start, skip), spec)
  return rest.reduce(0.0, lambda a, b: 10 * a + b)


def _drop_with_a_seed(data):
  dropout = tf.keras.layers.Dropout(0.5, seed=3)
  return data.reduce(
    0.0, lambda a, b: a + dropout(b + tf.range(5.0), training=True)[0]
  )


def _draw_with_a_seed(data):
  numbers = data.map(lambda _: tf.random.uniform([], seed=5))
  return [numbers.reduce(0.0, lambda a, b: 2 * a + b) for _ in range(2)]


def _draw_and_filter(data):
  data = data.repeat(20)
  low = data.map(lambda _: tf.random.uniform([])).filter(lambda u: u < 0.5)
  lots = data.filter(lambda _: tf.random.uniform([]) < 0.5)
  counts = [lots.reduce(0, lambda n, _: n + 1) for _ in range(20)]
  return (
    low.reduce(0.0, tf.maximum) < 0.5,
    tf.reduce_min(counts) < tf.reduce_max(counts),
  )


def _loop_of_tensorflow_1(data):
  tf.compat.v1.disable_control_flow_v2()
  try:
    return tf.compat.v1.while_loop(
      lambda i, _: i < 3,
      lambda i, x: (i + 1, 2 * x + data.reduce(0.0, lambda a, b: a + b)),
      (0, 1.0),
    )[1]
  finally:
    tf.compat.v1.enable_control_flow_v2()


# Client work that a graph over the cohort would not do as tf.data does.
_LEFT_TO_TF_DATA = dict(
  skip_in_a_loop=_skip_in_a_loop,
  skip_in_a_reduction=_skip_in_a_reduction,
  drop_with_a_seed=_drop_with_a_seed,
  draw_with_a_seed=_draw_with_a_seed,
  draw_and_filter=_draw_and_filter,
  loop_of_tensorflow_1=_loop_of_tensorflow_1,
)


def _number_leaf(work, num_arguments=1):
  return tff.tensorflow.computation(work, *[np.float32] * num_arguments)


def _look_up(x):
  return tf.gather([1.0], tf.cast(x, tf.int32))


_add = _number_leaf(lambda a, b: a + b, 2)
_first = _number_leaf(lambda a, _: a, 2)
_ONE_CALL = _number_leaf(lambda x: (x + 1, _look_up(x)))
_TWO_CALLS = tff.federated_computation(
  lambda x: (_number_leaf(lambda x: x + 1)(x), _number_leaf(_look_up)(x)),
  np.float32,
)


def _added(pair, data):
  step = tff.federated_computation(
    lambda a, x: _add(a, pair(x)[0]), np.float32, np.float32
  )
  return tff.federated_aggregate(
    data, 0.0, step, _add, _number_leaf(lambda x: x)
  )


def _reduced(pair, data):
  step = tff.federated_computation(
    lambda a, x: _add(a, pair(x)[0]), np.float32, np.float32
  )
  work = tff.federated_computation(
    lambda d: tff.sequence_reduce(d, 0.0, step), tff.SequenceType(np.float32)
  )
  return tff.federated_map(work, data)


def _passed_on(pair, data):
  work = tff.federated_computation(lambda x: _first(*pair(x)), np.float32)
  return tff.federated_map(work, data)


def _twice(pair, data):
  return tff.federated_map(
    _number_leaf(lambda x: 2 * x), tff.federated_map(pair, data)[0]
  )


_AT_CLIENTS = (tff.FederatedType(np.float32, tff.CLIENTS), [1.0])
_AT_SERVER = (tff.FederatedType(np.float32, tff.SERVER), 1.0)

# Work that reads the first part of a pair only, whose second part is an error.
_IN_PLACES = dict(
  mapped=(lambda pair, data: tff.federated_map(pair, data)[0], *_AT_CLIENTS),
  twice=(_twice, *_AT_CLIENTS),
  twice_at_server=(_twice, *_AT_SERVER),
  passed_on=(_passed_on, *_AT_CLIENTS),
  passed_on_at_server=(_passed_on, *_AT_SERVER),
  added=(_added, *_AT_CLIENTS),
  reduced=(
    _reduced,
    tff.FederatedType(tff.SequenceType(np.float32), tff.CLIENTS),
    [[1.0]],
  ),
)


class AgainstLocalWorkerTest(two_contexts.TestCase):
  """Compares with TFF's own runtime."""

  def test_what_is_left_to_tf_data(self):
    sequence = tff.SequenceType(np.float32)
    rng = np.random.default_rng(9)
    clients = [
      tf.data.Dataset.from_tensor_slices(rng.uniform(1, 2, n).astype('f'))
      for n in (13, 4, 0)
    ]
    for name, work in _LEFT_TO_TF_DATA.items():
      with self.subTest(name):
        comp = client_computations.at_clients(work, sequence)
        self.cohort = contexts.create_context()
        self.assertEqual(self.here(comp, clients), self.there(comp, clients))
        self.assertNotEmpty(self.cohort.runner.general_path_reasons)

  def test_scalars_of_all_types(self):
    types = [
      tf.bfloat16.as_numpy_dtype,
      *(np.float16, np.float64, np.int8, np.uint8, np.uint16, np.uint32),
      *(np.uint64, np.complex64, np.complex128, np.bool_),
    ]
    for dtype in types:
      comp = client_computations.at_clients(lambda x: (x, tf.stack([x])), dtype)
      values = [
        *(dtype(1), np.array(1, dtype)),
        *(tf.cast(1, dtype), tf.Variable(tf.cast(1, dtype))),
      ]
      for pair, expected in zip(
        self.here(comp, values), self.there(comp, values), strict=True
      ):
        self.assertIs(type(pair[0]), type(expected[0]))
        self.assertEqual(pair[0].dtype, np.dtype(dtype))
        self.assertEqual(pair[0], expected[0])
        self.assertEqual(pair[1].dtype, expected[1].dtype)

  def test_errors_in_results_that_nobody_reads(self):
    """All of a call are computed; a call whose results nothing reads is not made."""
    for name, (work, type_spec, argument) in _IN_PLACES.items():
      for pair, fails in ((_ONE_CALL, True), (_TWO_CALLS, False)):
        comp = tff.federated_computation(
          functools.partial(work, pair), type_spec
        )
        for run in (self.here, self.there):
          with (
            self.subTest(name, fails=fails, run=run.__name__),
            self.assertRaises(grpc.RpcError)
            if fails or name.startswith('passed_on')
            else contextlib.nullcontext(),
          ):
            run(comp, argument)
        self.assertEmpty(self.cohort.runner.general_path_reasons)

  def test_functions_of_values_around_them(self):
    @tff.federated_computation(np.float32, _AT_CLIENTS[0])
    def comp(y, values):
      add_twice = tff.federated_computation(
        lambda x: _add(_add(x, y), y), np.float32
      )
      return tff.federated_map(add_twice, values)

    self.assertEqual(self.here(comp, 2.0, [1.0, 5.0]), [5.0, 9.0])

  def test_datasets_that_are_passed_through(self):
    pair = collections.OrderedDict(
      b=tff.TensorType(np.float32, [None]), a=np.int32
    )
    sequence = tff.SequenceType(pair)
    dataset = tf.data.Dataset.from_tensor_slices(
      collections.OrderedDict(b=np.ones([2, 3], 'f'), a=np.arange(2, dtype='i'))
    )

    @tff.federated_computation(
      tff.FederatedType([sequence, np.float32], tff.CLIENTS),
      tff.FederatedType(sequence, tff.SERVER),
      sequence,
    )
    def comp(of_clients, of_server, unplaced):
      return of_clients, of_server, unplaced

    def run():
      ((of_client, _),), *others = comp([(dataset, 1.0)], dataset, dataset)
      return [
        (found.element_spec, list(found.as_numpy_iterator()))
        for found in (of_client, *others)
      ]

    self.assertEqual(str(self.here(run)), str(self.there(run)))

  def test_errors_for_wrong_arguments(self):
    """Messages are TFF's, word for word."""

    @tff.federated_computation(_CLIENT_INTS, _CLIENT_INTS, _SERVER_FLOAT)
    def comp(x, y, z):
      return tff.federated_sum(x), tff.federated_sum(y), z

    calls = (
      ([1, 2], [1], 0.5),
      ([1],),
      ([0.5], [1], 0.5),
      ([1, 2.5], [1, 2], 0.5),
      (3, [1], 0.5),
      ([1], [1], 'text'),
      ([1, [2, 3]], [1, 2], 0.5),
      ([1, 2], [1, 2], [0.5]),
      ([None], [1], 0.5),
    )
    for arguments in calls:
      messages = []
      for run in (self.here, self.there):
        with self.subTest(str(arguments), run=run.__name__):
          with self.assertRaises(
            (TypeError, ValueError, NotImplementedError)
          ) as raised:
            run(comp, *arguments)
          messages.append(str(raised.exception))
      self.assertLen(set(messages), 1)
