# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What must happen before TensorFlow and TFF are imported."""

from collections.abc import Sequence
import importlib.abc
import importlib.machinery
import itertools
import linecache
import os
import sys
import types
import warnings

# Level 3 because TensorFlow 2.14 logs the absence of CUDA as errors.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
# NumPy's threads wait for work in a loop of 2^14 processor cycles instead of
# 2^26. The longer loop keeps all cores busy in programs that call linear
# algebra now and then, such as Matplotlib. The number of threads and results do
# not change.
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '14')
# Dependencies of TFF still import pkg_resources, which warns at each import.
warnings.filterwarnings(
  'ignore', message='pkg_resources is deprecated', category=UserWarning
)

# TFF imports it in any case. Imported before TensorFlow, it loads its parts at
# their first use, and TFF uses only one, for discrete noise.
import tensorflow_probability  # noqa: E402, F401

# Private; not in `private_apis`, since that imports TensorFlow.
_AUTOGRAPH_LOADER = 'tensorflow.python.autograph.pyct.loader'

_numbers = itertools.count()


def _load_generated_source(
  source: str, delete_on_exit: bool
) -> tuple[types.ModuleType, str]:
  """Loads a module that AutoGraph has generated from memory.

  TensorFlow's own function writes the module to the temporary folder and
  imports it from there. On most machines all users share that folder, and
  Python would run compiled code that another user has put into its __pycache__.

  Args:
    source: The code of the module.
    delete_on_exit: Whether to remove the file at the end; unused, since there
      is no file.

  Returns:
    The module, and its path in tracebacks and `inspect`.
  """
  name = f'__autograph_generated_file{next(_numbers)}'
  module = types.ModuleType(name)
  # A path at which no file can be, which would be read as the source.
  module.__file__ = f'{os.devnull}/{name}.py'
  module.__loader__ = types.SimpleNamespace(get_source=lambda _: source)
  linecache.lazycache(module.__file__, vars(module))
  exec(compile(source, module.__file__, 'exec'), vars(module))
  sys.modules[name] = module
  return module, module.__file__


class _AutographFinder(importlib.abc.MetaPathFinder):
  """Replaces a function of AutoGraph's loader when it is imported."""

  def find_spec(
    self,
    name: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    if name != _AUTOGRAPH_LOADER:
      return None
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    execute = spec.loader.exec_module

    def execute_and_change(module: types.ModuleType) -> None:
      execute(module)
      module.load_source = _load_generated_source

    spec.loader.exec_module = execute_and_change
    return spec


if _AUTOGRAPH_LOADER in sys.modules:
  sys.modules[_AUTOGRAPH_LOADER].load_source = _load_generated_source
else:
  sys.meta_path.insert(0, _AutographFinder())
