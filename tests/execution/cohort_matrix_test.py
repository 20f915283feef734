# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every algorithm with every model: the cohort context and TFF's runtime."""

from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution import round_comparison

from absl.testing import parameterized
import pytest

pytestmark = pytest.mark.slow

_OF_ONE_KIND = learning_rounds.TFF_ROUNDS_OF_ONE_KIND


class MatrixTest(round_comparison.RoundTestCase):
  @parameterized.parameters(
    (name, model, kind)
    for name in learning_rounds.ROUNDS
    for model in learning_models.MODELS
    for kind in (
      ('variable',) if name in _OF_ONE_KIND else learning_models.KINDS
    )
  )
  def test_round(self, name, model, kind):
    round_comparison.check_round(name, model, kind)
