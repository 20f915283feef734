# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of flags that are paths."""

import os
import pathlib

from launch import installed
from launch import path_flags
from tests.launch import binary_runner

from absl import flags
from absl.testing import parameterized

_NAMES = (
  'data_dir', 'input', 'output', 'output_dir', 'sweep_dir', 'tuned_by',
  'workdir', 'workdirs',
)  # fmt: skip
_ODD = 'a [x] *\\?~ü {b},c\n'


class PathFlagsTest(parameterized.TestCase):
  @parameterized.parameters(sorted(set(installed.COMMANDS.values())))
  def test_every_binary_expands_the_home(self, binary):
    with binary_runner.flags_of(f'launch.{binary}'):
      for name in _NAMES:
        if name in flags.FLAGS:
          found = flags.FLAGS[name].parser.parse('~/a')
          if name == 'workdirs':
            (found,) = found
          self.assertEqual(found, f'{pathlib.Path.home()}/a', name)

  def test_other_characters_stand_for_themselves(self):
    for path in (_ODD, 'a/~', './~a', f'/{_ODD}/b:c'):
      self.assertEqual(path_flags.expand(path), path)
    self.assertEqual(path_flags.expand('gs://a/b', takes_urls=True), 'gs://a/b')

  @parameterized.parameters(
    ('~no_such_user/a', 'there is no user no_such_user; ./~no_such_user/a'),
    ('gs://a/b', 'on this machine'),
    (os.fsdecode(b'\xff'), 'UTF-8'),
  )
  def test_refuses(self, path, message):
    with self.assertRaisesRegex(ValueError, message):
      path_flags.expand(path)

  def test_paths_between_commas_are_not_empty(self):
    for paths in ('a,', ',a', 'a,,b'):
      outcome = binary_runner.run_here(
        'launch.plot', f'--workdirs={paths}', '--output_dir=o'
      )
      self.assertEqual(outcome.code, 2)
      self.assertIn('paths with one comma between two', outcome.stderr)

  def test_a_path_with_commas_that_is_there_is_one(self):
    folder = self.create_tempdir().full_path
    path = os.path.join(folder, _ODD)
    os.mkdir(path)
    outcome = binary_runner.run_here(
      'launch.plot', f'--workdirs={path}', f'--output_dir={folder}/o'
    )
    self.assertEqual(outcome.code, 2)
    self.assertIn('c /config.json', outcome.stderr)
    outcome = binary_runner.run_here(
      'launch.plot', '--workdirs=a,b', f'--output_dir={folder}/o'
    )
    self.assertIn('There is no workdir a.', outcome.stderr)
