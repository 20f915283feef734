# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for context_flag."""

import functools
import subprocess
import sys
from unittest import mock

from fedfish_tff.execution import contexts
from launch import context_flag
from tests import processes
from tests.launch import binary_runner

from absl import flags
from absl.testing import parameterized

_PROGRAM = """
import sys
from launch import cli
import {binary}
try:
  cli.run({binary}.main)
except SystemExit as error:
  print(error.code, [m for m in ('tensorflow', 'tensorflow_federated')
                     if m in sys.modules])
"""


class ContextFlagTest(parameterized.TestCase):
  def test_help_explains_every_context(self):
    # Apart from the flags of the binaries, which other tests import.
    with mock.patch.object(flags, 'DEFINE_enum', autospec=True) as define:
      context_flag.define()
    (_, default, names, explanation), _ = define.call_args
    self.assertEqual(default, 'cohort')
    for name in names:
      self.assertIn(f'{name}: ', explanation)

  @parameterized.parameters(
    'launch.train',
    'launch.evaluate',
    'launch.toy_figure',
    'research.srpfl.linear_representation_figure',
  )
  def test_unknown_name_is_answered_before_tensorflow_is_imported(self, binary):
    outcome = subprocess.run(
      [sys.executable, '-c', _PROGRAM.format(binary=binary), '--context=cloud'],
      env=binary_runner.environment(),
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(outcome.stdout, '2 []\n', outcome.stderr)
    self.assertLen(outcome.stderr.splitlines(), 1)
    self.assertRegex(outcome.stderr, 'context=cloud.*cohort.*local_worker')

  def test_the_context_has_the_options_that_were_given(self):
    values = flags.FlagValues()
    define = {
      name: functools.partial(getattr(flags, name), flag_values=values)
      for name in ('DEFINE_enum', 'DEFINE_integer', 'DEFINE_string')
    }
    with mock.patch.multiple(flags, **define):
      set_context = context_flag.define_with_options()
    values(['train', '--context=pjrt', '--platform=cpu', '--ray_splits=2'])
    with mock.patch.object(contexts, 'set_default_context') as set_default:
      set_context()
    set_default.assert_called_once_with('pjrt', platform='cpu', ray_splits=2)
