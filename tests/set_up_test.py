# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The scripts that find Python and tell whether .venv is up to date."""

import os
import pathlib
import shutil
import subprocess
import sys

from tests import processes
from tests import repository

from absl.testing import absltest
from absl.testing import parameterized

_GOOD = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
# A pyenv shim of a version that is not selected.
_BROKEN = '#!/bin/sh\necho "python3: command not found" >&2\nexit 127\n'
# The version of this Python, and those that set-up looks for, newest first.
_VERSION = '{}.{}'.format(*sys.version_info)
_VERSIONS = ('3.13', '3.12', '3.11')


class FindPythonTest(parameterized.TestCase):
  """Each with an empty home and a PATH of its own."""

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    (self.root / 'home').mkdir()

  def _script(self, path, text):
    file = self.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return str(file)

  def _find(self, *versions, path='bin', **variables):
    folders = [str(self.root / folder) for folder in path.split(':')]
    environment = {
      'HOME': str(self.root / 'home'),
      'PATH': ':'.join(folders),
      **variables,
    }
    return subprocess.run(
      ['/bin/sh', str(repository.ROOT / '.ci' / 'find_python'), *versions],
      env=environment,
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )

  def _assert_found(self, result):
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertEqual(result.stdout, f'{sys._base_executable}\n')

  @parameterized.named_parameters(
    ('on_the_path', 'bin', {f'bin/python{_VERSION}': _GOOD}),
    ('python3_if_it_is_one', 'bin', {'bin/python3': _GOOD}),
    ('folder_with_a_space', 'a b', {f'a b/python{_VERSION}': _GOOD}),
    (
      'beside_a_shim_that_fails',
      'shims:bin',
      {f'shims/python{_VERSION}': _BROKEN, f'bin/python{_VERSION}': _GOOD},
    ),
    (
      'of_pyenv',
      'bin',
      {
        f'bin/python{_VERSION}': _BROKEN,
        f'home/.pyenv/versions/{_VERSION}.7/bin/python{_VERSION}': _GOOD,
      },
    ),
  )
  def test_takes_the_one(self, path, scripts):
    for name, text in scripts.items():
      self._script(name, text)
    result = self._find(path=path)
    self._assert_found(result)
    self.assertEmpty(result.stderr)

  def test_variable_comes_first(self):
    python = self._script('elsewhere/python', _GOOD)
    self._script(f'bin/python{_VERSION}', _BROKEN)
    self._assert_found(self._find(PYTHON=python))

  def test_unusable_variable_is_told(self):
    self._script(f'bin/python{_VERSION}', _GOOD)
    result = self._find(PYTHON='/nowhere/python')
    self._assert_found(result)
    self.assertIn('PYTHON=/nowhere/python', result.stderr)

  def test_takes_pyenvs_from_its_own_root(self):
    self._script(f'root/versions/{_VERSION}.7/bin/python{_VERSION}', _GOOD)
    self._assert_found(self._find(PYENV_ROOT=str(self.root / 'root')))

  def test_takes_uvs_and_not_a_virtual_environment(self):
    managed = self._script('managed/python', _GOOD)
    self._script(
      'bin/uv',
      '#!/bin/sh\n'
      'case "$*" in *--system*) echo ' + managed + ';; *) exit 1;; esac\n',
    )
    self._assert_found(self._find())

  def test_without_any_says_what_to_install(self):
    self._script(f'bin/python{_VERSION}', _BROKEN)
    self._script('bin/python3', '#!/bin/sh\nexit 1\n')
    result = self._find()
    self.assertEqual(result.returncode, 2)
    self.assertEmpty(result.stdout)
    self.assertLen(result.stderr.splitlines(), 1)
    self.assertIn('CPython 3.13 or 3.12 or 3.11 with', result.stderr)

  def test_takes_the_newest_that_works(self):
    """Each a script that says it is of its version."""
    for version in _VERSIONS:
      self._script(
        f'bin/python{version}',
        f'#!/bin/sh\n[ "$5" = {version} ] && echo /the/{version}\n',
      )
    self.assertEqual(self._find().stdout, '/the/3.13\n')
    self.assertEqual(self._find('3.11', '3.12').stdout, '/the/3.11\n')
    self._script('bin/python3.13', _BROKEN)
    self.assertEqual(self._find().stdout, '/the/3.12\n')
    self.assertEqual(self._find('3.13').returncode, 2)


