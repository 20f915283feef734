# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from tests import numpy_reference as ref
from tests import rounds

import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _HEAD_EPOCHS, _BODY_EPOCHS = 0.3, 0.7, 3, 2
_EPOCHS = _HEAD_EPOCHS + _BODY_EPOCHS


@functools.cache
def _build(kind='functional', local=rounds.HEAD, **kwargs):
  return algorithms.build_fed_rep(
    rounds.MODELS[kind],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    local_tensors=local,
    head_epochs=_HEAD_EPOCHS,
    body_epochs=_BODY_EPOCHS,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


def _alternate(weights, batches):
  for epochs, trained in (
    (_HEAD_EPOCHS, rounds.HEAD),
    (_BODY_EPOCHS, rounds.BODY),
  ):
    weights = ref.train(
      weights, batches, rate=_RATE, epochs=epochs, trained=trained
    )
  return weights


class FedRepTest(rounds.TestCase):
  def _check_follows_numpy(self, run, *, uniform):
    method = rounds.partially_local(
      _alternate, server_rate=_SERVER_RATE, uniform=uniform
    )
    self.check_follows(run, rounds.reference(run.server(), **method))

  def test_follows_numpy_with_partial_participation(self):
    self._check_follows_numpy(_rounds(), uniform=True)

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_weighted_by_examples(self):
    weighting = tff.learning.ClientWeighting.NUM_EXAMPLES
    self._check_follows_numpy(
      _rounds('variable', client_weighting=weighting), uniform=False
    )

  @pytest.mark.thorough
  def test_with_everything_local_every_client_trains_alone(self):
    """In its head's epochs; two rounds are one training without a break."""
    run = _rounds(local=(True,) * 4)
    start = run.server()
    for _ in range(2):
      run.run('abcd')
    self.assert_same(run.server(), start)
    for client, data in rounds.DATA.items():
      self.assert_close(
        run.own(client),
        ref.train(start, data, rate=_RATE, epochs=2 * _HEAD_EPOCHS),
      )

  def test_local_training_is_of_the_head(self):
    run = rounds.Rounds(_build(), epochs=1)  # Or any other number.
    weights = run.process.get_model_weights(run.state)
    trained = run.train_locally(weights, 'b')
    self.assert_same(trained[:2], weights.trainable[:2])
    self.assert_close(
      trained,
      ref.train(
        weights.trainable,
        rounds.DATA['b'],
        rate=_RATE,
        epochs=1,
        trained=rounds.HEAD,
      ),
    )

  def test_refuses_other_epochs(self):
    with self.assertRaisesRegex(errors.InputError, 'head_epochs must be 1'):
      algorithms.build_fed_rep(
        rounds.MODELS['functional'],
        rounds.sgd(_RATE),
        local_tensors=rounds.HEAD,
        head_epochs=0,
      )
    with self.assertRaisesRegex(
      Exception, r'FedRep was built with local_epochs=5'
    ):
      rounds.Rounds(_build(), epochs=4).run('a')
