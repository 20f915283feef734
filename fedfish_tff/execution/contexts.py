# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The execution contexts by name, for the binaries' flag --context.

The creation of a context imports TensorFlow Federated.
"""

from collections.abc import Mapping
import importlib
import inspect
from typing import Any

from fedfish_tff import errors

DEFAULT_CONTEXT_NAME = 'cohort'

# The module and the class of each; a class has a Sync and an Async kind.
_CLASSES: Mapping[str, tuple[str, str]] = {
  'cohort': ('cohort_context', 'CohortExecutionContext'),
  'pjrt': ('pjrt.pjrt_context', 'PjrtExecutionContext'),
  'ray': ('ray.ray_context', 'RayExecutionContext'),
  'local_worker': ('worker.local_worker', 'LocalWorkerExecutionContext'),
}


def context_names() -> tuple[str, ...]:
  """Returns the names that `create_context` knows, sorted."""
  return tuple(sorted(_CLASSES))


def create_context(
  name: str = DEFAULT_CONTEXT_NAME,
  *,
  asynchronous: bool = False,
  **options: Any,
) -> Any:
  """Creates an execution context.

  Args:
    name: One of `context_names()`: 'cohort' runs in this process, 'pjrt' on
      devices that JAX drives, 'ray' on the actors of a Ray cluster, and
      'local_worker' in TFF's own runtime.
    asynchronous: Whether its computations are coroutines.
    **options: Arguments of the context's class, such as
      `SyncRayExecutionContext`.

  Returns:
    A `tff.framework.SyncContext` or `tff.framework.AsyncContext`, to be
    installed or made the default.

  Raises:
    InputError: If the context or one of its options does not exist.
  """
  if name not in _CLASSES:
    raise errors.InputError(
      f'The execution context must be one of {", ".join(context_names())}, '
      f'got {name!r}.'
    )
  module, class_name = _CLASSES[name]
  create = getattr(
    importlib.import_module(f'fedfish_tff.execution.{module}'),
    f'{"Async" if asynchronous else "Sync"}{class_name}',
  )
  known = inspect.signature(create).parameters
  for option in options:
    if option not in known:
      raise errors.InputError(
        f'Options of the execution context {name!r} must be among '
        f'{", ".join(known)}, got {option!r}.'
      )
  return create(**options)


def set_default_context(
  name: str = DEFAULT_CONTEXT_NAME,
  *,
  asynchronous: bool = False,
  **options: Any,
) -> None:
  """Makes a new context, see `create_context`, the default of TFF.

  As everywhere in TFF, the default is that of the calling thread only.

  Raises:
    InputError: See `create_context`.
  """
  import tensorflow_federated as tff  # Takes seconds; only here it is needed.

  tff.framework.set_default_context(
    create_context(name, asynchronous=asynchronous, **options)
  )


def set_sync_cohort_execution_context(**options: Any) -> None:
  """Makes a cohort context the default, in place of TFF's own context.

  The name follows `tff.backends.native.set_sync_local_cpp_execution_context`,
  so that a TFF program changes in one line only.

  Args:
    **options: The arguments of `SyncCohortExecutionContext`.
  """
  set_default_context('cohort', **options)
