# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel holds the library alone and asks for what the library imports."""

# bazel: tags = ['manual']  # Builds a wheel of the tree; `make test` runs it.

from collections.abc import Collection
from collections.abc import Mapping
import email
from importlib import metadata
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import fedfish_tff
from tests import processes
from tests import repository

from absl.testing import absltest
from packaging import requirements

update_build_files = repository.load_script('.ci/update_build_files.py')


def _canonical(name: str) -> str:
  return re.sub(r'[-_.]+', '-', name).lower()


# The google package is shared by several distributions.
_SHARED_PACKAGES = {'google.protobuf': 'protobuf'}

# What may not be installed.
_OPTIONAL = ('ray',)


def _distribution(module: str, known: Mapping[str, list[str]]) -> str:
  for package, name in _SHARED_PACKAGES.items():
    if f'{module}.'.startswith(f'{package}.'):
      return name
  if module in _OPTIONAL:
    return module
  return known[module.split('.')[0]][0]


# Programs that run in environments of their own.
_ELSEWHERE = (
  'fedfish_tff/execution/pjrt/cost_process.py',
  'fedfish_tff/execution/pjrt/device_process.py',
  'launch/benchmarks/peers',
  'launch/benchmarks/run_exported.py',
)

# Folders whose imports are left to an extra of the same name.
_EXTRAS = {
  'grouping': 'fedfish_tff/datasets/grouping',
  'ray': 'fedfish_tff/execution/ray',
}


def _imported_distributions(
  *folders: str, without: Collection[str] = ()
) -> set[str]:
  """The distributions that modules in some folders, not in others, import."""
  distributions = metadata.packages_distributions()
  ours = {*sys.stdlib_module_names, *update_build_files.TREES}
  return {
    _canonical(_distribution(name, distributions))
    for module in repository.read_modules().values()
    if any(map(module.path.is_relative_to, folders))
    and not any(map(module.path.is_relative_to, without))
    for name, _ in update_build_files.imported_names(module)
    if name.split('.')[0] not in ours
  }


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
    subprocess.run(
      [*command, '.'], cwd=root, check=True, timeout=processes.HANG_SECONDS
    )
    (file,) = (root / 'wheels').glob('*.whl')
    with zipfile.ZipFile(file) as wheel:
      cls.names = wheel.namelist()
      (path,) = (n for n in cls.names if n.endswith('.dist-info/METADATA'))
      cls.metadata = email.message_from_bytes(wheel.read(path))
    found = map(requirements.Requirement, cls.metadata.get_all('Requires-Dist'))
    cls.required, cls.extras = {}, {name: {} for name in _EXTRAS}
    for item in found:
      into = cls.required
      if item.marker is not None:
        (extra,) = (
          name for name in _EXTRAS if item.marker.evaluate({'extra': name})
        )
        into = cls.extras[extra]
      into[_canonical(item.name)] = item

  def test_holds_the_library_alone(self):
    sources = {name for name in self.names if '.dist-info/' not in name}
    self.assertEqual(
      sources,
      {
        str(module.path)
        for module in repository.read_modules().values()
        if module.path.parts[0] == 'fedfish_tff'
      },
    )

  def test_holds_the_license(self):
    self.assertTrue(any(name.endswith('/LICENSE') for name in self.names))

  def test_version_is_the_packages(self):
    self.assertEqual(self.metadata['Version'], fedfish_tff.__version__)

  def test_requires_what_the_library_imports(self):
    self.assertEqual(
      _imported_distributions(
        'fedfish_tff', without=[*_EXTRAS.values(), *_ELSEWHERE]
      ),
      set(self.required),
    )

  def test_extras_require_what_their_folders_import_besides(self):
    self.assertEqual(set(self.metadata.get_all('Provides-Extra')), set(_EXTRAS))
    for extra, folder in _EXTRAS.items():
      self.assertEqual(
        _imported_distributions(folder) - set(self.required),
        set(self.extras[extra]),
      )

  def test_requirements_name_what_the_repository_imports(self):
    file = repository.ROOT / 'requirements' / 'requirements.in'
    named = {
      _canonical(requirements.Requirement(line).name)
      for line in file.read_text().splitlines()
      if line and not line.startswith('#')
    }
    self.assertContainsSubset(
      _imported_distributions(*update_build_files.TREES, without=_ELSEWHERE),
      named.union(_OPTIONAL),
    )

  def test_lock_satisfies_the_requirements(self):
    for required in (self.required, *self.extras.values()):
      for name, requirement in required.items():
        if name in _OPTIONAL and not importlib.util.find_spec(name):
          continue
        self.assertIn(metadata.version(name), requirement.specifier)


if __name__ == '__main__':
  absltest.main()
