# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Further parts that go with clients' own tensors, against NumPy."""

from fedfish_tff import aggregators
from fedfish_tff import algorithms
from fedfish_tff import client_work
from tests import numpy_reference as ref
from tests import rounds

import numpy as np
import pytest

_RATE = 0.3
_SGD = rounds.sgd(_RATE)


def _rounds(client_update_fn, **kwargs):
  model = rounds.MODELS['functional']
  return rounds.Rounds(
    algorithms.build_partially_local(
      model,
      client_update_fn,
      local_tensors=rounds.HEAD,
      build_local_training=lambda: client_work.build_local_training(
        model, _SGD
      ),
      **kwargs,
    )
  )


class PartiallyLocalTest(rounds.TestCase):
  def _check_follows_numpy(self, run, factors_fn):
    """Factors of the body's two tensors, which weigh a client's in the mean."""

    def client_fn(server, head, batches):
      start = (*server[:2], *(head or server[2:]))
      trained = ref.train(start, batches, rate=_RATE, epochs=1)
      factors = [
        rounds.count_examples(batches) * factor
        for factor in factors_fn(start, trained, batches)
      ]
      return (factors, trained), trained[2:]

    def server_fn(server, sent):
      return (*rounds.step_by_ratios(server[:2], sent), *server[2:])

    self.check_follows(
      run,
      rounds.reference(run.server(), client_fn=client_fn, server_fn=server_fn),
    )

  def test_fed_fish_with_heads_of_the_clients(self):
    """The Fisher-weighted mean is of the body, with each client's own head."""
    run = _rounds(
      client_work.build_fisher_delta_update(_SGD, damping=1e-3),
      model_aggregator=aggregators.FisherWeightedMeanFactory(),
      extra_passes=1,
    )
    self.assertEqual(run.process.extra_passes, 1)
    self._check_follows_numpy(
      run,
      lambda start, trained, batches: [
        diagonal + 1e-3 for diagonal in ref.fisher(trained, batches)[:2]
      ],
    )

  @pytest.mark.thorough
  def test_a_selector_sends_some_of_the_body(self):
    def sent(start, trained, unused_batches):
      drift = [np.linalg.norm(trained[i] - start[i]) for i in range(2)]
      return [drift[0] >= drift[1], drift[1] > drift[0]]

    run = _rounds(
      client_work.build_model_delta_update(_SGD),
      selector=client_work.build_share_selector(0.5),
      tensor_names=('body/kernel', 'body/bias'),
    )
    self._check_follows_numpy(run, sent)
    metrics = run.run('ab')
    self.assertEqual(
      [*metrics['aggregator']['sent']], ['body/kernel', 'body/bias']
    )
