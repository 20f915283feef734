# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedCM against NumPy, and where it is FedAvg."""

from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff import errors
from fedfish_tff import parameters
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np
import tensorflow_federated as tff

_RATE, _SERVER_RATE, _EPOCHS, _MIXTURE = 0.3, 0.7, 2, 0.4
_MODEL = rounds.MODELS['functional']
_UNIFORM = tff.learning.ClientWeighting.UNIFORM
_NUM_EXAMPLES = tff.learning.ClientWeighting.NUM_EXAMPLES


def _train(weights, direction, batches, decay):
  """Returns the weights after a client's steps, and their number."""
  weights = [np.float64(w) for w in weights]
  for batch in batches * _EPOCHS:
    weights = [
      w - _RATE * (_MIXTURE * g + (1 - _MIXTURE) * d + decay * w)
      for w, g, d in zip(weights, ref.gradients(weights, *batch), direction)
    ]
  return weights, _EPOCHS * len(batches)


def _reference(start, *, by_examples=False, decay=0.0):
  """Algorithm 1; the server has the weights and a direction."""

  def client_fn(server, state, batches):
    weight = rounds.count_examples(batches) if by_examples else 1
    return (weight, *_train(*server, batches, decay)), state

  def server_fn(server, sent):
    weights, ends, steps = zip(*sent.values())
    moves = [
      np.average([w - e for e in es], axis=0, weights=weights)
      for w, es in zip(server[0], zip(*ends))
    ]
    length = _RATE * np.average(steps, weights=weights)
    return (
      tuple(w - _SERVER_RATE * m for w, m in zip(server[0], moves)),
      tuple(m / length for m in moves),
    )

  zeros = tuple(np.zeros(w.shape) for w in start)
  return rounds.reference(
    (start, zeros), client_fn=client_fn, server_fn=server_fn
  )


def _weights_and_direction(run):
  return run.server(), run.state.client_work


class FedCmTest(rounds.TestCase):
  @parameterized.parameters(
    ('functional', _UNIFORM), ('variable', _NUM_EXAMPLES)
  )
  def test_follows_numpy(self, kind, weighting):
    run = rounds.Rounds(
      algorithms.build_fed_cm(
        rounds.MODELS[kind],
        rounds.sgd(_RATE),
        rounds.sgd(_SERVER_RATE),
        mixture=_MIXTURE,
        client_weighting=weighting,
      ),
      epochs=_EPOCHS,
    )
    self.check_follows(
      run,
      _reference(run.server(), by_examples=weighting == _NUM_EXAMPLES),
      server=_weights_and_direction,
    )
    # Else the steps of FedAvg would have passed.
    _, direction = _weights_and_direction(run)
    self.assertGreater(max(np.abs(d).max() for d in direction), 0.01)

  def test_rates_of_schedules_and_weight_decay_follow_numpy(self):
    optimizer = client_work.build_weight_decay_optimizer(
      client_work.build_rate_parameter_optimizer(
        rounds.sgd(10 * _RATE), 'rate', factor_name='factor'
      ),
      0.5,
    )
    run = rounds.Rounds(
      algorithms.build_fed_cm(
        _MODEL, optimizer, rounds.sgd(_SERVER_RATE), mixture=_MIXTURE
      ),
      epochs=_EPOCHS,
    )
    with parameters.replaced({'rate': 4 * _RATE, 'factor': 0.25}):
      self.check_follows(
        run,
        _reference(run.server(), decay=0.5),
        server=_weights_and_direction,
      )

  def test_of_its_own_gradients_alone_it_is_fed_avg(self):
    self.check_equals(
      rounds.Rounds(
        algorithms.build_fed_cm(_MODEL, rounds.sgd(_RATE), mixture=1.0)
      ),
      algorithms.build_fed_avg(
        _MODEL, rounds.sgd(_RATE), client_weighting=_UNIFORM
      ),
    )

  def test_momentum_is_refused(self):
    with self.assertRaisesRegex(errors.InputError, 'FedCM .*with momentum'):
      algorithms.build_fed_cm(_MODEL, rounds.sgd(_RATE, 0.9))
