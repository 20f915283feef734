# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The body of a Ray actor, which runs client stages for another process.

Its state can be made anew from the arguments of each call, so Ray may replace
it at any time.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import platform
import resource
import socket
import time

import fedfish_tff
from fedfish_tff import errors
from fedfish_tff import parameters
from fedfish_tff.execution import threads
from fedfish_tff.execution.packing import sequence_packing
from fedfish_tff.execution.pjrt import pjrt_runner
from fedfish_tff.execution.ray import round_meter
from fedfish_tff.execution.ray import stage_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import cohort_stages
from fedfish_tff.execution.running import stage_runs

import cachetools
import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2 as pb

_ValueId = federated_plan.ValueId

# Plans are kept for computations that may come again.
_NUM_RECENT_PLANS = 8


@dataclasses.dataclass(frozen=True)
class StageWork:
  """Some clients of a stage.

  Attributes:
    number: The number of the stage among those of its computation.
    signature: The stage's signature, by `signature_of`.
    clients: The arrays of each of these clients, for each client input.
    positions: The positions of these clients in the cohort, from 0.
    cohort_size: The number of all clients.
    parameters: The current values of `fedfish_tff.parameters`.
  """

  number: int
  signature: str
  clients: Mapping[_ValueId, Sequence[stage_values.Arrays]]
  positions: Sequence[int]
  cohort_size: int
  parameters: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class StageArrays:
  """The partial results of clients, as arrays.

  Attributes:
    accumulators: The leaves of the accumulators of a `stage_runs.Partial`.
    outputs: The leaves of the outputs of a `stage_runs.Partial`.
    reasons: The reasons why this actor's client work so far was no graph.
    num_examples: The numbers of examples of the batches that the actor has
      read, in the order of `stage_values.stored_batches`.
    cost: The cost of the clients.
  """

  accumulators: Sequence[stage_values.Arrays]
  outputs: Mapping[_ValueId, Sequence[stage_values.Arrays]]
  reasons: Sequence[str]
  num_examples: Sequence[int]
  cost: round_meter.ShareCost


@dataclasses.dataclass(frozen=True)
class StageFailure:
  """An error of TensorFlow, in a form that can be sent.

  Attributes:
    code: TensorFlow's error code.
    message: The message, with the client and the reason.
  """

  code: int
  message: str


def stages_of(
  plan: federated_plan.Plan,
) -> Sequence[federated_plan.ClientStage]:
  """Returns the client stages of a plan, in order."""
  return [
    action
    for action in plan.actions
    if isinstance(action, federated_plan.ClientStage)
  ]


def signature_of(stage: federated_plan.ClientStage) -> str:
  """Returns a text by which two processes check that they mean one stage."""
  return str(
    (
      stage.server_inputs,
      stage.client_inputs,
      stage.outputs,
      [(a.zero, a.out) for a in stage.aggregates],
      [str(stage.types[i]) for i in stage.client_inputs + stage.outputs],
    )
  )


def versions() -> dict[str, str]:
  """Returns the versions on which results or the stages of plans depend."""
  return dict(
    fedfish_tff=fedfish_tff.__version__,
    tensorflow=tf.__version__,
    tensorflow_federated=tff.__version__,
    python=platform.python_version(),
  )


class StageActor:
  """Runs client stages on the processors, or the device, of one actor."""

  def __init__(
    self,
    parallelism: int = 1,
    device_options: pjrt_runner.PjrtOptions | None = None,
  ):
    """Makes a runner.

    Args:
      parallelism: The number of clients that compute at a time.
      device_options: The options of its device; None for processors.
    """
    threads.use_one_intra_op_thread()
    if device_options is None:
      self._runner = cohort_stages.CohortStageRunner(parallelism=parallelism)
    else:
      self._runner = pjrt_runner.PjrtStageRunner(device_options)
    self._plans: cachetools.LRUCache[
      bytes, tuple[tff.Computation, federated_plan.Plan]
    ] = cachetools.LRUCache(_NUM_RECENT_PLANS)

  def describe(self) -> tuple[str, dict[str, str]]:
    """Returns the name of the node and the result of `versions`."""
    return socket.gethostname(), versions()

  def run(
    self,
    computation: bytes,
    server: Mapping[_ValueId, stage_values.Arrays],
    work: StageWork,
  ) -> StageArrays | StageFailure:
    """Runs a stage for some clients.

    Args:
      computation: A serialized `pb.Computation`.
      server: The arrays of the stage's server inputs and of its aggregates'
        zeros.
      work: The clients, with the number of the stage.
    """
    began = time.monotonic()
    stage = stages_of(self._plan(computation))[work.number]
    if signature_of(stage) != work.signature:
      raise RuntimeError('The nodes read a computation as different stages.')
    types = stage.types
    clients = stage_runs.Clients(
      {
        i: [stage_values.to_value(arrays, types[i]) for arrays in column]
        for i, column in work.clients.items()
      },
      work.positions,
      work.cohort_size,
    )
    server_values = {
      i: stage_values.to_value(arrays, types[i]) for i, arrays in server.items()
    }
    try:
      with parameters.replaced(work.parameters):
        partial = self._runner.run_clients(
          stage, server_values, clients, device=self._runner.devices[0]
        )
      num_examples = [
        batches.num_examples
        for batches in stage_values.stored_batches(work.clients.values())
      ]
    except tf.errors.OpError as error:
      return StageFailure(error.error_code, error.message)
    except errors.InputError as error:
      raise errors.InputError(
        f'On node {socket.gethostname()}: {error}'
      ) from error
    to_arrays = functools.partial(
      stage_values.to_arrays, pack=sequence_packing.pack_sequence
    )
    return StageArrays(
      [
        to_arrays(value, aggregate.accumulate.type_signature.result)
        for value, aggregate in zip(
          partial.accumulators, stage.aggregates, strict=True
        )
      ],
      {
        out: [to_arrays(value, types[out]) for value in values]
        for out, values in partial.outputs.items()
      },
      self._runner.general_path_reasons,
      num_examples,
      round_meter.ShareCost(
        socket.gethostname(),
        len(work.positions),
        time.monotonic() - began,
        # The unit is kibibytes on Linux, on which Ray's clusters run.
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
      ),
    )

  def _plan(self, computation: bytes) -> federated_plan.Plan:
    if computation not in self._plans:
      comp = tff.framework.deserialize_computation(
        pb.Computation.FromString(computation)
      )
      self._plans[computation] = comp, federated_plan.compile_plan(comp)
    return self._plans[computation][1]
