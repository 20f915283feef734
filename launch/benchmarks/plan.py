# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the benchmark measures: rows, workloads, and how often.

Without TensorFlow, so that flags and tables need not wait for it.
"""

from collections.abc import Mapping
import dataclasses
import types

# The first is the yardstick.
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
FUNCTIONAL_ROWS = tuple(name for name in ROWS if name != 'cohort_keras')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
  """How a workload is measured.

  Attributes:
    title: What the table calls it.
    num_clients: Clients in the cohort.
    num_examples: Of each client.
    batch_size: Examples of a batch.
    tokens_per_example: Of a language model; else 0.
    rows: The rows that there are.
    repeats: Measured rounds of a row in a process.
    processes: Processes for each number of cores.
    memory_cohorts: Sizes of cohorts whose peak memory is measured.
    by_default: Whether it is measured where no workload is named.
  """

  title: str
  num_clients: int = 16
  num_examples: int = 100
  batch_size: int = 10
  tokens_per_example: int = 0
  rows: tuple[str, ...] = tuple(ROWS)
  repeats: int
  processes: int = 3
  memory_cohorts: tuple[int, ...] = ()
  by_default: bool = True


PLANS: Mapping[str, Plan] = types.MappingProxyType(
  {
    'softmax': Plan(title='FedAvg, softmax regression 784->62', repeats=15),
    'cnn': Plan(title='FedAvg, CNN with 1.7 M parameters', repeats=3),
    'softmax_1000': Plan(
      title='FedAvg, softmax regression 784->62',
      num_clients=1000,
      repeats=3,
      processes=1,
      memory_cohorts=(100, 1000),
    ),
    'cnn_fed_fish': Plan(title='FedFish, CNN with 1.7 M parameters', repeats=3),
    # As the FedFish paper trains on C4, but for the length of sequences.
    'transformer': Plan(
      title='FedAvg, transformer 2x64, 16 x 128 tokens a client, batch 4',
      num_clients=8,
      num_examples=16,
      batch_size=4,
      tokens_per_example=128,
      rows=FUNCTIONAL_ROWS,
      repeats=5,
      by_default=False,
    ),
    'transformer_6x384': Plan(
      title='FedAvg, transformer 6x384, 8 x 128 tokens a client, batch 4',
      num_clients=4,
      num_examples=8,
      batch_size=4,
      tokens_per_example=128,
      rows=FUNCTIONAL_ROWS,
      repeats=2,
      processes=1,
      by_default=False,
    ),
  }
)
