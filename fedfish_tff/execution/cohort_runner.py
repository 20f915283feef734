# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner of a whole cohort in this process, and its options.

No worker is started and no port is opened.
"""

import dataclasses
from typing import Literal

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff.execution import threads
from fedfish_tff.execution.running import cohort_stages

import tensorflow as tf


@dataclasses.dataclass(frozen=True, kw_only=True)
class CohortOptions:
  """Options of a runner in this process.

  Attributes:
    default_num_clients: The number of clients if the arguments of a computation
      do not determine it.
    max_concurrent_computation_calls: The number of clients that compute at a
      time; the number of cores if it is not positive.
    device: The device of client work. The GPUs that TensorFlow finds share a
      cohort: client i goes to GPU i modulo their number, and sums are merged in
      order. The server's steps stay on the processor.
  """

  default_num_clients: int = 0
  max_concurrent_computation_calls: int = -1
  device: Literal['cpu', 'gpu'] = 'cpu'

  def create_runner(self) -> cohort_stages.CohortStageRunner:
    """Creates the runner for the device, which must exist."""
    threads.use_one_intra_op_thread()
    private_apis.start_runtime()
    parallelism = self.max_concurrent_computation_calls
    return cohort_stages.CohortStageRunner(
      parallelism=parallelism if parallelism > 0 else threads.num_cores(),
      devices=_devices(self.device),
      default_num_clients=self.default_num_clients,
    )


def _devices(kind: str) -> list[str]:
  """Returns the names of TensorFlow's devices of client work, at least one."""
  if kind == 'cpu':
    return ['CPU:0']
  if kind != 'gpu':
    raise errors.InputError(f'device must be cpu or gpu, got {kind!r}.')
  number = len(tf.config.list_logical_devices('GPU'))
  if not number:
    raise errors.InputError(
      'device=gpu needs a GPU that TensorFlow finds, got none: pip install '
      f"'tensorflow[and-cuda]=={tf.__version__}' installs what TensorFlow needs "
      'beside the driver, or run client work by --context=pjrt.'
    )
  return [f'GPU:{i}' for i in range(number)]
