# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The wheel holds what users run, which runs, and asks for what that imports."""

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import email
from importlib import metadata
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any
import zipfile

import fedfish_tff
from launch import installed
from tests import processes
from tests import repository

from absl.testing import absltest
from packaging import requirements
import pytest


def _canonical(name: str) -> str:
  return re.sub(r'[-_.]+', '-', name).lower()


# The google package is shared by several distributions.
_SHARED_PACKAGES = {'google.protobuf': 'protobuf'}

# What may not be installed.
_OPTIONAL = ('ray', 'wandb')


def _distribution(module: str, known: Mapping[str, list[str]]) -> str:
  for package, name in _SHARED_PACKAGES.items():
    if f'{module}.'.startswith(f'{package}.'):
      return name
  root = module.split('.')[0]
  return root if root in _OPTIONAL else known[root][0]


# Programs that run in environments of their own.
_ELSEWHERE = (
  'fedfish_tff/execution/pjrt/device_process.py',
  'benchmarks/peers',
)

# Distributions whose pins pip cannot meet, so that the wheel asks for what they
# import instead.
_PINNED = (
  'dataset-grouper',
  'google-vizier',
  'tensorflow-federated',
  'tensorflow-privacy',
)
# What those ask for and the wheel need not have: what they do without, and what
# others of the wheel's requirements bring.
_NEEDLESS = {
  'grpcio-tools',
  'packaging',
  'sqlalchemy',
  'tensorflow-estimator',
}

# What the wheel is made of.
_PACKAGED = ('fedfish_tff', 'launch', 'tasks', 'examples')

# Folders and files whose imports are left to an extra.
_EXTRAS = {
  'grouping': (
    'fedfish_tff/datasets/client_files.py',
    'fedfish_tff/datasets/grouping',
    'launch/data',
  ),
  'ray': ('fedfish_tff/execution/ray',),
  'roberta': ('tasks/text/roberta_checkpoint.py',),
  'wandb': ('fedfish_tff/simulation/wandb_manager.py',),
}


def _packaged_modules() -> dict[str, Any]:
  """The modules that the wheel should hold, by their names here."""
  return {
    name: module
    for name, module in repository.read_modules().items()
    if any(map(module.path.is_relative_to, _PACKAGED))
  }


