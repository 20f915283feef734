# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules that every room of the repository keeps."""

import pathlib

from tests import repository

from absl.testing import absltest

# Folders whose modules are tested together, each with the test that does it.
TESTED_TOGETHER = {
  'benchmarks/peers': 'tests/benchmarks/peer_rounds_test.py',
  'launch/configs': 'tests/launch/configs_test.py',
}


def _mirrored_test(path: pathlib.PurePosixPath) -> pathlib.Path:
  """Returns the path of the test that belongs to a module."""
  if str(path.parent) in TESTED_TOGETHER:
    return repository.ROOT / TESTED_TOGETHER[str(path.parent)]
  parent = path.parent
  if path.parts[0] == 'fedfish_tff':
    parent = parent.relative_to('fedfish_tff')
  return repository.ROOT / 'tests' / parent / f'{path.stem}_test.py'


class StructureTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.modules = repository.read_modules().values()

  def test_every_module_has_a_mirrored_test(self):
    missing = []
    for module in self.modules:
      if module.path.parts[0] == 'tests' or module.is_package:
        continue
      test = _mirrored_test(module.path)
      if not test.exists():
        missing.append(f'{module.path}: no {test.relative_to(repository.ROOT)}')
    self.assertEmpty(missing)

  def test_every_folder_of_the_library_is_a_package(self):
    # Without __init__.py, setuptools would leave a folder out of the wheel.
    missing = {
      module.folder
      for module in self.modules
      if module.path.parts[0] in ('fedfish_tff', 'tasks', 'launch')
      and not (repository.ROOT / module.folder / '__init__.py').exists()
    }
    self.assertEmpty(missing)

  def test_every_test_is_a_target_of_bazel(self):
    without = {
      module.folder
      for module in self.modules
      if module.is_test
      and 'pytest_tests('
      not in (repository.ROOT / module.folder / 'BUILD').read_text()
    }
    self.assertEmpty(without)

  def test_helpers_of_all_folders_are_there_for_every_target(self):
    targets = (repository.ROOT / 'tests' / 'BUILD').read_text()
    missing = {
      module.folder
      for module in self.modules
      if module.folder.startswith('tests/')
      and not (module.is_test or module.is_package)
      and f'"//{module.folder}:helpers"' not in targets
    }
    self.assertEmpty(missing)
