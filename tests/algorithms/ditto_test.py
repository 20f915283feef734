# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ditto against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

import numpy as np
import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS, _STRENGTH = 0.3, 0.7, 2, 0.5
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}


def setUpModule():
  contexts.set_default_context()


def _sgd(rate):
  return tff.learning.optimizers.build_sgdm(rate)


@functools.cache
def _build(kind='functional', strength=_STRENGTH):
  return algorithms.build_ditto(
    _MODELS[kind],
    _sgd(_RATE),
    _sgd(_SERVER_RATE),
    personal_strength=strength,
    local_epochs=_EPOCHS,
  )


def _rounds(*args, **kwargs):
  return client_state_rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


class _Reference:
  """Algorithm 1 in NumPy; the server's model is FedAvg's."""

  def __init__(self, start, strength):
    self.server = tuple(np.float64(w) for w in start)
    self.clients = {}
    self.strength = strength

  def run(self, cohort):
    for c in cohort:
      self.clients[c] = ref.train(
        self.clients.get(c, self.server),
        client_state_rounds.DATA[c],
        rate=_RATE,
        epochs=_EPOCHS,
        proximal_strength=self.strength,
        center=self.server,
      )
    self.server = ref.fed_avg_round(
      self.server,
      [client_state_rounds.DATA[c] for c in cohort],
      rate=_RATE,
      server_rate=_SERVER_RATE,
      epochs=_EPOCHS,
    )


class DittoTest(client_state_rounds.TestCase):
  def _check_follows_numpy(self, run):
    reference = _Reference(run.server(), _STRENGTH)
    for cohort in client_state_rounds.COHORTS:
      metrics = run.run(cohort)
      reference.run(cohort)
      self.assert_close(run.server(), reference.server)
      for client, personal in reference.clients.items():
        self.assert_close(run.own(client), personal)
      # Of the server's model alone.
      self.assertEqual(
        metrics['client_work']['train']['num_examples'],
        _EPOCHS * sum(client_state_rounds.SIZES[c] for c in cohort),
      )
    apart = [np.abs(a - b).max() for a, b in zip(run.own('a'), run.server())]
    self.assertGreater(max(apart), 0.05)

  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy(_rounds())

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy(self):
    self._check_follows_numpy(_rounds('variable'))

  def test_without_a_pull_every_client_trains_alone_beside_fed_avg(self):
    run = _rounds(strength=0.0)
    start = run.server()
    reference = _Reference(start, 0.0)
    for _ in range(2):
      run.run('abcd')
      reference.run('abcd')
    self.assert_close(run.server(), reference.server)
    for client, data in client_state_rounds.DATA.items():
      self.assert_close(
        run.own(client),
        ref.train(start, data, rate=_RATE, epochs=2 * _EPOCHS),
      )

  def test_neither_empty_nor_diverged_clients_change_anything(self):
    self.check_leaves_out(_rounds(), _rounds())

  @pytest.mark.thorough
  def test_a_client_whose_own_model_diverges_is_left_out(self):
    run, without = _rounds(), _rounds()
    broken = run.process.initialize_client(run.state)
    broken['personal'] = tuple(
      np.full_like(w, 1e38) for w in broken['personal']
    )
    run.clients['a'] = broken
    metrics = run.run('ab')
    without.run('b')
    self.assertEqual(metrics['client_work']['excluded_clients'], 1)
    self.assert_same(run.clients['a'], broken)
    self.assert_same(run.state['model'], without.state['model'])

  def test_local_training_is_a_first_round(self):
    run = _rounds()
    weights = run.process.get_model_weights(run.state)
    trained = run.process.local_training(
      weights, ref.to_dataset(client_state_rounds.DATA['b'], epochs=_EPOCHS)
    )
    run.run('b')
    self.assert_close(trained.trainable, run.own('b'))

  def test_costs(self):
    self.assertEqual(_build().extra_passes, _EPOCHS)
    fed_avg = algorithms.build_fed_avg(_MODELS['functional'], _sgd(_RATE))
    self.assertEqual(
      simulation.measure_wire_bytes(_build()),
      simulation.measure_wire_bytes(fed_avg),
    )

  def test_refuses_a_negative_pull(self):
    with self.assertRaisesRegex(errors.InputError, 'proximal strength'):
      _build(strength=-1.0)
