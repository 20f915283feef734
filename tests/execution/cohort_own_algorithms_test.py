# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""This package's algorithms in the cohort context and in TFF's runtime.

With some models; cohort_matrix_test has all of them.
"""

from tests.execution import learning_models
from tests.execution import learning_rounds
from tests.execution import round_comparison

from absl.testing import absltest
from absl.testing import parameterized


class OwnAlgorithmsTest(round_comparison.RoundTestCase):
  @parameterized.parameters(
    *(
      (name, 'mlp', learning_models.KINDS[i % 2])
      for i, name in enumerate(learning_rounds.OWN_ROUNDS)
    ),
    ('own_fed_avg', 'cnn', 'variable'),
    ('own_fed_sgd', 'rnn', 'variable'),
    ('own_mime_lite', 'cnn', 'functional'),
  )
  def test_round(self, name, model, kind):
    round_comparison.check_round(name, model, kind)


if __name__ == '__main__':
  absltest.main()
