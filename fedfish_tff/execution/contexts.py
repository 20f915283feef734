# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The execution contexts by name, for the binaries' flag --context.

The creation of a context imports TensorFlow Federated.
"""

from collections.abc import Mapping
import dataclasses
import importlib
from typing import Any

from fedfish_tff import errors

DEFAULT_CONTEXT_NAME = 'cohort'

# The module and the class of the options of each.
_OPTIONS: Mapping[str, tuple[str, str]] = {
  'cohort': ('cohort_runner', 'CohortOptions'),
  'pjrt': ('pjrt.pjrt_runner', 'PjrtOptions'),
  'ray': ('ray.ray_runner', 'RayOptions'),
  'local_worker': ('worker.local_worker', 'LocalWorkerOptions'),
}


def context_names() -> tuple[str, ...]:
  """Returns the names that `create_context` knows, sorted."""
  return tuple(sorted(_OPTIONS))


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
    **options: The options of its runner: fields of `CohortOptions`,
      `PjrtOptions`, `RayOptions` or `LocalWorkerOptions`.

  Returns:
    A `SyncExecutionContext` or an `AsyncExecutionContext`, to be installed or
    made the default.
  """
  errors.check_member('The execution context', name, context_names())
  # Imports TensorFlow Federated, which takes seconds.
  from fedfish_tff.execution import execution_context

  module, class_name = _OPTIONS[name]
  kind = getattr(
    importlib.import_module(f'fedfish_tff.execution.{module}'), class_name
  )
  known = [field.name for field in dataclasses.fields(kind)]
  for option in options:
    errors.check_member(
      f'Each option of the execution context {name!r}', option, known
    )
  create = (
    execution_context.AsyncExecutionContext
    if asynchronous
    else execution_context.SyncExecutionContext
  )
  return create(kind(**options).create_runner())


def set_default_context(
  name: str = DEFAULT_CONTEXT_NAME,
  *,
  asynchronous: bool = False,
  **options: Any,
) -> None:
  """Makes a new context of `create_context` the default of TFF.

  As everywhere in TFF, the default is that of the calling thread only.
  """
  import tensorflow_federated as tff  # Takes seconds; only here it is needed.

  tff.framework.set_default_context(
    create_context(name, asynchronous=asynchronous, **options)
  )
