# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ways of computing a round that the benchmark compares."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from fedfish_tff import algorithms
from fedfish_tff.datasets import batches
from fedfish_tff.execution import cohort_context
from fedfish_tff.execution import local_worker
from launch.benchmarks import bare_loop
from launch.benchmarks import workloads

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# A round; it returns the new weights.
Round = Callable[[], list[np.ndarray]]


def client_batches(
  clients: Sequence[workloads.Client], batch_size: int
) -> list[batches.ClientBatches]:
  """Returns the clients' data as the package's own simulations pass them."""
  return [
    batches.sequential_batches(client, client_id=str(i), batch_size=batch_size)
    for i, client in enumerate(clients)
  ]


def _datasets(
  clients: Sequence[workloads.Client], batch_size: int
) -> list[tf.data.Dataset]:
  return [
    tf.data.Dataset.from_tensor_slices(client).batch(batch_size)
    for client in clients
  ]


def _federated_round(
  process: algorithms.FederatedProcess,
  weights: tff.learning.models.ModelWeights,
  context: tff.framework.SyncContext,
  cohort: Callable[[], Sequence[Any]],
) -> Round:
  """Returns a round of a process that always starts from the same weights."""
  stack = tff.framework.get_context_stack()
  with stack.install(context):
    state = process.set_model_weights(process.initialize(), weights)

  def run():
    with stack.install(context):
      output = process.next(state, cohort())
    return list(output.state.global_model_weights.trainable)

  return run


class Rows:
  """The rows of a workload, by the names in `plan.ROWS`."""

  def __init__(
    self,
    workload: workloads.Workload,
    clients: Sequence[workloads.Client],
  ):
    """Makes the models.

    Args:
      workload: What is computed.
      clients: The cohort.
    """
    self._workload = workload
    self._clients = clients
    self._model = workload.network.create_functional()
    self._weights = tff.learning.models.ModelWeights(
      *self._model.initial_weights
    )
    self._variable_weights = tff.learning.models.ModelWeights(
      *map(list, self._model.initial_weights)
    )
    self._context = cohort_context.create_sync_cohort_execution_context()
    self._worker = local_worker.create_sync_local_worker_execution_context()
    self._build: Mapping[str, Callable[[], Callable[[], Round]]] = {
      'bare': self._bare,
      'cohort': self._cohort,
      'cohort_keras': self._cohort_keras,
      'cohort_datasets': self._cohort_datasets,
      'stock': self._stock,
    }

  @property
  def general_path_reasons(self) -> tuple[str, ...]:
    """Why rounds in the cohort context ran client by client, if they did."""
    return self._context.general_path_reasons

  def close(self) -> None:
    """Ends TFF's worker."""
    self._worker.close()

  def build(self, name: str) -> Callable[[], Round]:
    """Builds a row's process.

    Args:
      name: Of the row.

    Returns:
      A function that initialises it and returns its round. The first round
      traces, compiles and allocates what later ones have at hand.
    """
    return self._build[name]()

  def _bare(self) -> Callable[[], Round]:
    return lambda: bare_loop.build_round(
      self._model,
      self._clients,
      batch_size=self._workload.batch_size,
      fed_fish=self._workload.fed_fish,
    )

  def _functional(
    self, context: tff.framework.SyncContext, cohort: Callable[[], Any]
  ) -> Callable[[], Round]:
    process = self._workload.build_process(self._model)
    return lambda: _federated_round(process, self._weights, context, cohort)

  def _cohort(self) -> Callable[[], Round]:
    cohort = client_batches(self._clients, self._workload.batch_size)
    return self._functional(self._context, lambda: cohort)

  def _cohort_keras(self) -> Callable[[], Round]:
    cohort = client_batches(self._clients, self._workload.batch_size)
    process = self._workload.build_process(
      self._workload.network.create_variable_model
    )
    return lambda: _federated_round(
      process, self._variable_weights, self._context, lambda: cohort
    )

  def _cohort_datasets(self) -> Callable[[], Round]:
    return self._functional(
      self._context,
      lambda: _datasets(self._clients, self._workload.batch_size),
    )

  def _stock(self) -> Callable[[], Round]:
    cohort = _datasets(self._clients, self._workload.batch_size)
    return self._functional(self._worker, lambda: cohort)
