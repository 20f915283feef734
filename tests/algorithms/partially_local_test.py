# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What else clients with tensors of their own compose with, against NumPy."""

from fedfish_tff import aggregators
from fedfish_tff import algorithms
from fedfish_tff import client_work
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

import numpy as np
import pytest
import tensorflow_federated as tff

_RATE = 0.3
_SGD = tff.learning.optimizers.build_sgdm(_RATE)
_HEAD = (False, False, True, True)


def setUpModule():
  contexts.set_default_context()


def _rounds(client_update_fn, **kwargs):
  model = ref.create_functional_model()
  return client_state_rounds.Rounds(
    algorithms.build_partially_local(
      model,
      client_update_fn,
      local_tensors=_HEAD,
      local_training=client_work.build_local_training(model, _SGD),
      **kwargs,
    ),
    epochs=1,
  )


def _train(weights, client):
  return ref.train(
    weights, client_state_rounds.DATA[client], rate=_RATE, epochs=1
  )


class PartiallyLocalTest(client_state_rounds.TestCase):
  def test_fed_fish_with_heads_of_the_clients(self):
    """The Fisher-weighted mean is of the body, with each client's own head."""
    run = _rounds(
      client_work.build_fisher_delta_update(_SGD, damping=1e-3),
      model_aggregator=aggregators.FisherWeightedMeanFactory(),
      extra_passes=1,
    )
    self.assertEqual(run.process.extra_passes, 1)
    server = tuple(np.float64(w) for w in run.server())
    clients = {}
    for cohort in client_state_rounds.COHORTS[:3]:
      run.run(cohort)
      numerator, denominator = [0.0] * 2, [0.0] * 2
      for c in cohort:
        trained = _train((*server[:2], *clients.get(c, server)[2:]), c)
        diagonal = ref.fisher(trained, client_state_rounds.DATA[c])
        for i in range(2):
          weight = client_state_rounds.SIZES[c] * (diagonal[i] + 1e-3)
          numerator[i] += weight * (server[i] - trained[i])
          denominator[i] += weight
        clients[c] = trained
      server = (
        *(s - n / d for s, n, d in zip(server, numerator, denominator)),
        *server[2:],
      )
      self.assert_close(run.server(), server)
      for c, trained in clients.items():
        self.assert_close(run.own(c), (*server[:2], *trained[2:]))

  @pytest.mark.thorough
  def test_a_selector_sends_some_of_the_body(self):
    run = _rounds(
      client_work.build_model_delta_update(_SGD),
      selector=client_work.build_share_selector(0.5),
      tensor_names=('body/kernel', 'body/bias'),
    )
    server = tuple(np.float64(w) for w in run.server())
    clients = {}
    for cohort in client_state_rounds.COHORTS:
      metrics = run.run(cohort)
      sums, totals = [0.0] * 2, [0.0] * 2
      for c in cohort:
        trained = _train((*server[:2], *clients.get(c, server)[2:]), c)
        drift = [np.linalg.norm(trained[i] - server[i]) for i in range(2)]
        sent = int(np.argmax(drift))
        sums[sent] += client_state_rounds.SIZES[c] * (
          trained[sent] - server[sent]
        )
        totals[sent] += client_state_rounds.SIZES[c]
        clients[c] = trained
      server = (
        *(s + t / max(n, 1) for s, t, n in zip(server, sums, totals)),
        *server[2:],
      )
      self.assert_close(run.server(), server)
      self.assertEqual(
        [*metrics['aggregator']['sent']], ['body/kernel', 'body/bias']
      )
