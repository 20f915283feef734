# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that no binary runs a module which a stranger's workdir names."""

import json
import pathlib
import sys
from unittest import mock

from launch.configs import digits
from launch.configs import keyboard
from tests.launch import binary_runner

from absl.testing import parameterized

_OF_KEYBOARDS = ('studies.predict_words', 'studies.keyboard_table')


class TrustFlagsTest(parameterized.TestCase):
  @parameterized.parameters(
    ('train', 'algorithm'),
    ('train', 'task'),
    ('evaluate', 'algorithm'),
    ('evaluate', 'task'),
    ('plot', 'algorithm'),
    ('studies.predict_words', 'algorithm'),
    ('studies.keyboard_table', 'algorithm'),
  )
  def test_named_modules_are_not_imported(self, binary, field):
    folder = pathlib.Path(self.create_tempdir().full_path)
    written = folder / 'written'
    # Python imports a name once.
    module = f'stranger_{binary}_{field}'.replace('.', '_')
    (folder / f'{module}.py').write_text(
      f'import pathlib\npathlib.Path({str(written)!r}).touch()\n'
    )
    get_config = keyboard if binary in _OF_KEYBOARDS else digits
    config = get_config.get_config('fed_avg').to_dict()
    config[field]['name'] = f'{module}:METHOD'
    workdir = folder / 'workdir'
    workdir.mkdir()
    (workdir / 'config.json').write_text(json.dumps(config))
    (workdir / 'metrics.csv').write_text('round,eval/global/loss\n1,2.0\n')
    arguments = {
      'train': [
        f'--config={workdir / "config.json"}',
        f'--workdir={folder / "new"}',
      ],
      'plot': [f'--workdirs={workdir}', f'--output_dir={folder / "plots"}'],
      'studies.keyboard_table': [f'--workdirs={workdir}'],
    }.get(binary, [f'--workdir={workdir}'])
    with mock.patch.object(sys, 'path', [str(folder), *sys.path]):
      outcome = binary_runner.run_here(f'launch.{binary}', *arguments)
      self.assertFalse(written.exists(), outcome)
      # A plot needs none, and has no such flag.
      if binary != 'plot':
        self.assertEqual(outcome.code, 2, outcome)
        self.assertIn('--trust_modules', outcome.stderr)
        binary_runner.run_here(
          f'launch.{binary}', *arguments, '--trust_modules'
        )
        self.assertTrue(written.exists())
