# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""APFL against NumPy, and exact limits."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import client_work
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import numpy as np

_RATE, _SERVER_RATE, _EPOCHS = 0.3, 0.7, 2
_DATA = rounds.DATA | {'e': ref.make_batches(1, 1)}
# Clients are absent in between, and one has a single example.
_COHORTS = ('abe', 'cd', 'ace')


@functools.cache
def _build(**kwargs):
  return algorithms.build_apfl(
    rounds.MODELS['functional'],
    rounds.sgd(_RATE),
    rounds.sgd(_SERVER_RATE),
    local_epochs=_EPOCHS,
    **kwargs,
  )


def _rounds(**kwargs):
  return rounds.Rounds(_build(**kwargs), epochs=_EPOCHS)


def _mix(share, own, shared):
  return [share * v + (1 - share) * w for v, w in zip(own, shared)]


def _reference(start, *, mixture=0.5, adaptive=True):
  """Algorithm 1 with the equation of the mixture; the server's is FedAvg's."""
  fed_avg = rounds.fed_avg(rate=_RATE, server_rate=_SERVER_RATE, epochs=_EPOCHS)

  def client_fn(server, state, batches):
    own, share = state or (server, mixture)
    shared = server
    for x, y in batches * _EPOCHS:
      by_mixed = ref.gradients(_mix(share, own, shared), x, y)
      slope = sum(np.sum(g * (v - w)) for g, v, w in zip(by_mixed, own, shared))
      own = [v - _RATE * share * g for v, g in zip(own, by_mixed)]
      shared = ref.train(shared, [(x, y)], rate=_RATE, epochs=1)
      if adaptive:
        share = min(1.0, max(0.0, share - _RATE * slope))
    return (rounds.count_examples(batches), shared), (own, share)

  return rounds.reference(
    start,
    client_fn=client_fn,
    server_fn=fed_avg['server_fn'],
    cohorts=_COHORTS,
    data=_DATA,
  )


class ApflTest(rounds.TestCase):
  def _check_follows_numpy(self, run, **kwargs):
    shares = set()
    for cohort, (server, states) in zip(
      _COHORTS, _reference(run.server(), **kwargs)
    ):
      run.run(cohort, _DATA)
      self.assert_close(run.server(), server)
      for client, (own, share) in states.items():
        self.assert_close(run.own(client), _mix(share, own, server))
        self.assertAlmostEqual(
          float(run.clients[client]['mixture']), share, places=5
        )
        shares.add(round(share, 3))
    return shares

  def test_follows_numpy_with_partial_participation(self):
    shares = self._check_follows_numpy(_rounds())
    self.assertGreater(len(shares), 5)

  @parameterized.parameters(0.0, 0.75)
  def test_a_fixed_mixture_follows_numpy(self, mixture):
    options = {'mixture': mixture, 'adaptive': False}
    shares = self._check_follows_numpy(_rounds(**options), **options)
    self.assertEqual(shares, {mixture})

  def test_with_mixture_0_clients_have_the_model_of_fed_avg(self):
    run = _rounds(mixture=0.0, adaptive=False)
    fed_avg = algorithms.build_fed_avg(
      rounds.MODELS['functional'], rounds.sgd(_RATE), rounds.sgd(_SERVER_RATE)
    )
    self.check_equals(run, fed_avg, data=_DATA, cohorts=_COHORTS)
    for client in run.clients:
      self.assert_close(run.own(client), run.server())

  def test_with_mixture_1_every_client_trains_alone(self):
    run = _rounds(mixture=1.0, adaptive=False)
    start = run.server()
    for _ in range(2):
      run.run('abe', _DATA)
    for client in 'abe':
      self.assert_close(
        run.own(client),
        ref.train(start, _DATA[client], rate=_RATE, epochs=2 * _EPOCHS),
      )

  def test_a_weight_decay_leaves_the_mixture(self):
    process = algorithms.build_apfl(
      ref.create_functional_model(loss_scale=0.0),
      client_work.build_weight_decay_optimizer(rounds.sgd(_RATE), 0.5),
    )
    run = rounds.Rounds(process)
    start = run.server()
    run.run('a')
    self.assertEqual(run.clients['a']['mixture'], 0.5)
    steps = len(_DATA['a'])
    self.assert_close(
      run.clients['a']['local'], [(1 - _RATE * 0.5) ** steps * w for w in start]
    )
