# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of models on clients: exact for any metric, one group at a time."""

import functools
import gc
import weakref

from fedfish_tff import errors
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.execution import contexts
from tests.evaluation import softmax_regression

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_CLIENTS = tuple(
  softmax_regression.draw_examples(n, seed)
  for seed, n in enumerate((9, 4, 1, 12, 5))
)
_TRAIN, _TEST = _CLIENTS[:2], _CLIENTS[3:]
_EMPTY = softmax_regression.draw_examples(0, 0)


@functools.cache
def _scorer(name, tuned=False):
  """Tracing takes most of the time here, so every test has the same."""
  training = softmax_regression.build_local_training(name)
  return client_scorer.ClientScorer(
    softmax_regression.MODELS[name], tuning=training if tuned else None
  )


def _start(name):
  return softmax_regression.start_weights(softmax_regression.MODELS[name])


def _chunks(clients, size):
  for start in range(0, len(clients), size):
    yield [
      {'test': softmax_regression.to_dataset(client)}
      for client in clients[start : start + size]
    ]


def _pool(clients):
  return tuple(np.concatenate(parts) for parts in zip(*clients))


class ScorerTestCase(parameterized.TestCase):
  def _assert_metrics(self, actual, weights, examples, rtol=1e-5):
    expected = softmax_regression.numpy_metrics(weights, examples)
    self.assertEqual(actual['num_examples'], expected['num_examples'])
    for metric in ('loss', 'accuracy'):
      np.testing.assert_allclose(actual[metric], expected[metric], rtol=rtol)


class ClientScorerTest(ScorerTestCase):
  @parameterized.product(name=('functional', 'keras'), size=(1, 2, 5))
  def test_follows_numpy(self, name, size):
    weights = _start(name)
    result = _scorer(name)(weights, _chunks(_CLIENTS, size))
    self.assertLen(result.per_client, len(_CLIENTS))
    arrays = softmax_regression.as_arrays(weights)
    self._assert_metrics(result.total, arrays, _pool(_CLIENTS))
    for actual, examples in zip(result.per_client, _CLIENTS):
      self._assert_metrics(actual, arrays, examples)

  @parameterized.parameters('functional', 'keras')
  def test_clients_without_examples_are_missing(self, name):
    weights, evaluate = _start(name), _scorer(name)
    result = evaluate(weights, _chunks([_EMPTY, _CLIENTS[0], _EMPTY], 1))
    alone = evaluate(weights, _chunks(_CLIENTS[:1], 1))
    self.assertEqual(result.total, alone.total)
    self.assertEqual(result.per_client[1], alone.per_client[0])
    empty = result.per_client[0]
    nothing = evaluate(weights, _chunks([_EMPTY], 1)).total
    for metrics in (empty, nothing):
      self.assertEqual(metrics['num_examples'], 0)
      self.assertTrue(np.isnan(metrics['loss']))
      self.assertTrue(np.isnan(metrics['accuracy']))

  @parameterized.product(
    name=('functional', 'keras'), value=(float('nan'), float('inf'))
  )
  def test_a_model_that_has_diverged_has_no_metrics(self, name, value):
    start = _start(name)
    kernel, bias = (np.array(w) for w in start.trainable)
    bias[1] = value  # An accuracy could still be computed.
    weights = tff.learning.models.ModelWeights(
      type(start.trainable)((kernel, bias)), start.non_trainable
    )
    total, (client,) = _scorer(name)(weights, _chunks(_CLIENTS[:1], 1))
    for metrics in (client, total):
      self.assertEqual(metrics['num_examples'], 9)
      self.assertTrue(np.isnan(metrics['loss']))
      self.assertTrue(np.isnan(metrics['accuracy']))
    values, _ = client_statistics.metric_values([client], 'accuracy')
    self.assertEqual(client_statistics.count_diverged(values), 1)

  def test_one_group_is_in_memory_at_a_time(self):
    groups = weakref.WeakSet()

    class Group(list):
      """A list that a weak reference can be held to."""

      __hash__ = object.__hash__

    def chunks():
      for chunk in map(Group, _chunks(_CLIENTS, 2)):
        if groups:
          gc.collect()
        groups.add(chunk)
        self.assertLen(groups, 1)
        yield chunk
        del chunk

    _scorer('functional')(_start('functional'), chunks())
    if groups:
      gc.collect()
    self.assertEmpty(groups)

  def test_no_client(self):
    with self.assertRaisesRegex(errors.InputError, 'client to evaluate on'):
      _scorer('functional')(_start('functional'), [])

  @parameterized.parameters('functional', 'keras')
  def test_a_label_outside_of_the_classes_is_bad_input(self, name):
    x, _ = _CLIENTS[0]
    wrong = x, np.full(len(x), softmax_regression.NUM_CLASSES)
    with self.assertRaisesRegex(
      errors.InputError, '^Labels .* 0 to 3, got 4.$'
    ):
      _scorer(name)(_start(name), _chunks([_CLIENTS[1], wrong], 2))

  @parameterized.parameters('functional', 'keras')
  def test_runs_as_graphs(self, name):
    context = contexts.create_context()
    with tff.framework.get_context_stack().install(context):
      _scorer(name)(_start(name), _chunks(_CLIENTS, 2))
    self.assertEmpty(context.runner.general_path_reasons)

  def test_a_batch_given_as_a_mapping(self):
    def create_model():
      keras_model = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, use_bias=False, input_shape=[1])]
      )
      return tff.learning.models.from_keras_model(
        keras_model,
        loss=tf.keras.losses.MeanSquaredError(),
        input_spec=dict(
          x=tf.TensorSpec([None, 1], tf.float32),
          y=tf.TensorSpec([None, 1], tf.float32),
        ),
      )

    dataset = tf.data.Dataset.from_tensors(
      dict(x=[[1.0], [2.0]], y=[[2.0], [5.0]])
    )
    result, _ = client_scorer.ClientScorer(create_model)(
      tff.learning.models.ModelWeights([np.float32([[2.0]])], []),
      [[{'test': dataset}]],
    )
    self.assertEqual((result['num_examples'], result['loss']), (2, 0.5))


