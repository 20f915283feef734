# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of a binary's process: libraries start and end without messages.

`launch.cli` imports this module before NumPy and TensorFlow, which read the
environment when they are loaded; a variable that is set already keeps its value.
The processes that a binary starts inherit the environment.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import gc
import importlib.abc
import importlib.machinery
import os
import sys
import types
import warnings

# TensorFlow logs the absence of CUDA as errors, hence this level.
_NO_LOGS = '3'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', _NO_LOGS)
# NumPy's threads wait for work in a loop of 2^14 processor cycles instead of
# 2^26. The longer loop keeps all cores busy in programs that call linear
# algebra now and then, such as Matplotlib. The number of threads and results do
# not change.
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '14')
# Dependencies of TFF still import pkg_resources, which warns at each import.
warnings.filterwarnings(
  'ignore', message='pkg_resources is deprecated', category=UserWarning
)

# Libraries that log while they are loaded, in TensorFlow 2.21: before it reads
# the level, so that no variable of the environment keeps them quiet.
_LOGGING_LIBRARIES = (
  'tensorflow.python.platform._pywrap_cpu_feature_guard',
  'tensorflow.python.profiler.internal._pywrap_profiler_plugin',
)
# Private; not in `private_apis`, since that imports TensorFlow.
_RUNTIME_ERROR_CONTEXT = (
  'tensorflow_federated.python.core.impl.context_stack.runtime_error_context'
)
_ATOMIC_FUNCTION = (
  'tensorflow.python.eager.polymorphic_function.atomic_function'
)


@contextlib.contextmanager
def _no_stderr() -> Iterator[None]:
  """Discards what native code writes to stderr in its block."""
  if sys.stderr is None:  # As in a daemon that has closed it.
    yield
    return
  sys.stderr.flush()
  with open(os.devnull, 'wb') as nowhere:
    saved = os.dup(2)
    try:
      os.dup2(nowhere.fileno(), 2)
      yield
    finally:
      os.dup2(saved, 2)
      os.close(saved)


class _Finder(importlib.abc.MetaPathFinder):
  """Finds the libraries that log while they are loaded, and quiets them."""

  def find_spec(
    self,
    name: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    if name not in _LOGGING_LIBRARIES:
      return None
    spec = importlib.machinery.PathFinder.find_spec(name, path, target)
    if spec and os.environ.get('TF_CPP_MIN_LOG_LEVEL') == _NO_LOGS:
      spec.loader.create_module = _no_stderr()(spec.loader.create_module)
    return spec


sys.meta_path.insert(0, _Finder())


def end_quietly() -> None:
  """Prepares TensorFlow and TFF for the end of the process.

  TensorFlow's functions end with the process, without a call for each. The call
  fails if Python has already removed what it needs, or if Ctrl-C comes
  meanwhile, and Python then prints an ignored exception. The context that TFF
  makes when it is imported, and that no binary uses, ends while TFF is there;
  later it would print such an exception, too.
  """
  gc.freeze()  # At the end of the process, nothing is worth freeing.
  atomic_function = sys.modules.get(_ATOMIC_FUNCTION)
  if atomic_function is not None:
    del atomic_function.AtomicFunction.__del__
  tff = sys.modules.get('tensorflow_federated')
  runtime_error_context = sys.modules.get(_RUNTIME_ERROR_CONTEXT)
  if tff is not None and runtime_error_context is not None:
    tff.framework.set_default_context(
      runtime_error_context.create_runtime_error_context()
    )
