# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedPer against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS = 0.3, 0.7, 2


@functools.cache
def _build(kind='functional', local=rounds.HEAD, **kwargs):
  return algorithms.build_fed_per(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    local_tensors=local,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


class FedPerTest(rounds.TestCase):
  def _check_follows_numpy(self, run, **kwargs):
    start = run.server()
    method = rounds.partially_local(
      functools.partial(ref.train, rate=_RATE, epochs=_EPOCHS),
      server_rate=_SERVER_RATE,
      **kwargs,
    )
    self.check_follows(run, rounds.reference(start, **method))
    # The server's own head is nobody's.
    self.assert_same(run.server()[2:], start[2:])
    self.assert_same(
      run.own('a'), (*run.server()[:2], *run.clients['a']['local'])
    )

  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy(_rounds())

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_with_uniform_weights(self):
    uniform = tff.learning.ClientWeighting.UNIFORM
    self._check_follows_numpy(
      _rounds('variable', client_weighting=uniform), uniform=True
    )

  @pytest.mark.thorough
  def test_with_nothing_local_it_is_fed_avg(self):
    """Bit for bit: the same operations in the same order."""
    run = _rounds(local=(False,) * 4)
    fed_avg = rounds.Rounds(
      algorithms.build_fed_avg(
        rounds.MODELS['functional'], rounds.sgd(_RATE), rounds.sgd(_SERVER_RATE)
      ),
      epochs=_EPOCHS,
    )
    for cohort in rounds.COHORTS[:3]:
      run.run(cohort)
      fed_avg.run(cohort)
    self.assert_same(run.server(), fed_avg.server())

  def test_local_training_is_of_all_tensors(self):
    run = _rounds()
    run.run('ab')
    weights = run.process.client_model_weights(run.state, run.clients['a'])
    self.assert_close(
      run.train_locally(weights, 'a'),
      ref.train(
        weights.trainable, rounds.DATA['a'], rate=_RATE, epochs=_EPOCHS
      ),
    )

  def test_refuses_another_number_of_tensors(self):
    with self.assertRaisesRegex(errors.InputError, 'of the 4 trainable'):
      _build(local=(True, False))
