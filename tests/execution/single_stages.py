# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Computations with one client stage, for tests of what runs stages."""

import functools

from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.running import client_stages
from fedfish_tff.execution.running import stage_runs

import tensorflow_federated as tff


def stage_of(comp: tff.Computation) -> federated_plan.ClientStage:
  """Returns the one client stage of a computation."""
  (stage,) = [
    action
    for action in federated_plan.compile_plan(comp).actions
    if isinstance(action, federated_plan.ClientStage)
  ]
  return stage


def run_generally(*args, parallelism: int, **kwargs) -> stage_runs.StageResult:
  """Runs a stage client by client; see `stage_runs.run_stage`."""
  runner = functools.partial(
    client_stages.run_clients_generally, parallelism=parallelism
  )
  return stage_runs.run_stage(*args, runners=[runner], **kwargs)
