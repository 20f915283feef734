# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Ditto against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized

_RATE, _SERVER_RATE, _EPOCHS, _STRENGTH = 0.3, 0.7, 2, 0.5


@functools.cache
def _build(strength):
  return algorithms.build_ditto(
    rounds.MODELS['functional'],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    personal_strength=strength,
    local_epochs=_EPOCHS,
  )


def _rounds(strength=_STRENGTH):
  return rounds.Rounds(_build(strength), epochs=_EPOCHS)


def _reference(start, strength, **kwargs):
  """Algorithm 1; the server's model is FedAvg's."""
  fed_avg = rounds.fed_avg(rate=_RATE, server_rate=_SERVER_RATE, epochs=_EPOCHS)

  def client_fn(server, personal, batches):
    sent, _ = fed_avg['client_fn'](server, None, batches)
    return sent, ref.train(
      personal or server,
      batches,
      rate=_RATE,
      epochs=_EPOCHS,
      proximal_strength=strength,
      center=server,
    )

  return rounds.reference(
    start, client_fn=client_fn, server_fn=fed_avg['server_fn'], **kwargs
  )


class DittoTest(rounds.TestCase):
  # Without a pull every client trains alone.
  @parameterized.parameters(_STRENGTH, 0.0)
  def test_follows_numpy_with_partial_participation(self, strength):
    run = _rounds(strength)
    self.check_follows(
      run, _reference(run.server(), strength), client=rounds.Rounds.own
    )

  def test_local_training_is_a_first_round(self):
    run = _rounds()
    trained = run.train_locally(run.process.get_model_weights(run.state), 'b')
    run.run('b')
    self.assert_close(trained, run.own('b'))
