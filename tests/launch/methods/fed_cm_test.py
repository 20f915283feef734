# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of FedCM as configs build it."""

from fedfish_tff import errors
from tests import tolerance
from tests.launch import small_configs


class FedCmTest(small_configs.TestCase):
  def test_a_mixture_of_nothing_is_refused_with_the_config(self):
    with self.assertRaisesRegex(errors.InputError, 'mixture .*above 0.*got 0'):
      small_configs.read_config('fed_cm', **{'algorithm.mixture': 0})

  def test_of_its_own_gradients_alone_it_is_fed_avg(self):
    trained = []
    for variant, fields in (
      ('fed_cm', {'algorithm.mixture': 1.0}),
      ('fed_avg', {'algorithm.client_weighting': 'uniform'}),
    ):
      config = small_configs.make_config(variant, rounds=2, **fields)
      _, process, state = small_configs.run_rounds(
        config, self.create_tempdir().full_path, rounds=2
      )
      trained.append(process.get_model_weights(state).trainable)
    tolerance.assert_all_close(*trained, least_scale=1.0)