class SetUpTest(absltest.TestCase):
  """On a copy of the repository's requirements, with nothing to install."""

  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    for folder in ('.ci', 'requirements'):
      shutil.copytree(repository.ROOT / folder, self.root / folder)
    self.stamp = self.root / '.venv' / 'lock.sha256'

  def _check(self):
    return self._run('--check')

  def _run(self, *flags):
    command = [sys.executable, '.ci/set_up.py', *flags]
    result = subprocess.run(
      command, cwd=self.root, check=False, timeout=processes.HANG_SECONDS
    )
    return result.returncode == 0

  def _pretend_installed(self):
    python = self.root / '.venv' / 'bin' / 'python'
    python.parent.mkdir(parents=True)
    python.write_text(_GOOD)
    python.chmod(0o755)
    set_up = repository.load_script(os.fspath(self.root / '.ci' / 'set_up.py'))
    package = set_up._package('today')
    self.stamp.write_text(package.expected_stamp())
    packages = self.root / '.venv/lib' / f'python{_VERSION}' / 'site-packages'
    packages.mkdir(parents=True)
    set_up._path_file(package).write_text(set_up._PATH_LINE)

  def test_is_up_to_date_until_something_is_missing_or_changed(self):
    self.assertFalse(self._check())
    self._pretend_installed()
    self.assertTrue(self._check())
    python = self.root / '.venv' / 'bin' / 'python'
    lock = self.root / 'requirements' / 'today.lock'
    for path, content in (
      # As after an interruption.
      (self.stamp, None),
      (python, None),
      (lock, f'{lock.read_text()}another==1.0\n'),
    ):
      with self.subTest(path.name):
        away = path.rename(path.with_suffix('.away'))
        if content is not None:
          path.write_text(content)
        self.assertFalse(self._check())
        away.replace(path)
        self.assertTrue(self._check())

  def test_repository_is_made_importable(self):
    venv = self.root / '.venv'
    subprocess.run(
      [sys.executable, '-m', 'venv', '--without-pip', venv],
      check=True,
      timeout=processes.HANG_SECONDS,
    )
    set_up = repository.load_script(os.fspath(self.root / '.ci' / 'set_up.py'))
    self.stamp.write_text(set_up._package('today').expected_stamp())
    (self.root / 'of_the_repository.py').write_text('')
    (self.root / 'fedfish_tff_first.py').write_text('')
    # An environment that lacks only that is not installed anew.
    self.assertFalse(self._check())
    self.assertTrue(self._run())
    self.assertTrue(self._check())
    environment = {k: v for k, v in os.environ.items() if k != 'TEST_SRCDIR'}
    for extra, code in (({}, 0), ({'TEST_SRCDIR': 'of Bazel'}, 1)):
      result = subprocess.run(
        [venv / 'bin' / 'python', '-c', 'import of_the_repository'],
        cwd=self.create_tempdir().full_path,
        env=environment | extra,
        check=False,
        timeout=processes.HANG_SECONDS,
      )
      self.assertEqual(result.returncode, code)

  def test_what_a_link_leads_to_is_left_alone(self):
    self._pretend_installed()
    elsewhere = self.root / 'elsewhere'
    (self.root / '.venv').rename(elsewhere)
    (self.root / '.venv').symlink_to(elsewhere)
    with open(self.root / 'requirements' / 'today.lock', 'a') as lock:
      lock.write('another==1.0\n')
    self.assertFalse(self._run())
    self.assertTrue((elsewhere / 'lock.sha256').exists())
