# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the evaluation columns, against NumPy."""

from unittest import mock

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff.client_work import local_training
from fedfish_tff.evaluation import round_evaluation
from fedfish_tff.evaluation import scorer_inputs
from tests import tolerance

from absl.testing import absltest
import numpy as np
import tensorflow_federated as tff

_RATE = 0.1
_SIZES = {'a': 4, 'b': 7, 'single': 1}


def _clients(*names):
  clients = {}
  for name in names:
    rng = np.random.default_rng(_SIZES[name])
    x = rng.normal(size=(_SIZES[name], 2)).astype(np.float32)
    y = rng.normal(size=(_SIZES[name], 1)).astype(np.float32)
    clients[name] = (x, y)
  return datasets.InMemoryClientData(clients)


def _mse(weights, x, y):
  kernel, bias = weights
  return float(np.mean((x @ kernel + bias - y) ** 2))


def _train(weights, batches):
  """Gradient descent on the mean squared error of a linear model."""
  kernel, bias = weights
  for x, y in batches:
    residual = 2 * (x @ kernel + bias - y) / len(x)
    kernel = kernel - _RATE * x.T @ residual
    bias = bias - _RATE * residual.sum(axis=0)
  return kernel, bias


class RoundEvaluationTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.create_mlp_regressor(
      hidden_units=(), seed=1, num_features=2
    )
    cls.computations = round_evaluation.SharedComputations(
      cls.model,
      lambda: local_training.build_local_training(
        cls.model, tff.learning.optimizers.build_sgdm(_RATE)
      ),
    )
    rng = np.random.default_rng(3)
    cls.weights = (
      rng.normal(size=(2, 1)).astype(np.float32),
      rng.normal(size=(1,)).astype(np.float32),
    )
    cls.model_weights = tff.learning.models.ModelWeights(cls.weights, ())

  def _build(self, clients, epochs=2, spread_of=None):
    spec = datasets.BatchSpec(batch_size=2, epochs=epochs) if epochs else None
    return round_evaluation.HeldOutEvaluation(
      self.computations,
      clients,
      eval_batch_size=3,
      fine_tune_spec=spec,
      seed=5,
      spread_of=spread_of,
    )

  def test_held_out_clients_before_and_after_personalization(self):
    clients = _clients('a', 'b')
    columns = self._build(clients)(self.model_weights)
    together = [
      np.concatenate(part)
      for part in zip(*(clients.load_client(c) for c in 'ab'))
    ]
    before, after, sizes = [], [], []
    for client_id in 'ab':
      examples = clients.load_client(client_id)
      fine_tune, unseen = (
        datasets.take_examples(examples, rows)
        for rows in datasets.split_rows(
          datasets.count_examples(examples),
          fraction=0.5,
          client_id=client_id,
          seed=5,
        )
      )
      batches = datasets.plan_batches(
        fine_tune,
        datasets.BatchSpec(batch_size=2, epochs=2),
        client_id=client_id,
        seed=5,
        round_number=0,
      )
      before.append(_mse(self.weights, *unseen))
      after.append(_mse(_train(self.weights, batches), *unseen))
      sizes.append(len(unseen[0]))
    expected = {
      'global/mse': _mse(self.weights, *together),
      'personalized/mse': np.average(after, weights=sizes),
      'personalized/mse_before': np.average(before, weights=sizes),
    }
    for name, value in expected.items():
      tolerance.assert_close(columns[name], value, err_msg=name)
      tolerance.assert_close(
        columns[name.replace('mse', 'loss')],
        value,
        err_msg=name,
      )
    self.assertEqual(columns['personalized/diverged_clients'], 0)
    self.assertEqual(columns['global/diverged_clients'], 0)
    self.assertLen(columns, 8)

  def test_the_spread_over_clients(self):
    clients = _clients('a', 'b')
    columns = self._build(clients, spread_of={'mse': False})(self.model_weights)
    scores = [_mse(self.weights, *clients.load_client(c)) for c in 'ab']
    for name, expected in {
      'global/mse_client_mean': np.mean(scores),
      'global/mse_client_std': np.std(scores),
      'global/mse_worst_tenth': np.max(scores),
      'global/mse_jain_index': sum(scores) ** 2 / (2 * sum(np.square(scores))),
    }.items():
      tolerance.assert_close(
        columns[name],
        expected,
        scale=np.max(scores),
        err_msg=name,
      )
    plain = self._build(clients)(self.model_weights)
    self.assertContainsSubset(plain, columns)
    self.assertLen(columns, len(plain) + 8)
    alone = [
      self._build(_clients(c))(self.model_weights)['personalized/mse']
      for c in 'ab'
    ]
    tolerance.assert_close(columns['personalized/mse_worst_tenth'], max(alone))

  def test_does_not_depend_on_how_many_are_in_memory(self):
    clients = datasets.InMemoryClientData(
      {
        f'{name}{i}': _clients(name).load_client(name)
        for i, name in enumerate('abaab')
      }
    )
    together = self._build(clients, spread_of={'mse': False})(
      self.model_weights
    )
    for at_a_time in (1, 2):
      with mock.patch.object(scorer_inputs, '_CLIENTS_AT_A_TIME', at_a_time):
        columns = self._build(clients, spread_of={'mse': False})(
          self.model_weights
        )
      self.assertCountEqual(columns, together)
      for name, value in together.items():
        tolerance.assert_close(columns[name], value, err_msg=name)

  def test_without_personalization(self):
    columns = self._build(_clients('a'), epochs=0)(self.model_weights)
    self.assertCountEqual(
      columns, ['global/loss', 'global/mse', 'global/diverged_clients']
    )

  def test_a_client_of_one_example_is_not_personalized(self):
    with self.assertLogs(level='WARNING') as logs:
      columns = self._build(_clients('a', 'single'))(self.model_weights)
    self.assertIn('1 of 2 held-out clients', logs.output[0])
    alone = self._build(_clients('a'))(self.model_weights)
    self.assertEqual(columns['personalized/mse'], alone['personalized/mse'])
    self.assertNotEqual(columns['global/mse'], alone['global/mse'])
    self.assertEqual(columns['personalized/scored_clients'], 1)
    self.assertNotIn('personalized/scored_clients', alone)

  def test_no_client_to_personalize(self):
    with self.assertRaisesRegex(errors.InputError, 'No held-out client'):
      self._build(_clients('single'))

  def test_clients_that_diverge_are_counted(self):
    clients = {c: _clients('a', 'b').load_client(c) for c in 'ab'}
    x, y = clients['a']
    clients['a'] = (x * np.float32(1e38), y)
    clients = datasets.InMemoryClientData(clients)
    columns = self._build(clients, spread_of={'mse': False})(self.model_weights)
    for group in ('global', 'personalized'):
      self.assertEqual(columns.pop(f'{group}/diverged_clients'), 1)
    # Of one client they would look like the scores of both.
    for name, value in columns.items():
      self.assertFalse(np.isfinite(value), name)
