# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts, in which TFF computations run, and their names."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.execution.cohort_runner import *
  from fedfish_tff.execution.contexts import *
  from fedfish_tff.execution.execution_context import *
  from fedfish_tff.execution.pjrt.device_client import (
    DeviceProcessError as DeviceProcessError,
  )
  from fedfish_tff.execution.pjrt.pjrt_runner import PjrtOptions as PjrtOptions
  from fedfish_tff.execution.pjrt.stage_programs import (
    DeviceMemoryError as DeviceMemoryError,
  )
  from fedfish_tff.execution.ray.ray_cluster import RayError as RayError
  from fedfish_tff.execution.ray.ray_runner import RayOptions as RayOptions
  from fedfish_tff.execution.runner import *
  from fedfish_tff.execution.running.client_stages import (
    ClientError as ClientError,
  )
  from fedfish_tff.execution.worker.local_worker import (
    LocalWorkerOptions as LocalWorkerOptions,
  )
  from fedfish_tff.execution.worker.local_worker_executors import (
    LocalWorkerError as LocalWorkerError,
  )

_EXPORTS = {
  'cohort_runner': 'CohortOptions',
  'contexts': """
    context_names create_context DEFAULT_CONTEXT_NAME set_default_context
  """,
  'execution_context': 'AsyncExecutionContext SyncExecutionContext',
  'pjrt.device_client': 'DeviceProcessError',
  'pjrt.pjrt_runner': 'PjrtOptions',
  'pjrt.stage_programs': 'DeviceMemoryError',
  'ray.ray_cluster': 'RayError',
  'ray.ray_runner': 'RayOptions',
  'runner': 'Runner',
  'running.client_stages': 'ClientError',
  'worker.local_worker': 'LocalWorkerOptions',
  'worker.local_worker_executors': 'LocalWorkerError',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)
