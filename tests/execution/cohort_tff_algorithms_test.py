# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every algorithm of tff.learning in the cohort context and in TFF's runtime.

With a small model; cohort_matrix_test has the other models, and the unweighted
forms of algorithms whose weighted form is here.
"""

from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution import round_comparison

from absl.testing import parameterized
import pytest
import tensorflow_federated as tff

_IN_MATRIX_ONLY = (
  'unweighted_fed_avg',
  'unweighted_fed_prox',
  'unweighted_mime_lite',
)


class TffAlgorithmsTest(round_comparison.RoundTestCase):
  @parameterized.parameters(
    *(
      (name, learning_models.KINDS[i % 2])
      for i, name in enumerate(learning_rounds.TFF_ROUNDS)
      if name not in _IN_MATRIX_ONLY
    ),
    *((name, 'variable') for name in learning_rounds.TFF_ROUNDS_OF_ONE_KIND),
  )
  @pytest.mark.thorough
  def test_round(self, name, kind):
    round_comparison.check_round(name, 'mlp', kind)

  def test_every_algorithm_is_entered(self):
    exported = {
      name for name in dir(tff.learning.algorithms) if name.startswith('build_')
    }
    entered = {
      f'build_{name}'.replace('with_schedule', 'with_optimizer_schedule')
      for name in (
        *learning_rounds.TFF_ROUNDS,
        *learning_rounds.TFF_ROUNDS_OF_ONE_KIND,
      )
    }
    self.assertCountEqual(
      exported,
      {
        {
          'build_fed_avg_with_optimizer_schedule': (
            'build_weighted_fed_avg_with_optimizer_schedule'
          ),
          'build_kmeans': 'build_fed_kmeans',
          'build_personalization_eval': (
            'build_personalization_eval_computation'
          ),
        }.get(name, name)
        for name in entered
      },
    )
