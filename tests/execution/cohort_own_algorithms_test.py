# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""This package's algorithms in the cohort context and in TFF's runtime.

Each with one model; cohort_matrix_test has all pairs.
"""

from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution import round_comparison

from absl.testing import parameterized
import pytest

pytestmark = pytest.mark.thorough

_OTHER_MODELS = {'own_fed_avg': 'cnn', 'own_fed_sgd': 'rnn'}


class OwnAlgorithmsTest(round_comparison.RoundTestCase):
  @parameterized.parameters(
    (name, _OTHER_MODELS.get(name, 'mlp'), learning_models.KINDS[i % 2])
    for i, name in enumerate(learning_rounds.OWN_ROUNDS)
  )
  def test_round(self, name, model, kind):
    round_comparison.check_round(name, model, kind)