class TunedTest(ScorerTestCase):
  def _evaluate(self, name, train, test=_TEST, epochs=1):
    clients = [
      {
        'train': softmax_regression.to_dataset(t, epochs=epochs),
        'test': softmax_regression.to_dataset(e),
      }
      for t, e in zip(train, test)
    ]
    return _scorer(name, tuned=True)(_start(name), [clients[:1], clients[1:]])

  @parameterized.parameters('functional', 'keras')
  def test_clients_and_total_follow_numpy(self, name):
    total, per_client = self._evaluate(name, _TRAIN, epochs=3)
    start = softmax_regression.as_arrays(_start(name))
    for result, train, test in zip(per_client, _TRAIN, _TEST):
      tuned = softmax_regression.numpy_train(
        start, softmax_regression.to_batches(train, epochs=3)
      )
      self._assert_metrics(result, tuned, test, rtol=2e-5)
    sizes = [len(x) for x, _ in _TEST]
    self.assertEqual(total['num_examples'], sum(sizes))
    for metric in ('loss', 'accuracy'):
      values = [client[metric] for client in per_client]
      np.testing.assert_allclose(
        total[metric], np.average(values, weights=sizes), rtol=2e-5
      )

  @parameterized.parameters('functional', 'keras')
  def test_a_client_that_diverges_is_not_in_the_total(self, name):
    x, y = _TRAIN[0]
    diverging = (np.float32(3e38) * np.sign(x), y)
    total, per_client = self._evaluate(name, (diverging, _TRAIN[1]), epochs=2)
    self.assertTrue(np.isnan(per_client[0]['loss']))
    for metric in ('num_examples', 'loss', 'accuracy'):
      self.assertEqual(total[metric], per_client[1][metric])

  @parameterized.parameters('functional', 'keras')
  def test_no_epoch_and_no_example_leave_the_scores_as_they_are(self, name):
    start = softmax_regression.as_arrays(_start(name))
    for _, per_client in (
      self._evaluate(name, _TRAIN, epochs=0),
      self._evaluate(name, (_EMPTY, _EMPTY)),
    ):
      for result, test in zip(per_client, _TEST):
        self._assert_metrics(result, start, test, rtol=2e-5)


class StartTest(ScorerTestCase):
  @parameterized.parameters(False, True)
  def test_weights_of_a_client_s_own_follow_numpy(self, tuned):
    model = softmax_regression.MODELS['functional']
    kernel, bias = softmax_regression.initial_weights()
    context = contexts.create_context()

    @tff.tensorflow.computation(
      tff.TensorType(np.float32, kernel.shape),
      tff.TensorType(np.float32, bias.shape),
    )
    def join(sent, own):
      return tff.learning.models.ModelWeights((sent, own), ())

    scorer = client_scorer.ClientScorer(
      model,
      start=join,
      tuning=softmax_regression.build_local_training('functional')
      if tuned
      else None,
    )
    own = [bias, bias + np.arange(4, dtype=np.float32)]
    clients = [
      {
        'state': state,
        'train': softmax_regression.to_dataset(train),
        'test': softmax_regression.to_dataset(test),
      }
      for state, train, test in zip(own, _TRAIN, _TEST)
    ]
    with tff.framework.get_context_stack().install(context):
      _, per_client = scorer(kernel, [clients])
    self.assertEmpty(context.runner.general_path_reasons)
    for result, state, train, test in zip(per_client, own, _TRAIN, _TEST):
      weights = kernel, state
      if tuned:
        weights = softmax_regression.numpy_train(
          weights, softmax_regression.to_batches(train)
        )
      self._assert_metrics(result, weights, test, rtol=2e-5)
