# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workloads of `make bench`, their rows and their numbers of measurements.

Plain Python, without TensorFlow, so flags and tables need not wait for it.
"""

from collections.abc import Mapping
import dataclasses

NUM_EXAMPLES = 100  # The number of examples of each client.
BATCH_SIZE = 10

# The rows' titles by the names of `rounds.Rounds.build`.
ROWS: Mapping[str, str] = {
  'bare': 'bare tf.function loop',
  'cohort': 'cohort context',
  'cohort_compiled': 'cohort context, loops=xla',
  'cohort_keras': 'cohort context, Keras model',
  'cohort_datasets': 'cohort context, new datasets',
  'stock': "TFF's own runtime",
}
# The row of small models only; XLA compiles no loop of others.
_COMPILED_ROW = 'cohort_compiled'
YARDSTICK = 'bare'
# The row of which the first round is timed, in a new process.
FIRST_ROUND_ROW = 'cohort'
# The slowest row, for which one process is enough.
MEASURED_ONCE_ROW = 'stock'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  """One local epoch of a cohort of equal clients, and its measurement.

  Attributes:
    title: The name in tables.
    network: A name in `rounds.NETWORKS`.
    fed_fish: Whether the method is FedFish; otherwise it is FedAvg.
    num_clients: The cohort size.
    has_peers: Whether other packages can compute it, see `peer_rounds`.
    repeats: The number of measured rounds of a row in a process.
    processes: The number of processes for each number of cores.
    is_small: Whether XLA compiles clients' loops, in a row of its own.
  """

  title: str
  network: str
  fed_fish: bool = False
  num_clients: int = 16
  has_peers: bool = False
  repeats: int = 3
  processes: int = 3
  is_small: bool = False

  @property
  def rows(self) -> list[str]:
    """The names of its rows."""
    return [name for name in ROWS if self.is_small or name != _COMPILED_ROW]


WORKLOADS: Mapping[str, Workload] = {
  'softmax': Workload(
    title='FedAvg, softmax regression 784->62',
    network='softmax',
    has_peers=True,
    repeats=15,
  ),
  # So small that TensorFlow's cost per operation is all.
  'perceptron': Workload(
    title='FedAvg, perceptron 64-32-62',
    network='perceptron',
    repeats=15,
    is_small=True,
  ),
  'cnn': Workload(
    title='FedAvg, CNN with 1.7 M parameters', network='cnn', has_peers=True
  ),
  'softmax_1000': Workload(
    title='FedAvg, softmax regression 784->62',
    network='softmax',
    num_clients=1000,
    has_peers=True,
    processes=1,
  ),
  'cnn_fed_fish': Workload(
    title='FedFish, CNN with 1.7 M parameters', network='cnn', fed_fish=True
  ),
}
