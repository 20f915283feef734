# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Rounds in which a model trains as a graph, twice from the same start."""

from collections.abc import Sequence
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff.execution import contexts
from tests import tolerance

import numpy as np
import tensorflow_federated as tff


def check(
  process: algorithms.FederatedProcess,
  clients: Sequence[Any],
  *,
  num_rounds: int = 1,
) -> tuple[tff.learning.models.ModelWeights, Any]:
  """Asserts that rounds run as graphs, repeat bit for bit and stay finite.

  Args:
    process: The process.
    clients: The data of each round's clients.
    num_rounds: The number of rounds.

  Returns:
    The weights after the last round, and its metrics of client work.
  """
  context = contexts.create_context()
  ends = []
  with tff.framework.get_context_stack().install(context):
    for _ in range(2):
      state = process.initialize()
      for _ in range(num_rounds):
        state, metrics = process.next(state, clients)
      ends.append(process.get_model_weights(state))
  assert not context.runner.general_path_reasons, (
    context.runner.general_path_reasons
  )
  first, again = ends
  tolerance.assert_same(
    [*first.trainable, *first.non_trainable],
    [*again.trainable, *again.non_trainable],
  )
  assert all(np.isfinite(w).all() for w in first.trainable)
  return first, metrics['client_work']['train']
