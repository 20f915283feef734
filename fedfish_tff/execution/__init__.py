# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where TFF computations run: execution contexts and their names."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.execution.cohort_context import *
  from fedfish_tff.execution.contexts import *
  from fedfish_tff.execution.pjrt.device_client import (
    DeviceProcessError as DeviceProcessError,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    create_async_pjrt_execution_context as create_async_pjrt_execution_context,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    create_sync_pjrt_execution_context as create_sync_pjrt_execution_context,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    set_async_pjrt_execution_context as set_async_pjrt_execution_context,
  )
  from fedfish_tff.execution.pjrt.pjrt_context import (
    set_sync_pjrt_execution_context as set_sync_pjrt_execution_context,
  )
  from fedfish_tff.execution.pjrt.stage_programs import (
    DeviceMemoryError as DeviceMemoryError,
  )
  from fedfish_tff.execution.ray.ray_cluster import RayError as RayError
  from fedfish_tff.execution.ray.ray_context import (
    create_async_ray_execution_context as create_async_ray_execution_context,
  )
  from fedfish_tff.execution.ray.ray_context import (
    create_sync_ray_execution_context as create_sync_ray_execution_context,
  )
  from fedfish_tff.execution.ray.ray_context import (
    set_async_ray_execution_context as set_async_ray_execution_context,
  )
  from fedfish_tff.execution.ray.ray_context import (
    set_sync_ray_execution_context as set_sync_ray_execution_context,
  )
  from fedfish_tff.execution.running.client_stages import (
    ClientError as ClientError,
  )
  from fedfish_tff.execution.worker.local_worker import *
  from fedfish_tff.execution.worker.local_worker_executors import (
    LocalWorkerError as LocalWorkerError,
  )

_EXPORTS = {
  'cohort_context': """
    AsyncCohortExecutionContext create_async_cohort_execution_context
    create_sync_cohort_execution_context set_async_cohort_execution_context
    set_sync_cohort_execution_context SyncCohortExecutionContext
  """,
  'contexts': 'context_names DEFAULT_CONTEXT_NAME set_default_context',
  'pjrt.device_client': 'DeviceProcessError',
  'pjrt.pjrt_context': """
    create_async_pjrt_execution_context create_sync_pjrt_execution_context
    set_async_pjrt_execution_context set_sync_pjrt_execution_context
  """,
  'pjrt.stage_programs': 'DeviceMemoryError',
  'ray.ray_cluster': 'RayError',
  'ray.ray_context': """
    create_async_ray_execution_context create_sync_ray_execution_context
    set_async_ray_execution_context set_sync_ray_execution_context
  """,
  'running.client_stages': 'ClientError',
  'worker.local_worker': """
    AsyncLocalWorkerExecutionContext create_async_local_worker_execution_context
    create_sync_local_worker_execution_context
    set_async_local_worker_execution_context
    set_sync_local_worker_execution_context SyncLocalWorkerExecutionContext
  """,
  'worker.local_worker_executors': 'LocalWorkerError',
}
__getattr__, __dir__ = lazy.attach(__name__, _EXPORTS)
