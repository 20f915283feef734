# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The runner that takes computations apart.

TFF computations run unchanged. `federated_plan` takes a computation apart.
Arguments, results, the number of clients, and the messages about mistakes are
the same as in TFF's own contexts.
"""

import abc
import collections
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff.execution import runner as runner_lib
from fedfish_tff.execution.packing import local_values
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import function_arguments
from fedfish_tff.execution.running import federated_interpreter
from fedfish_tff.execution.running import runtime_errors
from fedfish_tff.execution.running import stage_runs

import tensorflow as tf
import tensorflow_federated as tff

# Plans kept beyond the life of their computations.
_NUM_RECENT_PLANS = 8


class PlanRunner(runner_lib.Runner):
  """A runner that takes computations apart, with the server's steps here.

  Secure sums run in the clear, after their clipping and quantisation.
  """

  def __init__(self, *, default_num_clients: int = 0):
    """Makes a runner.

    Args:
      default_num_clients: The number of clients if the arguments of a
        computation do not determine it.
    """
    self._default_num_clients = default_num_clients
    # A program that builds a computation anew for every call finds its plan.
    self._recent_plans = collections.deque(maxlen=_NUM_RECENT_PLANS)

  @abc.abstractmethod
  def __call__(
    self,
    stage: federated_plan.ClientStage,
    server_values: Mapping[stage_runs.ValueId, Any],
    client_values: Mapping[stage_runs.ValueId, Sequence[Any]],
    num_clients: int,
  ) -> stage_runs.StageResult:
    """Runs a client stage on a cohort, as `stage_runs.run_stage` does."""

  def stage_runner(
    self, comp: tff.Computation, plan: federated_plan.Plan
  ) -> federated_interpreter.RunStage:
    """Returns the function that runs the client stages of a plan: this runner."""
    del comp, plan
    return self

  def run(self, comp: tff.Computation, arg: Any) -> Any:
    if not isinstance(comp.type_signature, tff.FunctionType):
      raise ValueError(
        f'Expected a `tff.FunctionType`, found {comp.type_signature}.'
      )
    sequence_values.check_order(comp.type_signature)
    result_type = comp.type_signature.result
    comp, arg = function_arguments.bind_functions(comp, arg)
    plan = federated_plan.compile_plan(comp)
    if plan not in self._recent_plans:
      self._recent_plans.append(plan)
    cardinalities = {tff.CLIENTS: self._default_num_clients}
    if plan.parameter_type is not None:
      if arg is None:
        raise TypeError(
          f'Expected an argument of type {plan.parameter_type}, found None.'
        )
      cardinalities.update(
        local_values.infer_cardinalities(arg, plan.parameter_type)
      )
      arg = local_values.to_local_value(arg, plan.parameter_type)
    # Client work has its own devices; TensorFlow would put the rest on a GPU.
    with tf.device('CPU:0'), runtime_errors.as_rpc_errors():
      result = federated_interpreter.run_plan(
        plan, arg, cardinalities, self.stage_runner(comp, plan)
      )
    # Compilation loses the containers, so they come from the original type.
    return local_values.from_local_value(result, result_type)
