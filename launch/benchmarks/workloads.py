# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks compute: a network, a method and generated clients."""

from collections.abc import Mapping
import dataclasses
import types

from fedfish_tff import algorithms
from fedfish_tff.datasets import random_streams
from fedfish_tff.models import model_functions
from launch.benchmarks import models

import numpy as np
import tensorflow_federated as tff

NUM_EXAMPLES = 100
BATCH_SIZE = 10
CLIENT_LEARNING_RATE = 0.01

Client = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  """One local epoch of a cohort of equal clients.

  Attributes:
    network: What is trained.
    fed_fish: Whether by FedFish; else by FedAvg.
  """

  network: models.Network
  fed_fish: bool = False

  def generate_clients(
    self, num_clients: int, num_examples: int = NUM_EXAMPLES
  ) -> list[Client]:
    """Returns each client's (x float32, y int32), random."""
    clients = []
    for i in range(num_clients):
      rng = random_streams.random_generator('benchmark', i)
      x = rng.uniform(size=(num_examples, *self.network.example_shape))
      y = rng.integers(0, models.NUM_CLASSES, num_examples)
      clients.append((x.astype(np.float32), y.astype(np.int32)))
    return clients

  def build_process(
    self, model: model_functions.ModelFn
  ) -> algorithms.FederatedProcess:
    """Returns the method on a model; the server takes plain steps of rate 1."""
    build = (
      algorithms.build_fed_fish if self.fed_fish else algorithms.build_fed_avg
    )
    return build(
      model,
      tff.learning.optimizers.build_sgdm(CLIENT_LEARNING_RATE),
      tff.learning.optimizers.build_sgdm(1.0),
    )


_SOFTMAX = Workload(network=models.SOFTMAX_REGRESSION)

# By the names in `plan.PLANS`, which says how large cohorts are.
WORKLOADS: Mapping[str, Workload] = types.MappingProxyType(
  {
    'softmax': _SOFTMAX,
    'cnn': Workload(network=models.CNN),
    'softmax_1000': _SOFTMAX,
    'cnn_fed_fish': Workload(network=models.CNN, fed_fish=True),
  }
)
