# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The repository as the tests of its structure see it: files, not modules."""

import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load_script(path: str) -> types.ModuleType:
  """Imports a script that is in no package, such as those of .ci.

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
