# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What `make bench` measures: workloads, rows, and how often.

Without TensorFlow, so that flags and tables need not wait for it.
"""

from collections.abc import Mapping
import dataclasses
import functools
import types

# By the names of `rounds.Rounds.build`; the first is the yardstick.
ROWS: Mapping[str, str] = types.MappingProxyType(
  {
    'bare': 'bare tf.function loop',
    'cohort': 'cohort context',
    'cohort_keras': 'cohort context, Keras model',
    'cohort_datasets': 'cohort context, new datasets',
    'stock': "TFF's own runtime",
  }
)
YARDSTICK = 'bare'
# Whose first round is timed, in a new process.
FIRST_ROUND_ROW = 'cohort'
# The slowest; its figure needs no more than one process.
MEASURED_ONCE_ROW = 'stock'

# Those of a model that Keras has no layers for.
_FUNCTIONAL_ROWS = tuple(row for row in ROWS if row != 'cohort_keras')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  """One local epoch of a cohort of equal clients, and how it is measured.

  Attributes:
    title: What the table calls it.
    network: Of `rounds.NETWORKS`.
    fed_fish: Whether by FedFish; else by FedAvg.
    num_clients: Clients in the cohort.
    num_examples: Of each client.
    batch_size: Examples of a batch.
    tokens_per_example: Of a language model; else 0.
    rows: Of `ROWS`, those that there are.
    has_peers: Whether other packages can compute it, see `peer_rounds`.
    repeats: Measured rounds of a row in a process.
    processes: Processes for each number of cores.
    memory_cohorts: Sizes of cohorts whose peak memory is measured.
    by_default: Whether it is measured where no workload is named.
  """

  title: str
  network: str
  fed_fish: bool = False
  num_clients: int = 16
  num_examples: int = 100
  batch_size: int = 10
  tokens_per_example: int = 0
  rows: tuple[str, ...] = tuple(ROWS)
  has_peers: bool = False
  repeats: int = 3
  processes: int = 3
  memory_cohorts: tuple[int, ...] = ()
  by_default: bool = True


_language_workload = functools.partial(
  Workload,
  batch_size=4,
  tokens_per_example=128,
  rows=_FUNCTIONAL_ROWS,
  by_default=False,
)

WORKLOADS: Mapping[str, Workload] = types.MappingProxyType(
  {
    'softmax': Workload(
      title='FedAvg, softmax regression 784->62',
      network='softmax',
      has_peers=True,
      repeats=15,
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
      memory_cohorts=(100, 1000),
    ),
    'cnn_fed_fish': Workload(
      title='FedFish, CNN with 1.7 M parameters', network='cnn', fed_fish=True
    ),
    'compact_cnn': Workload(
      title='FedAvg, compact CNN with 46 k parameters',
      network='compact_cnn',
      rows=_FUNCTIONAL_ROWS,
      by_default=False,
    ),
    # As the FedFish paper trains on C4, but for the length of sequences.
    'transformer': _language_workload(
      title='FedAvg, transformer 2x64, 16 x 128 tokens a client, batch 4',
      network='transformer',
      num_clients=8,
      num_examples=16,
      repeats=5,
    ),
    'transformer_6x384': _language_workload(
      title='FedAvg, transformer 6x384, 8 x 128 tokens a client, batch 4',
      network='transformer_6x384',
      num_clients=4,
      num_examples=8,
      repeats=2,
      processes=1,
    ),
    # A keyboard's: sentences, not pages.
    'cifg': _language_workload(
      title='FedAvg, CIFG-LSTM 670, 64 x 20 words a client, batch 16',
      network='cifg',
      num_clients=8,
      num_examples=64,
      batch_size=16,
      tokens_per_example=20,
      repeats=5,
    ),
  }
)
