# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""FedFish, FedAvg and kin on TensorFlow Federated.

Importing this package before TensorFlow keeps TensorFlow's start-up messages
off stderr; a level set in the environment wins.
"""

import atexit
from collections.abc import Sequence
import contextlib
import glob
import importlib.abc
import importlib.machinery
import itertools
import linecache
import os
import signal
import sys
import types
import warnings

__version__ = '0.1.0'

# Level 3 because TensorFlow 2.14 logs the absence of CUDA as errors.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
# NumPy's threads wait for work in a loop of 2^14 processor cycles, not the usual
# 2^26, which keeps all cores busy where a program calls linear algebra now and
# then, as Matplotlib does. Their number stays, and so do results.
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '14')
# Dependencies of TFF still import pkg_resources, which warns at each import.
warnings.filterwarnings(
  'ignore', message='pkg_resources is deprecated', category=UserWarning
)

# TFF imports it in any case. Before TensorFlow it leaves its parts until they are
# used, of which TFF uses one, for discrete noise.
import tensorflow_probability  # noqa: E402

# Private, and not in `private_apis`, which imports TensorFlow.
_RUNTIME_ERROR_CONTEXT = (
  'tensorflow_federated.python.core.impl.context_stack.runtime_error_context'
)
_AUTOGRAPH_LOADER = 'tensorflow.python.autograph.pyct.loader'


def _end_default_context() -> None:
  """Ends the default context that TFF makes when it is imported.

  Python would do so after it has taken TFF's modules apart: TFF's context then
  prints an error, and leaves its server behind where it has started one.
  """
  runtime_error_context = sys.modules.get(_RUNTIME_ERROR_CONTEXT)
  tff = sys.modules.get('tensorflow_federated')
  if tff is None or runtime_error_context is None:
    return
  _terminate_servers()
  tff.framework.set_default_context(
    runtime_error_context.create_runtime_error_context()
  )


def _terminate_servers() -> None:
  """Ends the servers that TFF has started in this process.

  TFF's context sends them SIGINT and waits, for ever where they ignore it, as
  do all children of a shell's background job.
  """
  for path in glob.glob('/proc/self/task/*/children'):
    with contextlib.suppress(OSError):  # What has ended meanwhile.
      with open(path, encoding='ascii') as children:
        for child in children.read().split():
          if os.readlink(f'/proc/{child}/exe').endswith('/worker_binary'):
            os.kill(int(child), signal.SIGTERM)


atexit.register(_end_default_context)


_numbers = itertools.count()


def _load_generated_source(
  source: str, delete_on_exit: bool
) -> tuple[types.ModuleType, str]:
  """Loads a module that AutoGraph has generated, from memory.

  TensorFlow's own function writes it to the temporary folder and imports it
  there. On most machines all users share that folder, and Python would run the
  compiled code that another one has put into its __pycache__.

  Args:
    source: The code of the module.
    delete_on_exit: Whether the file is removed at the end; there is none.

  Returns:
    The module and the path that tracebacks and `inspect` call it by.
  """
  name = f'__autograph_generated_file{next(_numbers)}'
  module = types.ModuleType(name)
  # No file can be there that would be taken for the source.
  module.__file__ = f'{os.devnull}/{name}.py'
  module.__loader__ = types.SimpleNamespace(get_source=lambda _: source)
  linecache.lazycache(module.__file__, vars(module))
  exec(compile(source, module.__file__, 'exec'), vars(module))
  sys.modules[name] = module
  return module, module.__file__


class _AutographFinder(importlib.abc.MetaPathFinder):
  """Changes AutoGraph's loader as soon as it is imported."""

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
