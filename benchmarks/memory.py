# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows whether memory grows over thousands of rounds.

  python -m benchmarks.memory

Trains softmax regression 784->62 by FedAvg in the cohort context, and prints
this process's resident memory meanwhile. The number and sizes of clients and
the order of batches change each round. It takes a few minutes. Memory should be
constant once every cohort size has occurred.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import statistics

from benchmarks import rounds as rounds_lib
from fedfish_tff import datasets
from fedfish_tff import execution
from launch import cli

from absl import flags
import psutil

_ROUNDS = flags.DEFINE_integer('rounds', 2000, 'Rounds.', lower_bound=20)
_CLIENTS = flags.DEFINE_integer(
  'clients', 32, 'Size of the largest cohort.', lower_bound=1
)


def sample_rounds(rounds: int, largest_cohort: int) -> Iterator[int]:
  """Trains in the default context; yields resident bytes after every round."""
  network = rounds_lib.NETWORKS['softmax']
  process = rounds_lib.build_process(network.create_functional())
  clients = network.generate_clients(largest_cohort)
  state = process.initialize()
  for round_number in range(1, rounds + 1):
    rng = datasets.random_generator('memory benchmark', round_number)
    cohort = [
      datasets.plan_batches(
        client,
        datasets.BatchSpec(
          batch_size=10, max_examples=int(rng.integers(1, 101))
        ),
        client_id=str(i),
        seed=0,
        round_number=round_number,
      )
      for i, client in enumerate(clients[: rng.integers(1, len(clients) + 1)])
    ]
    state = process.next(state, cohort).state
    yield psutil.Process().memory_info().rss


def growth_bytes(samples: Sequence[int]) -> float:
  """Returns the median of the last tenth minus that of the second tenth.

  The first tenth traces graphs and has the largest cohorts.

  Args:
    samples: The resident bytes after each round, 20 or more.
  """
  tenth = len(samples) // 10
  early, late = samples[tenth : 2 * tenth], samples[-tenth:]
  return statistics.median(late) - statistics.median(early)


def main(argv: Sequence[str]) -> None:
  """Prints memory against rounds, and its growth."""
  cli.check_no_arguments(argv)
  # Before TensorFlow's first operation, to set its number of threads.
  execution.set_default_context()
  print(f'{"round":>8}{"resident MB":>14}')
  samples = []
  for resident_bytes in sample_rounds(_ROUNDS.value, _CLIENTS.value):
    samples.append(resident_bytes)
    if len(samples) % (_ROUNDS.value // 20) == 0:
      print(f'{len(samples):8}{resident_bytes / 1e6:14.1f}', flush=True)
  print(
    'Growth from the second to the last tenth of the rounds: '
    f'{growth_bytes(samples) / 1e6:+.1f} MB (medians).'
  )


if __name__ == '__main__':
  cli.run(main)
