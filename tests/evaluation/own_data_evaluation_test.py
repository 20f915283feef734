# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models on clients' own test data, against NumPy."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import datasets
from fedfish_tff import errors
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
    lambda: process.local_training,
    getattr(process, 'client_model_weights', None),
  )


def _evaluation(has_states, *, epochs=_EPOCHS, **options):
  clients = _clients()
  return own_data_evaluation.OwnDataEvaluation(
    _process(has_states),
    _computations(has_states),
    train=datasets.InMemoryClientData({c: t for c, (t, _) in clients.items()}),
    # All examples in one batch: no order.
    tuning_spec=(
      datasets.BatchSpec(batch_size=10, epochs=epochs) if epochs else None
    ),
    eval_batch_size=4,
    higher_is_better={'loss': False, 'accuracy': True},
    seed=0,
    **{
      'own_models': has_states,
      'test': datasets.InMemoryClientData(
        {c: t for c, (_, t) in clients.items() if len(t[0])}
      ),
      **options,
    },
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
  def _check(self, columns, scores):
    """Checks columns against each client's scores by group."""
    expected = {f'{group}/diverged_clients': 0 for group in scores}
    for group, of_group in scores.items():
      for name, worst in (('loss', np.max), ('accuracy', np.min)):
        values = _values(of_group, name)
        expected |= {
          f'{group}/{name}': np.mean(values),
          f'{group}/{name}_client_std': np.std(values),
          # Of three clients, one.
          f'{group}/{name}_worst_tenth': worst(values),
          f'{group}/{name}_low_tenth': np.quantile(values, 0.1),
          f'{group}/{name}_median': np.median(values),
          f'{group}/{name}_high_tenth': np.quantile(values, 0.9),
          f'{group}/{name}_jain_index': np.sum(values) ** 2
          / (len(values) * np.sum(values**2)),
        }
    self.assertEqual(columns.keys(), expected.keys())
    for column, value in expected.items():
      tolerance.assert_close(
        columns[column],
        value,
        relative=tolerance.FLOAT32_STEPS,
        scale=max(1, value),
        err_msg=column,
      )

  def test_the_server_s_model_as_it_is_and_fine_tuned(self):
    state = _process(False).initialize()
    weights = softmax_regression.initial_weights()
    before, after = _expected(lambda _: weights, _EPOCHS)
    evaluation = _evaluation(False)
    self.assertEqual(evaluation.client_ids, ['a', 'b', 'c'])
    self._check(
      evaluation(state), {'own_global': before, 'own_fine_tuned': after}
    )
    self._check(
      _evaluation(False, new_clients=True)(state),
      {'new_global': before, 'new_fine_tuned': after},
    )
    self._check(
      evaluation(state, groups=['own_global']), {'own_global': before}
    )

  def test_own_weights_as_they_are_and_fine_tuned(self):
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

    server, of_new = _expected(lambda _: (kernel, bias), _EPOCHS)
    own, after = _expected(weights_of, _EPOCHS)
    groups = {'own_global': server, 'own': own, 'own_fine_tuned': after}
    self._check(_evaluation(True)(state, load), groups)
    del groups['own_fine_tuned']
    self._check(_evaluation(True, epochs=0)(state, load), groups)
    # Such as with control variates in the states.
    del groups['own']
    self._check(
      _evaluation(True, epochs=0, own_models=False)(state, load), groups
    )
    self._check(
      _evaluation(True, new_clients=True)(state),
      {'new_global': server, 'new_fine_tuned': of_new},
    )
    found = own_data_evaluation.own_models(process, state, 'abc', load)
    for name, model in zip('abc', found, strict=True):
      tolerance.assert_all_close(model.trainable, weights_of(name))

  def test_bad_arguments(self):
    others = datasets.InMemoryClientData({'z': _clients()['a'][1]})
    with self.assertRaisesRegex(
      errors.InputError,
      'must have a client of train, got none of its 4 among 1',
    ):
      _evaluation(True, test=others)
    with self.assertRaisesRegex(
      errors.InputError, 'group must be one of own_g'
    ):
      _evaluation(False)(None, groups=['own'])

  def test_a_diverged_client_leaves_no_mean(self):
    process = _process(True)
    state = process.initialize()

    def load(client_id, structure):
      value = np.nan if client_id == 'a' else 0.0
      return tf.nest.map_structure(lambda w: w + np.float32(value), structure)

    columns = _evaluation(True)(state, load)
    self.assertEqual(columns['own_global/diverged_clients'], 0)
    self.assertTrue(np.isfinite(columns['own_global/loss']))
    for group in ('own', 'own_fine_tuned'):
      self.assertEqual(columns[f'{group}/diverged_clients'], 1)
      for name in ('loss', 'accuracy_worst_tenth', 'accuracy_median'):
        self.assertTrue(np.isnan(columns[f'{group}/{name}']), name)