def _imported_distributions(
  *folders: str, without: Collection[str] = ()
) -> set[str]:
  """The distributions that modules in some folders, not in others, import."""
  distributions = metadata.packages_distributions()
  ours = {*sys.stdlib_module_names, *repository.TREES}
  return {
    _canonical(_distribution(name, distributions))
    for module in repository.read_modules().values()
    if any(map(module.path.is_relative_to, folders))
    and not any(map(module.path.is_relative_to, without))
    for name, _ in module.imported_names
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
    files = ['setup.py', 'pyproject.toml', 'README.md', 'LICENSE']
    files += ['CITATION.cff', 'fedfish_tff_first.py']
    for name in files:
      shutil.copy(repository.ROOT / name, root)
    for name in (*_PACKAGED, 'benchmarks', 'tests'):
      shutil.copytree(repository.ROOT / name, root / name)
    command = [sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps']
    command += ['--no-index', '--no-build-isolation', '--wheel-dir', 'wheels']
    subprocess.run(
      [*command, '.'], cwd=root, check=True, timeout=processes.HANG_SECONDS
    )
    (cls.wheel,) = (root / 'wheels').glob('*.whl')
    with zipfile.ZipFile(cls.wheel) as wheel:
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

  def test_holds_the_library_and_the_programs(self):
    sources = {name for name in self.names if '.dist-info/' not in name}
    paths = [module.path for module in _packaged_modules().values()]
    self.assertEqual(
      sources,
      {
        'fedfish_tff/py.typed',
        'fedfish_tff_first.pth',
        'fedfish_tff_first.py',
        'fedfish_tff_programs/examples/cellars.csv',
        *(
          str(path)
          if path.is_relative_to('fedfish_tff')
          else f'fedfish_tff_programs/{path}'
          for path in paths
        ),
      },
    )

  def test_what_it_holds_imports_nothing_that_it_lacks(self):
    packaged = _packaged_modules()
    for module in packaged.values():
      imported = repository.imported_modules(module)
      self.assertContainsSubset(imported, packaged, module.path)

  def test_every_binary_is_a_command(self):
    binaries = {
      '.'.join(module.path.with_suffix('').parts[1:])
      for module in _packaged_modules().values()
      if module.is_binary and module.folder == 'launch'
    }
    # That of python -m launch is the command fedfish.
    self.assertCountEqual([*installed.COMMANDS.values(), '__main__'], binaries)

  def test_holds_the_license(self):
    self.assertTrue(any(name.endswith('/LICENSE') for name in self.names))

  def test_version_is_the_packages(self):
    self.assertEqual(self.metadata['Version'], fedfish_tff.__version__)

  def test_requires_what_it_and_tff_import(self):
    imported = _imported_distributions(
      *_PACKAGED,
      without=[*itertools.chain(*_EXTRAS.values()), *_ELSEWHERE],
    )
    asked = {
      _canonical(requirements.Requirement(line).name)
      for name in _PINNED
      if name != 'dataset-grouper'
      for line in metadata.requires(name)
      if 'extra ==' not in line
    }
    # Keras 2, which tensorflow.keras is, google-vizier's pkg_resources, and what
    # tf.summary imports at the first call.
    further = {'tf-keras', 'setuptools', 'tensorboard'}
    self.assertEqual(
      (imported | asked | further) - _NEEDLESS - set(_PINNED),
      set(self.required),
    )

  def test_extras_require_what_their_folders_import_besides(self):
    self.assertEqual(set(self.metadata.get_all('Provides-Extra')), set(_EXTRAS))
    for extra, folders in _EXTRAS.items():
      self.assertEqual(
        _imported_distributions(*folders) - set(self.required) - set(_PINNED),
        set(self.extras[extra]),
      )

  def test_requirements_name_what_the_repository_imports(self):
    folder = repository.ROOT / 'requirements'
    named = {
      _canonical(requirements.Requirement(line).name)
      for name in ('requirements.in', 'today.in')
      for line in (folder / name).read_text().splitlines()
      if line and not line.startswith(('#', '-r'))
    }
    self.assertContainsSubset(
      _imported_distributions(*repository.TREES, without=_ELSEWHERE),
      named.union(_OPTIONAL),
    )

  def test_lock_satisfies_the_requirements(self):
    for required in (self.required, *self.extras.values()):
      for name, requirement in required.items():
        if name in _OPTIONAL and not importlib.util.find_spec(name):
          continue
        if name == 'tf-keras' and metadata.version('tensorflow')[:5] == '2.14.':
          continue
        self.assertIn(metadata.version(name), requirement.specifier)

  def _install(self) -> pathlib.Path:
    """Installs the wheel alone into a folder; returns the folder."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    command = [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps']
    command += ['--no-index', '--no-compile', '--target', folder, self.wheel]
    subprocess.run(command, check=True, timeout=processes.HANG_SECONDS)
    return folder

  def _run(self, folder: pathlib.Path, command: str, *arguments: str) -> str:
    """Runs a command in the working directory; returns what it prints."""
    return subprocess.run(
      [folder / 'bin' / command, *arguments],
      # With TEST_SRCDIR, the virtual environment does not find the checkout.
      env=os.environ | {'PYTHONPATH': str(folder), 'TEST_SRCDIR': ''},
      stdout=subprocess.PIPE,
      text=True,
      check=True,
      timeout=processes.HANG_SECONDS,
    ).stdout

  @pytest.mark.thorough
  def test_commands_find_configs_in_the_wheel(self):
    folder = self._install()
    self.enter_context(contextlib.chdir(self.create_tempdir().full_path))
    # Somebody's own, which hide nothing and can be named.
    pathlib.Path('tasks.py').write_text('1 / 0')
    pathlib.Path('launch').mkdir()
    pathlib.Path('mine.py').write_text('from launch.configs.digits import *')
    # Runs from the wheel, below, find one by its name alone.
    for config in ('launch/configs/digits.py', 'mine.py'):
      out = self._run(
        *(folder, 'fedfish-sweep', f'--config={config}:seeds', '--dry_run'),
        '--sweep_dir=runs/a',
      )
      self.assertIn(f'The first: fedfish-train --config={config}:fed_avg ', out)
    out = self._run(folder, 'fedfish-train', '--help')
    self.assertIn('fedfish-plot --output_dir=', out)
    self.assertNotRegex(out, r'python|launch\.')

  @pytest.mark.thorough
  def test_runs_end_to_end_from_the_wheel(self):
    folder = self._install()
    self.enter_context(contextlib.chdir(self.create_tempdir().full_path))
    fields = ['--config.rounds=2', '--config.local_epochs=1']
    pathlib.Path('mine.py').write_text(
      'from launch.configs.digits import *\n'
      'def sweep(name): return sweeps.grid(["fed_fish"], {"seed": (0, 1)})\n'
    )
    # Its processes are forked from another one.
    self._run(
      *(folder, 'fedfish-sweep', '--config=mine.py:seeds', *fields),
      *('--sweep_dir=runs/a', '--evaluate'),
    )
    (path,) = pathlib.Path('runs/a/runs').glob('*seed_1')
    self._run(
      *(folder, 'fedfish-train', '--config=digits:fed_fish', *fields),
      *('--config.seed=1', '--workdir=runs/b'),
    )
    summaries = [
      json.loads((workdir / 'summary.json').read_text())
      for workdir in (path, pathlib.Path('runs/b'))
    ]
    self.assertEqual(*(summary['test'] for summary in summaries))
    self._run(
      *(folder, 'fedfish-plot', '--sweep_dir=runs/a', '--output_dir=plots'),
    )
    self.assertNotEmpty(list(pathlib.Path('plots').glob('*.png')))
