# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules that every room of the repository keeps."""

from tests import repository

from absl.testing import absltest


class StructureTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.modules = repository.read_modules().values()

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
