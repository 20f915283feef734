# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that no binary runs a module which a stranger's workdir names."""

import pathlib
import sys
from unittest import mock

from launch.configs import digits
from launch.configs import fed3r_generated
from launch.configs import keyboard
from tests.launch import binary_runner

from absl.testing import parameterized

_OF_KEYBOARDS = (
  'research.keyboard.predict_words',
  'research.keyboard.keyboard_table',
)


class TrustFlagsTest(parameterized.TestCase):
  def _write_stranger(self, module, config, field):
    """Returns a stranger's workdir, and a file that its module would write."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    written = folder / 'written'
    (folder / f'{module}.py').write_text(
      f'import pathlib\npathlib.Path({str(written)!r}).touch()\n'
    )
    config.update_from_flattened_dict({f'{field}.name': f'{module}:METHOD'})
    workdir = folder / 'workdir'
    workdir.mkdir()
    (workdir / 'config.json').write_text(config.to_json())
    (workdir / 'metrics.csv').write_text('round,eval/global/loss\n1,2.0\n')
    self.enter_context(mock.patch.object(sys, 'path', [str(folder), *sys.path]))
    return workdir, written

  @parameterized.parameters(
    ('launch.train', 'algorithm'),
    ('launch.train', 'task'),
    ('launch.evaluate', 'algorithm'),
    ('launch.evaluate', 'task'),
    ('launch.evaluate', 'fine_tuning.start'),
    ('launch.plot', 'algorithm'),
    ('research.keyboard.predict_words', 'algorithm'),
    ('research.keyboard.keyboard_table', 'algorithm'),
  )
  def test_named_modules_are_not_imported(self, binary, field):
    get_config = keyboard if binary in _OF_KEYBOARDS else digits
    variant = 'fed_avg'
    if field == 'fine_tuning.start':
      get_config, variant = fed3r_generated, 'fed_avg,fine_tuning=ft_lp'
    workdir, written = self._write_stranger(
      # Python imports a name once.
      f'stranger_{binary}_{field}'.replace('.', '_'),
      get_config.get_config(variant),
      field,
    )
    folder = workdir.parent
    arguments = {
      'launch.train': [
        f'--config={workdir / "config.json"}',
        f'--workdir={folder / "new"}',
      ],
      'launch.plot': [
        f'--workdirs={workdir}',
        f'--output_dir={folder / "plots"}',
      ],
      'research.keyboard.keyboard_table': [f'--workdirs={workdir}'],
    }.get(binary, [f'--workdir={workdir}'])
    outcome = binary_runner.run_here(binary, *arguments)
    self.assertFalse(written.exists(), outcome)
    # A plot needs none, and has no such flag.
    if binary != 'launch.plot':
      self.assertEqual(outcome.code, 2, outcome)
      self.assertIn('--trust_modules', outcome.stderr)
      binary_runner.run_here(binary, *arguments, '--trust_modules')
      self.assertTrue(written.exists())
