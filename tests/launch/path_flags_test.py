# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of flags of configs, of paths and of the context."""

import functools
import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

from fedfish_tff import errors
from fedfish_tff.execution import contexts
from launch import context_flag
from launch import installed
from launch import json_config
from launch import path_flags
from launch.configs import digits
from tests import processes
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


class JsonConfigTest(parameterized.TestCase):
  def test_it_is_the_config_that_was_written(self):
    config = digits.get_config('fed_fish').to_dict()
    path = self.create_tempfile('config.json', json.dumps(config)).full_path
    self.assertEqual(json_config.get_config(path).to_dict(), config)

  @parameterized.parameters(
    'a.py', 'a.py:x', 'a.py:x.json', 'a.json', 'a.JSON', 'a:b/c.json'
  )
  def test_found_by_its_name(self, source):
    self.assertEqual(json_config.find(source), source)

  @parameterized.parameters(
    '', 'a', ':a.py', 'a.json:x', 'a.JSON:x.py', 'a.json.bak', 'a.pyc', 'a.so'
  )
  def test_other_names_are_refused(self, source):
    with self.assertRaisesRegex(
      errors.InputError, f'^A config must be .*, got {source}[.]$'
    ):
      json_config.find(source)

  @parameterized.parameters(
    ('{', 'not valid JSON'), ('[1]', 'an object'), (None, 'Cannot read')
  )
  def test_bad_files(self, content, message):
    path = self.create_tempdir().full_path + '/config.json'
    if content is not None:
      with open(path, 'w') as file:
        file.write(content)
    with self.assertRaisesRegex(errors.InputError, message):
      json_config.get_config(path)

  def test_flatten_names_fields_by_their_place(self):
    self.assertEqual(
      json_config.flatten(
        {'a': 1, 'b': {'c': (2,), 'd': {'e': None}, 'f': {}}}
      ),
      {'a': 1, 'b.c': (2,), 'b.d.e': None, 'b.f': {}},
    )
