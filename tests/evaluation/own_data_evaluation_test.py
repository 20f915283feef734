# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Clients' own models on their own test data, against NumPy."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff.evaluation import own_data_evaluation
from fedfish_tff.evaluation import round_evaluation
from tests import tolerance
from tests.evaluation import softmax_regression

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_MODEL = softmax_regression.MODELS['functional']
_SIZES = {'a': (9, 5), 'b': (4, 8), 'c': (6, 3), 'untested': (5, 0)}
_EPOCHS = 2


@functools.cache
def _clients():
  """Returns what each client trains and tests on."""
  return {
    name: [
      softmax_regression.draw_examples(size, seed=10 * i + j)
      for j, size in enumerate(sizes)
    ]
    for i, (name, sizes) in enumerate(_SIZES.items())
  }


@functools.cache
def _process(has_states):
  sgd = tff.learning.optimizers.build_sgdm
  arguments = _MODEL, sgd(softmax_regression.LEARNING_RATE), sgd(1.0)
  if not has_states:
    return algorithms.build_fed_avg(*arguments)
  return algorithms.build_fed_per(*arguments, local_tensors=(False, True))


@functools.cache
def _computations(has_states):
  process = _process(has_states)
  return round_evaluation.SharedComputations(
    _MODEL,
    process.local_training,
    getattr(process, 'client_model_weights', None),
  )


def _evaluation(has_states, *, epochs=_EPOCHS):
  clients = _clients()
  return own_data_evaluation.OwnDataEvaluation(
    _process(has_states),
    _computations(has_states),
    train=datasets.InMemoryClientData({c: t for c, (t, _) in clients.items()}),
    test=datasets.InMemoryClientData(
      {c: t for c, (_, t) in clients.items() if len(t[0])}
    ),
    # All examples in one batch: no order.
    tuning_spec=(
      datasets.BatchSpec(batch_size=10, epochs=epochs) if epochs else None
    ),
    eval_batch_size=4,
    higher_is_better={'loss': False, 'accuracy': True},
    seed=0,
  )


def _expected(weights_of, epochs):
  """Returns each client's metrics, of weights before tuning."""
  before, after = [], []
  for name, (train, test) in _clients().items():
    if len(test[0]):
      weights = weights_of(name)
      before.append(softmax_regression.numpy_metrics(weights, test))
      tuned = softmax_regression.numpy_train(weights, [train] * epochs)
      after.append(softmax_regression.numpy_metrics(tuned, test))
  return before, after


def _values(metrics, name):
  return np.array([client[name] for client in metrics])


class OwnDataEvaluationTest(absltest.TestCase):
  def _check(self, columns, weights_of, epochs=_EPOCHS):
    before, after = _expected(weights_of, epochs)
    self.assertEqual(columns['diverged_clients'], 0)
    for name, worst in (('loss', np.max), ('accuracy', np.min)):
      values = _values(after, name)
      expected = {
        name: np.mean(values),
        f'{name}_client_std': np.std(values),
        # Of three clients, one.
        f'{name}_worst_tenth': worst(values),
        f'{name}_low_tenth': np.quantile(values, 0.1),
        f'{name}_median': np.median(values),
        f'{name}_high_tenth': np.quantile(values, 0.9),
      }
      if epochs:
        expected[f'{name}_before'] = np.mean(_values(before, name))
      found = {c: v for c, v in columns.items() if c.startswith(name)}
      self.assertEqual(found.keys(), expected.keys())
      for column, value in expected.items():
        tolerance.assert_close(
          found[column],
          value,
          relative=tolerance.FLOAT32_STEPS,
          scale=max(1, value),
          err_msg=column,
        )

  def test_the_server_s_model_tuned(self):
    state = _process(False).initialize()
    weights = softmax_regression.initial_weights()
    self._check(_evaluation(False)(state), lambda _: weights)

  def test_own_weights_tuned_and_not(self):
    process = _process(True)
    state = process.initialize()
    kernel, bias = softmax_regression.initial_weights()
    shifts = {'a': 1.0, 'b': -2.0}

    def load(client_id, structure):
      if client_id not in shifts:
        return None  # Has never come.
      shift = np.float32(shifts[client_id] * np.arange(4))
      return tf.nest.map_structure(lambda w: w + shift, structure)

    def weights_of(name):
      return kernel, bias + shifts.get(name, 0) * np.arange(4)

    self._check(_evaluation(True)(state, load), weights_of)
    self._check(_evaluation(True, epochs=0)(state, load), weights_of, epochs=0)
    # New clients.
    self._check(_evaluation(True)(state), lambda _: (kernel, bias))
    found = own_data_evaluation.own_models(process, state, 'abc', load)
    for name, model in zip('abc', found, strict=True):
      tolerance.assert_all_close(model.trainable, weights_of(name))

  def test_a_diverged_client_is_left_out(self):
    process = _process(True)
    state = process.initialize()

    def load(client_id, structure):
      value = np.nan if client_id == 'a' else 0.0
      return tf.nest.map_structure(lambda w: w + np.float32(value), structure)

    columns = _evaluation(True)(state, load)
    self.assertEqual(columns['diverged_clients'], 1)
    _, after = _expected(lambda _: softmax_regression.initial_weights(), 2)
    tolerance.assert_close(
      columns['loss'],
      np.mean(_values(after[1:], 'loss')),
      relative=tolerance.FLOAT32_STEPS,
    )
