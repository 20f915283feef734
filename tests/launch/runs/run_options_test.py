# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of a run."""

from unittest import mock

from fedfish_tff.execution import contexts
from tests.launch import small_configs

from absl.testing import absltest


class RunOptionsTest(absltest.TestCase):
  def test_a_run_sets_its_context(self):
    with mock.patch.object(
      contexts, 'set_default_context', side_effect=ZeroDivisionError
    ) as set_context:
      with self.assertRaises(ZeroDivisionError):
        small_configs.train(
          small_configs.make_config(),
          'w',
          context='pjrt',
          context_options={'platform': 'cpu'},
        )
    set_context.assert_called_once_with('pjrt', platform='cpu')
