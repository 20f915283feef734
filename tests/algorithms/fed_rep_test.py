# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedRep against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import errors
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

import pytest
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _HEAD_EPOCHS, _BODY_EPOCHS = 0.3, 0.7, 3, 2
_EPOCHS = _HEAD_EPOCHS + _BODY_EPOCHS
_MODELS = {
  'functional': ref.create_functional_model(),
  'variable': ref.create_variable_model,
}
_HEAD = (False, False, True, True)
_BODY = (True, True, False, False)


def setUpModule():
  contexts.set_default_context()


@functools.cache
def _build(kind='functional', local=_HEAD, momentum=None, **kwargs):
  return algorithms.build_fed_rep(
    _MODELS[kind],
    tff.learning.optimizers.build_sgdm(_RATE, momentum=momentum),
    tff.learning.optimizers.build_sgdm(_SERVER_RATE),
    local_tensors=local,
    head_epochs=_HEAD_EPOCHS,
    body_epochs=_BODY_EPOCHS,
    **kwargs,
  )


def _rounds(*args, **kwargs):
  return client_state_rounds.Rounds(_build(*args, **kwargs), epochs=_EPOCHS)


def _alternate(weights, batches):
  head_trained = ref.train(
    weights, batches, rate=_RATE, epochs=_HEAD_EPOCHS, trained=_HEAD
  )
  return ref.train(
    head_trained, batches, rate=_RATE, epochs=_BODY_EPOCHS, trained=_BODY
  )


class FedRepTest(client_state_rounds.TestCase):
  def test_follows_numpy_with_partial_participation(self):
    run = _rounds()
    self.check_follows(
      run,
      client_state_rounds.PartiallyLocalReference(
        run.server(),
        _alternate,
        local=_HEAD,
        server_rate=_SERVER_RATE,
        weights=dict.fromkeys(client_state_rounds.SIZES, 1),
      ),
    )

  @pytest.mark.thorough
  def test_a_variable_model_follows_numpy_weighted_by_examples(self):
    run = _rounds(
      'variable', client_weighting=tff.learning.ClientWeighting.NUM_EXAMPLES
    )
    self.check_follows(
      run,
      client_state_rounds.PartiallyLocalReference(
        run.server(), _alternate, local=_HEAD, server_rate=_SERVER_RATE
      ),
    )

  @pytest.mark.thorough
  def test_neither_empty_nor_diverged_clients_change_anything(self):
    self.check_leaves_out(_rounds(), _rounds())

  @pytest.mark.thorough
  def test_with_everything_local_every_client_trains_alone(self):
    """In its head's epochs; two rounds are one training without a break."""
    run = _rounds(local=(True,) * 4)
    start = run.server()
    for _ in range(2):
      run.run('abcd')
    self.assert_same(run.server(), start)
    for client, data in client_state_rounds.DATA.items():
      self.assert_close(
        run.own(client),
        ref.train(start, data, rate=_RATE, epochs=2 * _HEAD_EPOCHS),
      )

  def test_local_training_is_of_the_head(self):
    run = _rounds()
    weights = run.process.get_model_weights(run.state)
    data = client_state_rounds.DATA['b']
    # In any number of epochs.
    trained = run.process.local_training(weights, ref.to_dataset(data))
    self.assert_same(trained.trainable[:2], weights.trainable[:2])
    self.assert_close(
      trained.trainable,
      ref.train(weights.trainable, data, rate=_RATE, epochs=1, trained=_HEAD),
    )

  def test_refuses_other_epochs(self):
    with self.assertRaisesRegex(errors.InputError, 'head_epochs must be 1'):
      algorithms.build_fed_rep(
        _MODELS['functional'],
        tff.learning.optimizers.build_sgdm(_RATE),
        local_tensors=_HEAD,
        head_epochs=0,
      )
    run = client_state_rounds.Rounds(_build(), epochs=4)
    with self.assertRaisesRegex(
      Exception, r'FedRep was built with local_epochs=5'
    ):
      run.run('a')
