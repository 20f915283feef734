# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts, in which TFF computations run, and their names."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.execution.cohort_context import *
  from fedfish_tff.execution.contexts import *
  from fedfish_tff.execution.pjrt.device_client import (
    DeviceProcessError as DeviceProcessError,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    AsyncPjrtExecutionContext as AsyncPjrtExecutionContext,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    SyncPjrtExecutionContext as SyncPjrtExecutionContext,
  )
  from fedfish_tff.execution.pjrt.stage_programs import (
    DeviceMemoryError as DeviceMemoryError,
  )
  from fedfish_tff.execution.ray.ray_cluster import RayError as RayError
  from fedfish_tff.execution.ray.ray_context import (
    AsyncRayExecutionContext as AsyncRayExecutionContext,
  )
  from fedfish_tff.execution.ray.ray_context import (
    SyncRayExecutionContext as SyncRayExecutionContext,
  )
  from fedfish_tff.execution.running.client_stages import (
    ClientError as ClientError,
  )
  from fedfish_tff.execution.worker.local_worker import *
  from fedfish_tff.execution.worker.local_worker_executors import (
    LocalWorkerError as LocalWorkerError,
  )

_EXPORTS = {
  'cohort_context': 'AsyncCohortExecutionContext SyncCohortExecutionContext',
  'contexts': """
    context_names create_context DEFAULT_CONTEXT_NAME set_default_context
    set_sync_cohort_execution_context
  """,
  'pjrt.device_client': 'DeviceProcessError',
  'pjrt.pjrt_context': 'AsyncPjrtExecutionContext SyncPjrtExecutionContext',
  'pjrt.stage_programs': 'DeviceMemoryError',
  'ray.ray_cluster': 'RayError',
  'ray.ray_context': 'AsyncRayExecutionContext SyncRayExecutionContext',
  'running.client_stages': 'ClientError',
  'worker.local_worker': """
    AsyncLocalWorkerExecutionContext SyncLocalWorkerExecutionContext
  """,
  'worker.local_worker_executors': 'LocalWorkerError',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)
