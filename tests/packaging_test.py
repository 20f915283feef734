# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel holds the library alone and asks for what the library imports."""

# bazel: tags = ['manual']  # Builds a wheel of the tree; `make test` runs it.

import email
from importlib import metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import fedfish_tff
from tests import repository

from absl.testing import absltest
from packaging import requirements

update_build_files = repository.load_script('.ci/update_build_files.py')


def _canonical(name: str) -> str:
  return re.sub(r'[-_.]+', '-', name).lower()


class PackagingTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # setuptools writes into the tree it builds: build a copy.
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    root = pathlib.Path(folder.name)
    for name in ('setup.py', 'pyproject.toml', 'README.md', 'LICENSE'):
      shutil.copy(repository.ROOT / name, root)
    for name in ('fedfish_tff', 'tasks', 'launch', 'tests'):
      if (repository.ROOT / name).exists():
        shutil.copytree(repository.ROOT / name, root / name)
    command = [sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps']
    command += ['--no-index', '--no-build-isolation', '--wheel-dir', 'wheels']
    subprocess.run([*command, '.'], cwd=root, check=True)
    (file,) = (root / 'wheels').glob('*.whl')
    with zipfile.ZipFile(file) as wheel:
      cls.names = wheel.namelist()
      (path,) = (n for n in cls.names if n.endswith('.dist-info/METADATA'))
      cls.metadata = email.message_from_bytes(wheel.read(path))

  def _required(self):
    found = map(
      requirements.Requirement, self.metadata.get_all('Requires-Dist')
    )
    return {_canonical(requirement.name): requirement for requirement in found}

  def test_holds_the_library_alone(self):
    sources = {name for name in self.names if '.dist-info/' not in name}
    self.assertEqual(
      sources,
      {
        str(module.path)
        for module in update_build_files.read_modules().values()
        if module.path.parts[0] == 'fedfish_tff'
      },
    )

  def test_holds_the_license(self):
    self.assertTrue(any(name.endswith('/LICENSE') for name in self.names))

  def test_version_is_the_packages(self):
    self.assertEqual(self.metadata['Version'], fedfish_tff.__version__)

  def test_requires_what_the_library_imports(self):
    distributions = metadata.packages_distributions()
    imported = set()
    for module in update_build_files.read_modules().values():
      if module.path.parts[0] == 'fedfish_tff':
        for name, _ in update_build_files.imported_names(module):
          top = name.split('.')[0]
          if top not in sys.stdlib_module_names and top != 'fedfish_tff':
            imported.add(_canonical(distributions[top][0]))
    self.assertEqual(imported, set(self._required()))

  def test_lock_satisfies_the_requirements(self):
    for name, requirement in self._required().items():
      self.assertIn(metadata.version(name), requirement.specifier)


if __name__ == '__main__':
  absltest.main()
