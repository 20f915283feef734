# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the client-server barrier."""

import collections
import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.evaluation import client_server_barrier
from fedfish_tff.execution import contexts
from tests import tolerance
from tests.evaluation import softmax_regression

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow_federated as tff

_CLIENTS = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((12, 5))
)


@functools.cache
def _barrier(name):
  return client_server_barrier.build_client_server_barrier(
    softmax_regression.MODELS[name],
    softmax_regression.build_local_training(name),
  )


def _client_data(clients, epochs):
  return [
    collections.OrderedDict(
      train=softmax_regression.to_dataset(c, epochs=epochs),
      eval=softmax_regression.to_dataset(c),
    )
    for c in clients
  ]


def _client(own, merged, num_examples):
  return collections.OrderedDict(
    client=dict(num_examples=num_examples, accuracy=own, loss=1 - own),
    server=dict(num_examples=num_examples, accuracy=merged, loss=1 - merged),
    num_examples=num_examples,
  )


def setUpModule():
  contexts.set_default_context()


class BuildClientServerBarrierTest(parameterized.TestCase):
  @parameterized.parameters('functional', 'keras')
  def test_it_follows_numpy(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    arrays = softmax_regression.as_arrays(start)
    trained = [
      softmax_regression.numpy_train(
        arrays, softmax_regression.to_batches(c, epochs=4)
      )
      for c in _CLIENTS
    ]
    # FedAvg by hand: the clients' models, weighted by their examples.
    sizes = [len(c[0]) for c in _CLIENTS]
    merged = [np.average(w, axis=0, weights=sizes) for w in zip(*trained)]
    new = tff.learning.models.ModelWeights(
      type(start.trainable)(w.astype(np.float32) for w in merged),
      start.non_trainable,
    )
    per_client = _barrier(name)(start, new, _client_data(_CLIENTS, epochs=4))
    own_metrics, merged_metrics = [], []
    for result, weights, examples in zip(per_client, trained, _CLIENTS):
      own_metrics.append(softmax_regression.numpy_metrics(weights, examples))
      merged_metrics.append(softmax_regression.numpy_metrics(merged, examples))
      self.assertEqual(list(result), ['client', 'server', 'num_examples'])
      self.assertEqual(result['num_examples'], len(examples[0]))
      for metric in ('loss', 'accuracy'):
        np.testing.assert_allclose(
          [result['client'][metric], result['server'][metric]],
          [own_metrics[-1][metric], merged_metrics[-1][metric]],
          rtol=2e-5,
        )
    for metric, sign in (('accuracy', 1), ('loss', -1)):
      gaps = [
        sign * (own[metric] - joint[metric])
        for own, joint in zip(own_metrics, merged_metrics)
      ]
      for weighting, weights in (('uniform', None), ('examples', sizes)):
        self.assertAlmostEqual(
          client_server_barrier.barrier(
            per_client, metric, sign == 1, weighting
          ),
          np.average(gaps, weights=weights),
          places=5,
        )

  @parameterized.parameters('functional', 'keras')
  def test_one_client_whose_model_becomes_the_global_one_has_none(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    train = softmax_regression.build_local_training(name)
    # FedAvg of one client with server learning rate 1.
    new = train(start, softmax_regression.to_dataset(_CLIENTS[0], epochs=5))
    per_client = _barrier(name)(
      start, new, _client_data(_CLIENTS[:1], epochs=5)
    )
    for metric, higher_is_better in (('accuracy', True), ('loss', False)):
      self.assertEqual(
        client_server_barrier.barrier(per_client, metric, higher_is_better),
        0.0,
      )

  @parameterized.parameters('functional', 'keras')
  def test_a_client_that_diverges_is_left_out(self, name):
    model = softmax_regression.MODELS[name]
    start = softmax_regression.start_weights(model)
    x, y = _CLIENTS[0]
    clients = ((np.float32(3e38) * np.sign(x), y), _CLIENTS[1])
    diverged, finite = _barrier(name)(
      start, start, _client_data(clients, epochs=2)
    )
    self.assertEqual(diverged['num_examples'], 12)
    self.assertTrue(np.isnan(diverged['client']['accuracy']))
    arrays = softmax_regression.as_arrays(start)
    trained = softmax_regression.numpy_train(
      arrays, softmax_regression.to_batches(_CLIENTS[1], epochs=2)
    )
    own, merged = (
      softmax_regression.numpy_metrics(weights, _CLIENTS[1])['accuracy']
      for weights in (trained, arrays)
    )
    self.assertFalse(np.isnan(finite['client']['accuracy']))
    for weighting in ('uniform', 'examples'):
      self.assertAlmostEqual(
        client_server_barrier.barrier(
          [diverged, finite], 'accuracy', True, weighting
        ),
        own - merged,
        places=6,
      )


@pytest.mark.thorough
class ProcessesTest(parameterized.TestCase):
  """The barrier and the local training that every algorithm exports."""

  def _run_round(self, process):
    model = softmax_regression.MODELS['functional']
    state = process.initialize()
    start = process.get_model_weights(state)
    client_data = _client_data(_CLIENTS[:1], epochs=3)
    state = process.next(state, [c['train'] for c in client_data]).state
    return client_server_barrier.build_client_server_barrier(
      model, process.local_training
    )(start, process.get_model_weights(state), client_data)

  def test_fed_avg_of_one_client_at_server_rate_one_has_none(self):
    process = algorithms.build_fed_avg(
      softmax_regression.MODELS['functional'],
      tff.learning.optimizers.build_sgdm(softmax_regression.LEARNING_RATE),
      tff.learning.optimizers.build_sgdm(1.0),
    )
    per_client = self._run_round(process)
    self.assertEqual(
      client_server_barrier.barrier(per_client, 'accuracy', True), 0.0
    )
    # The server adds the delta to the weights it was taken from: one rounding.
    tolerance.assert_close(
      client_server_barrier.barrier(per_client, 'loss', False),
      0.0,
      relative=tolerance.FLOAT32_SUMS,
      scale=1,
    )

  @parameterized.parameters('build_fed_fish', 'build_fed_sgd')
  def test_other_algorithms(self, name):
    process = getattr(algorithms, name)(
      softmax_regression.MODELS['functional'],
      client_optimizer_fn=tff.learning.optimizers.build_sgdm(
        softmax_regression.LEARNING_RATE
      ),
    )
    (result,) = self._run_round(process)
    trained = softmax_regression.numpy_train(
      softmax_regression.initial_weights(),
      softmax_regression.to_batches(_CLIENTS[0], epochs=3),
    )
    np.testing.assert_allclose(
      result['client']['loss'],
      softmax_regression.numpy_metrics(trained, _CLIENTS[0])['loss'],
      rtol=2e-5,
    )


class BarrierTest(parameterized.TestCase):
  def test_it_is_positive_where_the_global_model_is_worse(self):
    worse = [_client(0.9, 0.6, 10), _client(0.8, 0.7, 30)]
    for metric, higher_is_better in (('accuracy', True), ('loss', False)):
      value = client_server_barrier.barrier(worse, metric, higher_is_better)
      self.assertAlmostEqual(value, 0.2)
      by_examples = client_server_barrier.barrier(
        worse, metric, higher_is_better, 'examples'
      )
      self.assertAlmostEqual(by_examples, 0.15)

  def test_it_is_negative_where_the_global_model_is_better(self):
    better = [_client(0.5, 0.6, 10)]
    for metric, higher_is_better in (('accuracy', True), ('loss', False)):
      self.assertLess(
        client_server_barrier.barrier(better, metric, higher_is_better), 0
      )

  def test_clients_without_examples_are_left_out(self):
    nan = float('nan')
    per_client = [_client(0.9, 0.6, 10), _client(nan, nan, 0)]
    self.assertAlmostEqual(
      client_server_barrier.barrier(per_client, 'accuracy', True), 0.3
    )
    self.assertTrue(
      np.isnan(client_server_barrier.barrier(per_client[1:], 'loss', False))
    )

  def test_unknown_metric_and_weighting(self):
    per_client = [_client(0.9, 0.6, 10)]
    with self.assertRaisesRegex(errors.InputError, "'perplexity'"):
      client_server_barrier.barrier(per_client, 'perplexity', False)
    with self.assertRaisesRegex(errors.InputError, 'weighting'):
      client_server_barrier.barrier(per_client, 'loss', False, 'size')
