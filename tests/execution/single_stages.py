# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Computations with one client stage, for tests of what runs stages."""

from fedfish_tff.execution import federated_plan

import tensorflow_federated as tff


def stage_of(comp: tff.Computation) -> federated_plan.ClientStage:
  """Returns the one client stage of a computation."""
  (stage,) = [
    action
    for action in federated_plan.compile_plan(comp).actions
    if isinstance(action, federated_plan.ClientStage)
  ]
  return stage
