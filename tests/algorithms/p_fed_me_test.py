# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""pFedMe against NumPy, and exact limits."""

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

import pytest

_RATE, _SERVER_RATE, _EPOCHS = 0.3, 0.7, 2


def _rounds(kind='functional', **options):
  process = algorithms.build_p_fed_me(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    personal_learning_rate=0.2,
    local_epochs=_EPOCHS,
    **options,
  )
  return rounds.Rounds(process, epochs=_EPOCHS)


def _train(weights, batches, *, steps, strength):
  """The inner loop of Algorithm 1: w_i and v_i after a round."""
  personal = weights
  for batch in batches * _EPOCHS:
    personal = ref.train(
      personal,
      [batch] * steps,
      rate=0.2,
      epochs=1,
      proximal_strength=strength,
      center=weights,
    )
    weights = [
      w - _RATE * strength * (w - v) for w, v in zip(weights, personal)
    ]
  return weights, personal


def _reference(start, **options):
  average = rounds.averaging(
    lambda trained, _: trained, server_rate=_SERVER_RATE, uniform=True
  )

  def client_fn(server, unused_state, batches):
    trained, personal = _train(server, batches, **options)
    return average['client_fn'](trained, None, batches)[0], personal

  return rounds.reference(
    start, client_fn=client_fn, server_fn=average['server_fn']
  )


class PFedMeTest(rounds.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy('functional', 3, 0.5)

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy(self):
    self._check_follows_numpy('variable', 2, 2.0)

  def _check_follows_numpy(self, kind, steps, strength):
    run = _rounds(kind, personal_steps=steps, personal_strength=strength)
    expected = _reference(run.server(), steps=steps, strength=strength)
    self.check_follows(run, expected, client=rounds.Rounds.own)

  def test_local_training_is_the_own_model_of_a_round(self):
    run = _rounds()
    trained = run.train_locally(run.process.get_model_weights(run.state), 'b')
    run.run('b')
    self.assert_close(trained, run.own('b'))

  def test_a_full_step_to_the_own_model_is_fed_avg(self):
    """With eta lambda = 1 and K = 1, w_i is v_i, whose pull is then 0."""
    strength = 1 / _RATE
    run = _rounds(personal_steps=1, personal_strength=strength)
    fed_avg = rounds.fed_avg(
      rate=0.2, server_rate=_SERVER_RATE, epochs=_EPOCHS, uniform=True
    )
    expected = rounds.reference(run.server(), **fed_avg)
    for cohort, (server, _) in zip(rounds.COHORTS, expected):
      run.run(cohort)
      self.assert_close(run.server(), server)
