# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""LG-FedAvg against NumPy."""

import functools

from fedfish_tff import algorithms
from fedfish_tff import simulation
from fedfish_tff.execution import contexts
from tests import client_state_rounds
from tests import numpy_reference as ref

import tensorflow_federated as tff

_RATE, _EPOCHS = 0.3, 2
_HEAD = (False, False, True, True)


def setUpModule():
  contexts.set_default_context()


class LgFedAvgTest(client_state_rounds.TestCase):
  def test_clients_keep_what_is_not_global(self):
    """FedPer with the complement, so NumPy's body stays at the clients."""
    process = algorithms.build_lg_fed_avg(
      ref.create_functional_model(),
      tff.learning.optimizers.build_sgdm(_RATE),
      global_tensors=_HEAD,
    )
    run = client_state_rounds.Rounds(process, epochs=_EPOCHS)
    reference = client_state_rounds.PartiallyLocalReference(
      run.server(),
      functools.partial(ref.train, rate=_RATE, epochs=_EPOCHS),
      local=[not t for t in _HEAD],
    )
    self.check_follows(run, reference)
    self.assertEqual(
      simulation.measure_wire_bytes(process).download,
      4 * sum(w.size for w in ref.initial_weights()[2:]),
    )
