# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of the commands of a wheel; packaging_test runs them from one."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
from unittest import mock

from launch import installed
from tests import temporary_folders

from absl.testing import parameterized


class InstalledTest(temporary_folders.TestCase):
  def test_a_command_becomes_its_binary(self):
    with (
      mock.patch('os.execv', autospec=True) as execv,
      mock.patch.object(sys, 'argv', ['/a/bin/fedfish-group', '--help']),
      mock.patch.dict(os.environ, {'PYTHONPATH': '/b'}),
    ):
      installed.main()
      paths = os.environ['PYTHONPATH'].split(os.pathsep)
    python = sys.executable
    execv.assert_called_once_with(
      python, [python, '-m', 'launch.group_dataset', '--help']
    )
    self.assertEqual(
      paths, [str(installed._ROOT), str(pathlib.Path.cwd()), '/b']
    )

  @parameterized.parameters(
    (['--work'], ['--workdir']),
    (['--workdir=x', '--'], ['--config', '--workdir', '--overwrite']),
    # Bash makes three words of --config=di; =, a file is completed by itself.
    (['--config', '=', 'dig'], ['digits']),
    (['--workdir', '=', 'dig'], []),
    (['--config=dig'], ['--config=digits']),
    (['dig'], []),
  )
  def test_bash_completes_flags_and_configs(self, words, expected):
    command = self.folder / 'fedfish-train'
    command.write_text(
      '#!/bin/sh\necho "  --config: a\n  --workdir: b\n  --[no]overwrite: c"'
    )
    command.chmod(0o755)
    script = io.StringIO()
    with (
      contextlib.redirect_stdout(script),
      mock.patch.object(sys, 'argv', ['/a/bin/fedfish', '--completion']),
    ):
      installed.main()
    found = subprocess.run(
      ['bash', '-c']
      + [
        f'{script.getvalue()}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
        f'_fedfish "$1"; echo "${{COMPREPLY[@]}}"'
      ]
      + ['bash', str(command), *words],
      check=True,
      capture_output=True,
      text=True,
    )
    self.assertEqual((found.stdout.split(), found.stderr), (expected, ''))

  def test_lists_every_command(self):
    out = io.StringIO()
    with (
      contextlib.redirect_stdout(out),
      mock.patch.object(sys, 'argv', ['/a/bin/fedfish']),
      mock.patch.object(
        installed, 'name_commands', autospec=True, side_effect=str.upper
      ),
    ):
      installed.main()
    lines = out.getvalue().splitlines()
    self.assertLen(lines, len(installed.COMMANDS) + 2)
    for line, binary in zip(lines, installed.COMMANDS.values()):
      self.assertRegex(line, f'^PYTHON -M LAUNCH.{binary.upper()} +[A-Z]')

  @parameterized.parameters(
    # What is in the working directory comes first.
    ('mine.py:x', 'mine.py:x'),
    ('digits:fed_avg', '{}/digits.py:fed_avg'),
    ('launch/configs/digits.py', '{}/digits.py'),
    ('nothing.py:x', 'nothing.py:x'),
    ('/nowhere/digits.py', '/nowhere/digits.py'),
  )
  def test_configs_are_found(self, source, expected):
    (self.folder / 'mine.py').touch()
    configs = pathlib.Path(installed.__file__).resolve().parent / 'configs'
    before = os.getcwd()
    self.addCleanup(os.chdir, before)
    os.chdir(self.folder)
    self.assertEqual(installed.find_config(source), expected.format(configs))

  def test_messages_name_the_command_in_a_wheel_only(self):
    with mock.patch.object(sys, 'argv', ['/a/launch/partition_dataset.py']):
      self.assertEqual(installed.program_name(), 'partition_dataset.py')
      wheel = pathlib.Path('/a/fedfish_tff_programs')
      with mock.patch.object(installed, '_ROOT', wheel):
        self.assertEqual(installed.program_name(), 'fedfish-partition')

  def test_binaries_have_the_names_of_commands_in_a_wheel_only(self):
    text = (
      'python -m launch.train --config=launch/configs/digits.py, as launch.plot. '
      'launch.methods.method, runs/launch.train, launch.toy_figure.'
    )
    self.assertEqual(installed.name_commands(text), text)
    root = pathlib.Path('/site-packages/fedfish_tff_programs')
    with mock.patch.object(installed, '_ROOT', root):
      self.assertEqual(
        installed.name_commands(text),
        'fedfish-train --config=launch/configs/digits.py, as fedfish-plot. '
        'launch.methods.method, runs/launch.train, fedfish-toy-figure.',
      )
