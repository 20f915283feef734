# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.group_dataset."""

import signal
import subprocess
import sys

from tests import processes
from tests import temporary_folders
from tests.datasets.grouping import web_pages
from tests.launch import binary_runner

import pytest

# Kills the process when it has written so many files to a folder of its work.
_KILLED = """
import contextlib, os, pathlib, signal, sys
from launch import cli, group_dataset
from fedfish_tff import new_files
from fedfish_tff.datasets.grouping import input_files, local_engine
name, left = sys.argv.pop(1).split(':')
new_file, left = new_files.new_file, [int(left)]
@contextlib.contextmanager
def new_some(path):
  left[0] -= pathlib.Path(path).parent.name == name
  with new_file(path) as file:
    yield file
    if left[0] < 0:
      os.kill(os.getpid(), signal.SIGKILL)
new_files.new_file = new_some
input_files._RANGE_BYTES = 4000
local_engine._HELD_BYTES = 3000
cli.run(group_dataset.main, flags_parser=group_dataset.parse_flags)
"""


def _run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
  return subprocess.run(
    [sys.executable, *arguments],
    env=binary_runner.environment(),
    capture_output=True,
    text=True,
    check=False,
    timeout=processes.HANG_SECONDS,
  )


def _run_here(*arguments: str) -> binary_runner.Outcome:
  return binary_runner.run_here('launch.group_dataset', *arguments)


class GroupDatasetTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.pages = self.folder / 'pages'
    self.pages.mkdir()
    web_pages.write_files(self.pages)
    self.flags = (
      '--format=c4',
      f'--input={self.pages}/*',
      '--num_processes=1',
      '--max_bad_fraction=0.1',
    )

  def _check(self, folder):
    self.assertEqual(
      web_pages.read_stock(folder),
      web_pages.count_items(
        web_pages.good_lines(400), ('url', 'text', 'timestamp')
      ),
    )

  def _check_same(self, one, two):
    names = sorted(path.name for path in one.iterdir())
    self.assertEqual(sorted(path.name for path in two.iterdir()), names)
    for name in names:
      self.assertEqual(
        (one / name).read_bytes(), (two / name).read_bytes(), name
      )

  def test_groups_and_says_so(self):
    folder = self.folder / 'grouped'
    flag_file = self.create_tempfile('flags', '\n'.join(self.flags)).full_path
    outcome = _run_here(
      f'--flagfile={flag_file}',
      f'--output_dir={folder}',
      '--runner=DirectRunner',
      '--key=registered_domain',
    )
    self.assertEqual((outcome.code, outcome.stderr), (0, ''))
    self.assertIn('train ', outcome.stdout)
    self.assertEndsWith(outcome.stdout, f'{folder}\n')
    self._check(folder)

  @pytest.mark.thorough
  def test_a_killed_job_goes_on_by_the_same_command(self):
    whole, folder = self.folder / 'whole', self.folder / 'grouped'
    flags = (*self.flags, '--num_shards=3', '--validation_fraction=0.2')
    outcome = _run_python('-c', _KILLED, ':0', *flags, f'--output_dir={whole}')
    self.assertEqual(outcome.returncode, 0, outcome.stderr)
    flags = (*flags, f'--output_dir={folder}')
    done = []
    # Within the first part, a part later, and when one shard is written.
    for killed in ('read:0', 'read:3', 'shards:1'):
      outcome = _run_python('-c', _KILLED, killed, *flags)
      self.assertEqual(outcome.returncode, -signal.SIGKILL, outcome.stderr)
      self.assertFalse(folder.exists())
      (partial,) = self.folder.glob('grouped.*.partial')
      self.assertFalse((partial / 'dataset.json').exists())
      done.append(
        tuple(
          len(list((partial / 'work' / name).glob('*.json')))
          for name in ('read', 'shards')
        )
      )
    self.assertEqual(done[:2], [(0, 0), (1, 0)])
    self.assertEqual(done[2][1], 1)
    outcome = _run_python('-c', _KILLED, ':0', *flags)
    self.assertEqual(outcome.returncode, 0, outcome.stderr)
    self._check(folder)
    self.assertCountEqual(self.folder.iterdir(), [self.pages, whole, folder])
    self._check_same(whole, folder)
