# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The execution contexts by name, as the binaries' --context chooses them.

A context is added by its setter in `_SETTERS`: a function that makes TFF's
default context, and whose parameters are the context's options. TensorFlow
Federated is imported when one is set.
"""

from collections.abc import Mapping
import importlib
import inspect
from typing import Any

from fedfish_tff import errors

DEFAULT_CONTEXT_NAME = 'cohort'

_SETTERS: Mapping[str, tuple[str, str]] = {
  'cohort': (
    'fedfish_tff.execution.cohort_context',
    'set_sync_cohort_execution_context',
  ),
  'pjrt': (
    'fedfish_tff.execution.pjrt.pjrt_context',
    'set_sync_pjrt_execution_context',
  ),
  'ray': (
    'fedfish_tff.execution.ray.ray_context',
    'set_sync_ray_execution_context',
  ),
  'local_worker': (
    'fedfish_tff.execution.worker.local_worker',
    'set_sync_local_worker_execution_context',
  ),
}


def context_names() -> tuple[str, ...]:
  """Returns the names that `set_default_context` knows, sorted."""
  return tuple(sorted(_SETTERS))


def set_default_context(
  name: str = DEFAULT_CONTEXT_NAME, **options: Any
) -> None:
  """Makes the named context the one in which TFF computations run.

  As everywhere in TFF, that is the default of the calling thread only.

  Args:
    name: One of `context_names()`.
    **options: Parameters of the context's `set_` function.

  Raises:
    InputError: If there is no such context or it has no such option.
  """
  if name not in _SETTERS:
    raise errors.InputError(
      f'Unknown execution context {name!r}; expected one of: '
      f'{", ".join(context_names())}.'
    )
  module, function = _SETTERS[name]
  setter = getattr(importlib.import_module(module), function)
  known = inspect.signature(setter).parameters
  for option in options:
    if option not in known:
      raise errors.InputError(
        f'The execution context {name!r} has no option {option!r}; expected '
        f'one of: {", ".join(known)}.'
      )
  setter(**options)
