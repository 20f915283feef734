# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedSGD against NumPy's gradient descent, and TFF's own."""

from fedfish_tff import algorithms
from tests import numpy_reference as ref
from tests import rounds

from absl.testing import parameterized
import pytest
import tensorflow_federated as tff


def _step(weights, batches):
  gradient = ref.full_gradient(weights, batches)
  return tuple(w - g for w, g in zip(weights, gradient))


class FedSgdTest(rounds.TestCase):
  @parameterized.parameters(False, True)
  def test_follows_numpy(self, uniform):
    """One step on the gradient of all clients' examples, or on their mean."""
    weighting = tff.learning.ClientWeighting
    run = rounds.Rounds(
      algorithms.build_fed_sgd(
        rounds.MODELS['functional'],
        rounds.sgd(0.5),
        client_weighting=(
          weighting.UNIFORM if uniform else weighting.NUM_EXAMPLES
        ),
      )
    )
    method = rounds.averaging(_step, server_rate=0.5, uniform=uniform)
    self.check_follows(run, rounds.reference(run.server(), **method))

  @pytest.mark.thorough
  def test_equals_tff(self):
    ours, theirs = (
      build(rounds.MODELS['functional'], rounds.sgd(0.5))
      for build in (
        algorithms.build_fed_sgd,
        tff.learning.algorithms.build_fed_sgd,
      )
    )
    self.check_equals(rounds.Rounds(ours), theirs)
