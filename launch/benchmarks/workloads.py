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
from launch.benchmarks import plan

import numpy as np
import tensorflow_federated as tff

CLIENT_LEARNING_RATE = 0.01

Client = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  """One local epoch of a cohort of equal clients.

  Attributes:
    network: What is trained.
    batch_size: Examples of a batch.
    fed_fish: Whether by FedFish; else by FedAvg.
  """

  network: models.Network | models.Transformer
  batch_size: int
  fed_fish: bool = False

  def generate_clients(
    self, num_clients: int, num_examples: int
  ) -> list[Client]:
    """Returns each client's (x, y), random."""
    return [
      self.network.generate_examples(
        random_streams.random_generator('benchmark', i), num_examples
      )
      for i in range(num_clients)
    ]

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


_NETWORKS = {
  'softmax': models.SOFTMAX_REGRESSION,
  'cnn': models.CNN,
  'softmax_1000': models.SOFTMAX_REGRESSION,
  'cnn_fed_fish': models.CNN,
  'transformer': models.TINY_TRANSFORMER,
  'transformer_6x384': models.TRANSFORMER_6X384,
}
_FED_FISH = ('cnn_fed_fish',)

# By the names in `plan.PLANS`, which says how large clients and cohorts are.
WORKLOADS: Mapping[str, Workload] = types.MappingProxyType(
  {
    name: Workload(
      network=network,
      batch_size=plan.PLANS[name].batch_size,
      fed_fish=name in _FED_FISH,
    )
    for name, network in _NETWORKS.items()
  }
)
