# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedBuff and FedAsync against NumPy, and exact limits."""

import functools

from fedfish_tff import aggregators
from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import simulation
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS, _MOST = 0.3, 0.7, 2, 3
# Clients are absent in between, and one has a single example.
_DATA = rounds.DATA | {'e': ref.make_batches(1, 1)}
# The staleness of each client of a round.
_ROUNDS = (
  {'a': 0, 'b': 0, 'e': 0},
  {'c': 1, 'd': 0},
  {'e': 2, 'a': 0, 'c': 1},
  {'b': 3, 'd': 1},
  {'a': 2, 'e': 3},
)
_WEIGHTS = {
  'constant': (algorithms.constant_staleness_weight, lambda d: 1.0),
  'polynomial': (
    algorithms.polynomial_staleness_weight(0.7),
    lambda d: (d + 1) ** -0.7,
  ),
  'hinge': (
    algorithms.hinge_staleness_weight(2.0, 1.0),
    lambda d: 1.0 if d <= 1 else 1 / (2.0 * (d - 1) + 1),
  ),
}


@functools.cache
def _build_fed_buff(kind='functional', **kwargs):
  return algorithms.build_fed_buff(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    **{'max_staleness': _MOST, **kwargs},
  )


@functools.cache
def _build_fed_async(kind='functional', **kwargs):
  return algorithms.build_fed_async(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    **{'max_staleness': _MOST, **kwargs},
  )


def _train(weights, client):
  return ref.train(weights, _DATA[client], rate=_RATE, epochs=_EPOCHS)


class FedBuffTest(rounds.TestCase):
  def _check_follows_numpy(self, process, update_fn, *, by_size=False):
    run = rounds.Rounds(process, epochs=_EPOCHS)
    models = [run.server()]
    for staleness in _ROUNDS:
      run.clients = {c: np.int32(d) for c, d in staleness.items()}
      run.run(staleness, _DATA)
      weights = [
        rounds.count_examples(_DATA[c]) if by_size else 1 for c in staleness
      ]
      updates = [
        update_fn(models[-1], models[-1 - d], _train(models[-1 - d], c), d)
        for c, d in staleness.items()
      ]
      models.append(
        [
          w + np.average(u, axis=0, weights=weights)
          for w, u in zip(models[-1], zip(*updates))
        ]
      )
      self.assert_close(run.server(), models[-1])

  # Both take the weights of the staleness from one function.
  @parameterized.parameters('polynomial', 'hinge')
  def test_fed_buff_follows_numpy(self, name):
    weight, expected = _WEIGHTS[name]
    self._check_follows_numpy(
      _build_fed_buff(staleness_weight=weight),
      lambda newest, start, end, d: [
        _SERVER_RATE * expected(d) * (e - s) for e, s in zip(end, start)
      ],
    )

  @parameterized.parameters('constant', 'polynomial')
  def test_fed_async_follows_numpy(self, name):
    weight, expected = _WEIGHTS[name]
    self._check_follows_numpy(
      _build_fed_async(staleness_weight=weight, mixing_weight=0.4),
      lambda newest, start, end, d: [
        0.4 * expected(d) * (e - n) for e, n in zip(end, newest)
      ],
    )

  @pytest.mark.thorough
  def test_a_variable_model_and_weights_by_examples_follow_numpy(self):
    self._check_follows_numpy(
      _build_fed_buff(
        'variable', client_weighting=tff.learning.ClientWeighting.NUM_EXAMPLES
      ),
      lambda newest, start, end, d: [
        _SERVER_RATE * (d + 1) ** -0.5 * (e - s) for e, s in zip(end, start)
      ],
      by_size=True,
    )

  def test_with_the_newest_models_fed_buff_is_fed_avg(self):
    self.check_equals(
      rounds.Rounds(_build_fed_buff(max_staleness=0), epochs=_EPOCHS),
      algorithms.build_fed_avg(
        rounds.MODELS['functional'],
        rounds.sgd(_RATE),
        rounds.sgd(_SERVER_RATE),
        client_weighting=tff.learning.ClientWeighting.UNIFORM,
      ),
      cohorts=rounds.COHORTS,
    )

  def test_with_weight_1_fed_async_trains_one_client_after_another(self):
    run = rounds.Rounds(_build_fed_async(mixing_weight=1.0), epochs=_EPOCHS)
    expected = run.server()
    for client in 'aebd':
      run.run(client, _DATA)
      expected = _train(expected, client)
      self.assert_close(run.server(), expected)

  def test_one_model_is_received_and_one_is_sent(self):
    measured = [
      simulation.measure_wire_bytes(process)
      for process in (
        _build_fed_buff(),
        algorithms.build_fed_avg(
          rounds.MODELS['functional'], rounds.sgd(_RATE)
        ),
      )
    ]
    self.assertEqual(*measured)

  def test_clients_that_diverge_or_have_no_data_change_nothing(self):
    run = rounds.Rounds(_build_fed_buff(), epochs=_EPOCHS)
    run.run('ab')
    other = run.copy()
    run.clients |= {'c': np.int32(1)}
    run.run('abc', {'b': rounds.BROKEN, 'c': []})
    other.run('a')
    held, others = (tf.nest.flatten(r.state.client_work) for r in (run, other))
    self.assert_same(held, others)

  def test_without_data_no_earlier_model_comes_back(self):
    # This mean ignores the clients' weights.
    mean = aggregators.PrivateMeanFactory(
      noise_multiplier=0.0, clip_norm=100.0, expected_clients=1
    )
    run = rounds.Rounds(_build_fed_async(model_aggregator=mean), epochs=_EPOCHS)
    run.run('a')
    run.run('a')
    before = run.state.global_model_weights
    run.clients |= {'c': np.int32(2)}
    run.run('c', {'c': []})
    self.assert_same(
      *map(tf.nest.flatten, (before, run.state.global_model_weights))
    )

  @parameterized.parameters(-1, _MOST + 1)
  def test_models_that_are_not_held_are_refused(self, staleness):
    run = rounds.Rounds(_build_fed_buff(), epochs=_EPOCHS)
    run.clients = {'a': np.int32(staleness)}
    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      run.run('a')
    self.assertEqual(
      errors.describe_failed_check(caught.exception, ['a']),
      f'Client a: staleness must be from 0 to {_MOST}, got {staleness}',
    )

  def test_bad_weights_of_staleness_are_refused(self):
    for build, name in (
      (lambda: algorithms.polynomial_staleness_weight(-1.0), 'exponent'),
      (lambda: algorithms.hinge_staleness_weight(slope=-1.0), 'slope'),
      (lambda: algorithms.hinge_staleness_weight(delay=np.inf), 'delay'),
    ):
      with self.assertRaisesRegex(
        errors.InputError, f'^{name} must be .*0 or more'
      ):
        build()
