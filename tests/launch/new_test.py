# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.new: its project runs, and passes its test."""

import contextlib
import os
import subprocess
import sys
from unittest import mock

from tests import notebooks
from tests import repository
from tests import temporary_folders
from tests.launch import binary_runner

import nbformat
import pytest


class NewTest(temporary_folders.TestCase):
  def _run(self, *command):
    environment = {**os.environ, 'PYTHONPATH': str(repository.ROOT)}
    return subprocess.run(
      [sys.executable, '-m', *command],
      cwd=self.folder,
      env=environment,
      capture_output=True,
      text=True,
      check=False,
    )

  @pytest.mark.thorough
  def test_commands_of_the_project_run(self):
    # Its sweep has 42 runs.
    self._check_commands(more_for_sweep=['--dry_run'])

  @pytest.mark.slow
  def test_every_command_of_the_project_runs(self):
    self._check_commands()
    table = (self.folder / 'runs' / 'comparison' / 'table.md').read_text()
    self.assertIn('| My project', table)
    self.assertIn('over 8 seeds', table)

  def _check_commands(self, more_for_sweep=()):
    done = self._run('launch.new', 'my_project')
    self.assertEqual(done.returncode, 0, done.stderr)
    folder = self.folder / 'my_project'
    for file in folder.iterdir():
      self.assertNotRegex(
        file.read_text(), r'examples|cellars\b|clipped_fed|Copyright'
      )
    text = (folder / 'README.md').read_text()
    commands = text.split('```sh\n')[1].split('```')[0].splitlines()
    self.assertLen(commands, 5)
    for command in commands:
      with self.subTest(command):
        more = more_for_sweep if 'launch.sweep' in command else []
        done = self._run(*command.split()[2:], *more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    notebook = nbformat.read(folder / 'notebook.ipynb', as_version=4)
    nbformat.validate(notebook)
    done = notebooks.execute(notebook, folder)
    self.assertIn('image/png', done.cells[1].outputs[-1].data)
    self.assertIn(
      'global/accuracy', done.cells[2].outputs[-1].data['text/html']
    )

  def test_a_name_that_is_none_of_a_package_gets_one_that_is(self):
    outcome = binary_runner.run_here(
      'launch.new', str(self.folder / 'my-study')
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn("got 'my-study'. Did you mean my_study?", outcome.stderr)

  def test_a_folder_in_use_is_refused(self):
    (self.folder / 'used').mkdir()
    (self.folder / 'used' / 'mine').write_text('')
    outcome = binary_runner.run_here('launch.new', str(self.folder / 'used'))
    self.assertEqual(outcome.code, 2)
    self.assertEqual(os.listdir(self.folder / 'used'), ['mine'])

  def test_the_same_again_is_refused_for_the_folder(self):
    self.enter_context(contextlib.chdir(self.folder))
    # As `python -m` does.
    self.enter_context(mock.patch.object(sys, 'path', ['', *sys.path]))
    for code in (0, 2):
      outcome = binary_runner.run_here('launch.new', 'again')
      self.assertEqual(outcome.code, code, outcome.stderr)
    self.assertIn('must be a new folder, since', outcome.stderr)
