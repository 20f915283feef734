# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_graph."""

from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.replay import sequence_arrays
from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from tests.execution import single_stages

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_SEQUENCE = tff.SequenceType(np.int32)
_CLIENT_SEQUENCES = tff.FederatedType(_SEQUENCE, tff.CLIENTS)
_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)
_CLIENT_TEXTS = tff.FederatedType(np.str_, tff.CLIENTS)
_SERVER_INT = tff.FederatedType(np.int32, tff.SERVER)


def _inputs(lists, tensors=()):
  """Returns the inputs of clients with lists of numbers."""
  cut, arrays = sequence_arrays.to_graph_arrays(
    packed_sequences.concatenate_sequences(
      [sequence_packing.pack_sequence(x, tff.to_type(np.int32)) for x in lists]
    )
  )
  return cohort_graph.ClientInputs(
    num_clients=len(lists),
    tensors=list(tensors),
    cuts=(cut,),
    sequences=[arrays],
  )


@tff.tensorflow.computation(_SEQUENCE, np.int32, np.int32)
def _weighted_total(numbers, weight, offset):
  total = numbers.reduce(offset, lambda total, x: total + x)
  count = numbers.repeat(2).reduce(0, lambda n, _: n + 1)
  return total * weight, [tf.strings.as_string(total), count]


@tff.federated_computation(_CLIENT_SEQUENCES, _CLIENT_INTS, _SERVER_INT)
def _totals(numbers, weights, offset):
  weighted, rest = tff.federated_map(
    _weighted_total, (numbers, weights, tff.federated_broadcast(offset))
  )
  return tff.federated_sum(weighted), rest


@tff.federated_computation(_CLIENT_TEXTS)
def _joined(texts):
  join = tff.tensorflow.computation(
    lambda a, b: tf.strings.join([a, b]), (np.str_, np.str_)
  )
  return tff.federated_aggregate(
    texts,
    '<',
    join,
    join,
    tff.tensorflow.computation(lambda a: a, np.str_),
  )


def _text_inputs(texts):
  return cohort_graph.ClientInputs(
    num_clients=len(texts),
    tensors=[np.array(texts, object)],
    cuts=(),
    sequences=[],
  )


class StageGraphTest(parameterized.TestCase):
  @parameterized.parameters(1, 3)
  def test_steps_sums_and_outputs(self, parallelism):
    stage = single_stages.stage_of(_totals)
    graph = cohort_graph.StageGraph(stage, parallelism=parallelism)
    self.assertEqual(
      graph.client_leaf_types, [[_SEQUENCE], [tff.TensorType(np.int32)]]
    )
    (offset,) = stage.server_inputs
    lists = [[1, 2, 3], [], [10], [5, 5]]
    weights = np.array([1, 2, 3, -1], np.int32)
    ((total,),), (output,) = graph.run(
      [[tf.constant(1000)]],
      {offset: tf.constant(7)},
      _inputs(lists, [weights]),
    )
    totals = [sum(x) + 7 for x in lists]
    self.assertEqual(total, 1000 + np.dot(totals, weights))
    texts, counts = output
    self.assertEqual(list(texts.numpy()), [b'%d' % t for t in totals])
    self.assertEqual(list(counts.numpy()), [2 * len(x) for x in lists])

  @hypothesis.given(st.lists(st.text('abc', max_size=3), min_size=1), st.data())
  @hypothesis.settings(max_examples=25, deadline=None)
  def test_folds_in_the_order_of_the_cohort(self, texts, data):
    """In one run, or in two with the sums handed on."""
    texts = [text.encode() for text in texts]
    cut = data.draw(st.integers(1, len(texts)))
    sums = [[tf.constant('<')]]
    for part in (texts[:cut], texts[cut:]):
      if part:
        sums, outputs = self._joining.run(sums, {}, _text_inputs(part))
        self.assertEqual(outputs, [])
    self.assertEqual(sums[0][0], b'<' + b''.join(texts))

  @property
  def _joining(self):
    if not hasattr(type(self), '_graph'):
      type(self)._graph = cohort_graph.StageGraph(
        single_stages.stage_of(_joined), parallelism=4
      )
    return self._graph

  def test_each_client_has_variables_of_its_own(self):
    @tff.tensorflow.computation(np.int32)
    def count(x):
      counter = tf.Variable(10)
      return tf.function(lambda: counter.assign_add(x))()

    @tff.federated_computation(_CLIENT_INTS)
    def comp(x):
      return tff.federated_map(count, x)

    graph = cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=2)
    inputs = cohort_graph.ClientInputs(
      num_clients=3,
      tensors=[np.array([1, 2, 3], np.int32)],
      cuts=(),
      sequences=[],
    )
    for _ in range(2):
      _, ((counts,),) = graph.run([], {}, inputs)
      self.assertEqual(list(counts.numpy()), [11, 12, 13])

  def test_values_of_unknown_shape(self):
    vector = tff.TensorType(np.int32, [None])
    double = tff.tensorflow.computation(lambda x: 2 * x, vector)
    repeat = tff.tensorflow.computation(lambda x: tf.fill([x], x), np.int32)

    @tff.federated_computation(tff.FederatedType(vector, tff.CLIENTS))
    def takes(x):
      return tff.federated_map(double, x)

    @tff.federated_computation(_CLIENT_INTS)
    def returns(x):
      return tff.federated_map(repeat, x)

    for comp, reason in (
      (takes, r'value at the clients of unknown shape, int32\[\?\]'),
      (returns, r'result of the clients of unknown shape, \(None,\)'),
    ):
      with self.assertRaisesRegex(tracing.NotReplayableError, reason):
        cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=1)

  def test_sequences_made_at_the_clients(self):
    @tff.tensorflow.computation(np.int32)
    def count_to(n):
      return tf.data.Dataset.range(tf.cast(n, tf.int64)).map(
        lambda i: tf.cast(i, tf.int32)
      )

    @tff.federated_computation(_CLIENT_INTS)
    def comp(x):
      return tff.federated_map(count_to, x)

    with self.assertRaisesRegex(
      tracing.NotReplayableError, r'sequence of type int32\*'
    ):
      cohort_graph.StageGraph(single_stages.stage_of(comp), parallelism=1)

  def test_what_cannot_be_replayed(self):
    @tff.tensorflow.computation(np.str_)
    def look_up(word):
      initializer = tf.lookup.KeyValueTensorInitializer(['a', 'b'], [1, 2])
      return tf.lookup.StaticHashTable(initializer, 0).lookup(word)

    @tff.federated_computation(_CLIENT_TEXTS)
    def comp(words):
      return tff.federated_sum(tff.federated_map(look_up, words))

    stage = single_stages.stage_of(comp)
    graph = cohort_graph.StageGraph(stage, parallelism=1)
    with self.assertRaisesRegex(
      tracing.NotReplayableError, 'initialisation by LookupTableImportV2'
    ):
      graph.run([[tf.constant(0)]], {}, _text_inputs([b'a', b'b']))
    (aggregate,) = stage.aggregates
    (word,) = stage.client_inputs
    results, _ = single_stages.run_generally(
      stage,
      {aggregate.zero: tf.constant(0)},
      {word: [tf.constant('a'), tf.constant('b')]},
      2,
      parallelism=1,
    )
    self.assertEqual(results[aggregate.out], 3)
