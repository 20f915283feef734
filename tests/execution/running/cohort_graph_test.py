# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for cohort_graph."""

from fedfish_tff.execution.replay import tracing
from fedfish_tff.execution.running import cohort_graph
from tests.execution import single_stages

from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENT_INTS = tff.FederatedType(np.int32, tff.CLIENTS)
_CLIENT_TEXTS = tff.FederatedType(np.str_, tff.CLIENTS)


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
