# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The repository as the tests of its structure see it: files, not modules."""

import functools
import importlib.util
import pathlib
import sys
import types
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.cache
def load_script(path: str) -> types.ModuleType:
  """Imports a script that is in no package, such as those of .ci, once.

  Args:
    path: Path below the root of the repository.

  Returns:
    The module.
  """
  file = ROOT / path
  spec = importlib.util.spec_from_file_location(file.stem, file)
  module = importlib.util.module_from_spec(spec)
  sys.modules[file.stem] = module  # dataclasses look their module up there.
  spec.loader.exec_module(module)
  return module


@functools.cache
def read_modules() -> dict[str, Any]:
  """All modules, as .ci/update_build_files.py reads them; not to be changed."""
  return load_script('.ci/update_build_files.py').read_modules()
