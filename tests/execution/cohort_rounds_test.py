# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds of learning run as graphs and equal those of TFF's own runtime."""

from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution import two_contexts

from absl.testing import parameterized
import pytest
import tensorflow_federated as tff

_OF_ONE_KIND = learning_rounds.TFF_ROUNDS_OF_ONE_KIND
# Others differ from these in the weights of clients, or by a schedule.
_IN_MATRIX_ONLY = (
  'unweighted_fed_avg',
  'unweighted_fed_prox',
  'unweighted_mime_lite',
  'weighted_mime_lite',
)
# One of each form and model. The tests of algorithms compare all of them with
# NumPy, and their contract says that they run as graphs.
_OWN = (
  ('own_fed_avg', 'cnn', 'functional'),
  ('own_fed_sgd', 'rnn', 'variable'),
  ('own_scaffold', 'mlp', 'variable'),
  ('fed_fish_sampled_label', 'mlp', 'functional'),
  ('fed3r', 'mlp', 'functional'),
)
# The names of `tff.learning.algorithms` for other names of rounds.
_TFF_NAMES = {
  'fed_avg_with_schedule': 'weighted_fed_avg_with_optimizer_schedule',
  'mime_lite_with_schedule': 'mime_lite_with_optimizer_schedule',
  'kmeans': 'fed_kmeans',
  'personalization_eval': 'personalization_eval_computation',
}


class RoundsTest(two_contexts.TestCase, parameterized.TestCase):
  def _check(self, name, model, kind):
    case = learning_models.MODELS[model]
    run = learning_rounds.ROUNDS[name](case, kind)
    here = self.here(run)
    self.assertEmpty(self.cohort.runner.general_path_reasons)
    learning_rounds.assert_agree(here, self.there(run), relative=case.relative)

  @parameterized.parameters(
    *(
      (name, learning_models.KINDS[i % 2])
      for i, name in enumerate(learning_rounds.TFF_ROUNDS)
      if name not in _IN_MATRIX_ONLY
    ),
    *((name, 'variable') for name in _OF_ONE_KIND),
  )
  @pytest.mark.thorough
  def test_round_of_tff(self, name, kind):
    self._check(name, 'mlp', kind)

  @parameterized.parameters(*_OWN)
  @pytest.mark.thorough
  def test_own_round(self, name, model, kind):
    self._check(name, model, kind)

  @parameterized.parameters(
    (name, model, kind)
    for name in learning_rounds.ROUNDS
    for model in learning_models.MODELS
    for kind in (
      ('variable',) if name in _OF_ONE_KIND else learning_models.KINDS
    )
  )
  @pytest.mark.slow
  def test_matrix(self, name, model, kind):
    self._check(name, model, kind)

  def test_every_algorithm_of_tff_is_entered(self):
    self.assertCountEqual(
      [n for n in dir(tff.learning.algorithms) if n.startswith('build_')],
      [
        f'build_{_TFF_NAMES.get(name, name)}'
        for name in (*learning_rounds.TFF_ROUNDS, *_OF_ONE_KIND)
      ],
    )
