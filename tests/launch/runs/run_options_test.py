# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of a run."""

from unittest import mock

from fedfish_tff.execution import contexts
from launch.runs import run_options

from absl.testing import absltest


class RunOptionsTest(absltest.TestCase):
  def test_sets_its_context(self):
    options = run_options.RunOptions(
      workdir='w', context='pjrt', context_options={'platform': 'cpu'}
    )
    with mock.patch.object(
      contexts, 'set_default_context', autospec=True
    ) as set_context:
      options.set_context()
    set_context.assert_called_once_with('pjrt', platform='cpu')
