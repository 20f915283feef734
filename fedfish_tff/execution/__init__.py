# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Execution contexts, in which TFF computations run, and their names.

Contexts, options and devices that do not exist raise `errors.InputError`.
Errors of computations and of their arguments are TFF's own.
"""

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

__getattr__, __dir__ = lazy.attach(__name__)
