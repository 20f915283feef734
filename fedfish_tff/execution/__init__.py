# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where TFF computations run: execution contexts and their names."""

from typing import TYPE_CHECKING

from fedfish_tff import lazy

if TYPE_CHECKING:
  from fedfish_tff.execution.cohort_context import (
    AsyncCohortExecutionContext as AsyncCohortExecutionContext,
  )
  from fedfish_tff.execution.cohort_context import (
    SyncCohortExecutionContext as SyncCohortExecutionContext,
  )
  from fedfish_tff.execution.contexts import context_names as context_names
  from fedfish_tff.execution.contexts import create_context as create_context
  from fedfish_tff.execution.contexts import (
    DEFAULT_CONTEXT_NAME as DEFAULT_CONTEXT_NAME,
  )
  from fedfish_tff.execution.contexts import (
    set_default_context as set_default_context,
  )
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
  from fedfish_tff.execution.worker.local_worker import (
    AsyncLocalWorkerExecutionContext as AsyncLocalWorkerExecutionContext,
  )
  from fedfish_tff.execution.worker.local_worker import (
    SyncLocalWorkerExecutionContext as SyncLocalWorkerExecutionContext,
  )
  from fedfish_tff.execution.worker.local_worker_executors import (
    LocalWorkerError as LocalWorkerError,
  )

__getattr__, __dir__ = lazy.attach(__name__)
