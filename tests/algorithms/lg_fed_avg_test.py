# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""LG-FedAvg against NumPy."""

import functools

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds


class LgFedAvgTest(rounds.TestCase):
  def test_clients_keep_what_is_not_global(self):
    """FedPer with the complement, so NumPy's body stays at the clients."""
    process = algorithms.build_lg_fed_avg(
      rounds.MODELS['functional'], rounds.sgd(0.3), global_tensors=rounds.HEAD
    )
    run = rounds.Rounds(process, epochs=2)
    method = rounds.partially_local(
      functools.partial(ref.train, rate=0.3, epochs=2), local=rounds.BODY
    )
    self.check_follows(run, rounds.reference(run.server(), **method))
