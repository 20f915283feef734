# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the client-server barrier."""

import functools

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff.evaluation import client_server_barrier
from fedfish_tff.evaluation import round_evaluation
from tests.evaluation import softmax_regression

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_CLIENTS = tuple(
  softmax_regression.draw_examples(n, seed) for seed, n in enumerate((12, 5))
)


@functools.cache
def _barrier(name):
  return _build_barrier(name, softmax_regression.build_local_training(name))


def _build_barrier(name, local_training):
  return client_server_barrier.CohortBarrier(
    round_evaluation.SharedComputations(
      softmax_regression.MODELS[name], lambda: local_training
    ),
    eval_batch_size=3,
    higher_is_better={'loss': False, 'accuracy': True},
  )


def _start(name):
  return softmax_regression.start_weights(softmax_regression.MODELS[name])


def _cohort(clients, epochs):
  spec = datasets.BatchSpec(batch_size=4, epochs=epochs, shuffle=False)
  return [
    datasets.plan_batches(c, spec, client_id=str(i), seed=0, round_number=1)
    for i, c in enumerate(clients)
  ]


def _scores(*clients):
  """Returns scores of (own accuracy, merged accuracy, num_examples)."""
  own, merged = (
    [
      dict(num_examples=client[2], accuracy=client[i], loss=1 - client[i])
      for client in clients
    ]
    for i in (0, 1)
  )
  return client_server_barrier.BarrierScores(own, merged)


def _gaps(scores, metric):
  values, _ = client_server_barrier.client_barriers(
    scores, metric, higher_is_better=metric == 'accuracy'
  )
  return values.tolist()


class CohortBarrierTest(parameterized.TestCase):
  @parameterized.parameters('functional', 'keras')
  def test_it_follows_numpy(self, name):
    start = _start(name)
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
    cohort = _cohort(_CLIENTS, epochs=4)
    scores = _barrier(name).score_clients(start, new, cohort)
    columns = _barrier(name)(start, new, cohort)
    expected = [
      [softmax_regression.numpy_metrics(w, c) for w, c in zip(models, _CLIENTS)]
      for models in (trained, [merged] * 2)
    ]
    for found, metrics in zip(scores, expected):
      self.assertEqual([client['num_examples'] for client in found], sizes)
      for metric in ('loss', 'accuracy'):
        np.testing.assert_allclose(
          [client[metric] for client in found],
          [client[metric] for client in metrics],
          rtol=2e-5,
        )
    for metric, sign in (('accuracy', 1), ('loss', -1)):
      gaps = [
        sign * (own[metric] - joint[metric]) for own, joint in zip(*expected)
      ]
      for suffix, weights in (('', None), ('_by_examples', sizes)):
        self.assertAlmostEqual(
          columns[f'csb/{metric}{suffix}'],
          np.average(gaps, weights=weights),
          places=5,
        )
    self.assertEqual(columns['csb/diverged_clients'], 0)
    self.assertLen(columns, 5)

  def test_it_is_measured_on_the_examples_after_the_cap(self):
    spec = datasets.BatchSpec(batch_size=2, epochs=2, max_examples=3)
    (client,) = cohort = [
      datasets.plan_batches(
        _CLIENTS[0], spec, client_id='a', seed=5, round_number=4
      )
    ]
    start = _start('functional')
    own, merged = _barrier('functional').score_clients(start, start, cohort)
    used = np.unique(client.indices)
    self.assertLen(used, 3)
    examples = tuple(part[used] for part in _CLIENTS[0])
    arrays = softmax_regression.as_arrays(start)
    trained = softmax_regression.numpy_train(arrays, client)
    for (found,), weights in ((own, trained), (merged, arrays)):
      expected = softmax_regression.numpy_metrics(weights, examples)
      self.assertEqual(found['num_examples'], 3)
      np.testing.assert_allclose(found['loss'], expected['loss'], rtol=2e-5)

  @parameterized.parameters('functional', 'keras')
  def test_one_client_whose_model_becomes_the_global_one_has_none(self, name):
    start = _start(name)
    train = softmax_regression.build_local_training(name)
    # FedAvg of one client with server learning rate 1.
    new = train(start, softmax_regression.to_dataset(_CLIENTS[0], epochs=5))
    columns = _barrier(name)(start, new, _cohort(_CLIENTS[:1], epochs=5))
    self.assertEqual((columns['csb/loss'], columns['csb/accuracy']), (0, 0))

  @parameterized.parameters('functional', 'keras')
  def test_a_client_that_diverges_is_counted_and_leaves_no_mean(self, name):
    start = _start(name)
    x, y = _CLIENTS[0]
    clients = ((np.float32(3e38) * np.sign(x), y), _CLIENTS[1])
    cohort = _cohort(clients, epochs=2)
    diverged = _barrier(name).score_clients(start, start, cohort).own[0]
    self.assertEqual(diverged['num_examples'], 12)
    self.assertTrue(np.isnan(diverged['accuracy']))
    columns = _barrier(name)(start, start, cohort)
    self.assertEqual(columns.pop('csb/diverged_clients'), 1)
    self.assertLen(columns, 4)
    self.assertTrue(np.isnan(list(columns.values())).all())

  @parameterized.parameters('functional', 'keras')
  def test_a_client_for_which_the_merged_model_diverges_is_counted(self, name):
    start = _start(name)
    broken = tff.learning.models.ModelWeights(
      type(start.trainable)(np.float32(np.nan) * w for w in start.trainable),
      start.non_trainable,
    )
    columns = _barrier(name)(start, broken, _cohort(_CLIENTS, epochs=1))
    self.assertEqual(columns['csb/diverged_clients'], len(_CLIENTS))
    self.assertTrue(np.isnan(columns['csb/loss']))


class ClientBarriersTest(parameterized.TestCase):
  @parameterized.parameters('accuracy', 'loss')
  def test_it_is_positive_where_the_global_model_is_worse(self, metric):
    scores = _scores((0.9, 0.6, 10), (0.5, 0.6, 30))
    np.testing.assert_allclose(_gaps(scores, metric), [0.3, -0.1])

  def test_unknown_metric(self):
    with self.assertRaisesRegex(errors.InputError, "'perplexity'"):
      _gaps(_scores((0.9, 0.6, 10)), 'perplexity')
