# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Each client's own model on the whole test set, against NumPy."""

import functools
import gc
import weakref

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff.evaluation import client_model_evaluation
from fedfish_tff.evaluation import client_statistics
from fedfish_tff.execution import contexts
from tests import numpy_reference as ref
from tests.evaluation import softmax_regression

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_PARTS = tuple(
  softmax_regression.draw_examples(n, seed)
  for seed, n in enumerate((9, 4, 1, 12))
)


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _evaluation(name):
  """Tracing takes most of the time here, so every test has the same."""
  return client_model_evaluation.ClientModelEvaluation(
    softmax_regression.MODELS[name]
  )


def _chunks(size=3):
  for start in range(0, len(_PARTS), size):
    yield [
      softmax_regression.to_dataset(c) for c in _PARTS[start : start + size]
    ]


def _models(model, number):
  weights = softmax_regression.start_weights(model)
  for i in range(number):
    yield tff.learning.models.ModelWeights(
      [w + np.float32(0.3 * i) * np.sign(w) for w in weights.trainable],
      weights.non_trainable,
    )


class ClientModelEvaluationTest(parameterized.TestCase):
  @parameterized.parameters('functional', 'keras')
  def test_follows_numpy(self, name):
    model = softmax_regression.MODELS[name]
    if name == 'functional':
      models = [
        tff.learning.models.ModelWeights(
          tuple(m.trainable), tuple(m.non_trainable)
        )
        for m in _models(model, 3)
      ]
    else:
      models = list(_models(model, 3))
    found = _evaluation(name)(models, _chunks)
    pooled = tuple(np.concatenate(parts) for parts in zip(*_PARTS))
    self.assertLen(found, 3)
    for actual, weights in zip(found, models):
      expected = softmax_regression.numpy_metrics(
        softmax_regression.as_arrays(weights), pooled
      )
      self.assertEqual(actual['num_examples'], 26)
      for metric in ('loss', 'accuracy'):
        np.testing.assert_allclose(actual[metric], expected[metric], rtol=1e-5)
    self.assertGreater(len({m['loss'] for m in found}), 1)

  def test_a_diverged_client_is_told_from_the_others(self):
    model = softmax_regression.MODELS['functional']
    good = softmax_regression.start_weights(model)
    bad = tff.learning.models.ModelWeights(
      tuple(np.full_like(w, np.nan) for w in good.trainable),
      good.non_trainable,
    )
    found = _evaluation('functional')([good, bad], _chunks)
    values, _ = client_statistics.metric_values(found, 'accuracy')
    self.assertEqual(client_statistics.count_diverged(values), 1)
    self.assertTrue(np.isfinite(values[0]))

  def test_one_model_at_a_time(self):
    model = softmax_regression.MODELS['functional']
    alive = []

    def models():
      start = softmax_regression.start_weights(model)
      for _ in range(4):
        if any(array() is not None for array in alive):
          gc.collect()
        self.assertTrue(all(array() is None for array in alive))
        weights = tff.learning.models.ModelWeights(
          tuple(w + 1 for w in start.trainable), start.non_trainable
        )
        alive.append(weakref.ref(weights.trainable[0]))
        yield weights
        del weights

    _evaluation('functional')(models(), _chunks)
    self.assertLen(alive, 4)

  def test_nobody(self):
    evaluate = _evaluation('functional')
    with self.assertRaisesRegex(errors.InputError, 'no client whose model'):
      evaluate([], _chunks)


class ClientModelsTest(absltest.TestCase):
  def test_own_models(self):
    """A client that never came has the server's model, others their own."""
    process = algorithms.build_stateful_partial_exchange(
      ref.create_functional_model(),
      tff.learning.optimizers.build_sgdm(0.3),
      selector=client_work.build_share_selector(0.25),
    )
    state = process.initialize()
    clients = [ref.to_dataset(ref.make_batches(n, n)) for n in (5, 6)]
    output = process.next(
      state, [process.initialize_client(state)] * 2, clients
    )
    states = dict(zip('ab', output.client_states))
    asked = []

    def load(client_id, structure):
      asked.append((client_id, len(structure['weights'])))
      return states.get(client_id)

    found = dict(
      zip(
        'abc',
        client_model_evaluation.own_models(process, output.state, 'abc', load),
        strict=True,
      )
    )
    self.assertEqual(asked, [('a', 4), ('b', 4), ('c', 4)])
    server = process.get_model_weights(output.state)
    for a, b in zip(found['c'].trainable, server.trainable):
      np.testing.assert_array_equal(a, b)
    for client_id in 'ab':
      same = []
      for own, mean, trained in zip(
        found[client_id].trainable,
        server.trainable,
        states[client_id]['weights'],
      ):
        same.append((np.array_equal(own, mean), np.array_equal(own, trained)))
      # One tensor of four was sent by both, or one by each of them.
      self.assertIn(sum(mean for mean, _ in same), (1, 2))
      self.assertTrue(all(mean or trained for mean, trained in same))
