# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a round beside a bare training loop.

  python -m launch.benchmarks.run
  python -m launch.benchmarks.run --workloads=cnn --repeats=9

A row is a way to do the same local training: 16 clients of 100 examples, batch
10, one local epoch. All rows of a workload are measured in turns in one run, so
that whatever else the machine does hits them alike; the table shows medians,
and each as a multiple of the first row, a `tf.function` called once a client on
arrays in memory.
"""

from collections.abc import Sequence

from launch import cli

from absl import flags

_WORKLOADS = flags.DEFINE_multi_enum(
  'workloads',
  ['softmax', 'cnn'],
  ['softmax', 'cnn'],
  'What to measure; repeat the flag for several.',
)
_CLIENTS = flags.DEFINE_integer(
  'clients', 16, 'Clients in the cohort.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 5, 'Measured rounds of each row.', lower_bound=1
)
_CONTEXT = flags.DEFINE_string(
  'context',
  'local_worker',
  'The execution context of the rows that are TFF computations.',
)


def main(argv: Sequence[str]) -> None:
  """Prints a table for each workload."""
  cli.check_no_arguments(argv)
  # Imported late: TFF takes seconds, and all above answers at once.
  from fedfish_tff.execution import contexts  # pylint: disable=g-import-not-at-top
  from launch.benchmarks import round_time  # pylint: disable=g-import-not-at-top

  contexts.set_default_context(_CONTEXT.value)
  for name in dict.fromkeys(_WORKLOADS.value):
    medians = round_time.measure_workload(
      name,
      num_clients=_CLIENTS.value,
      repeats=_REPEATS.value,
      context=_CONTEXT.value,
    )
    yardstick = next(iter(medians.values()))
    print(f'\n{name}, {_CLIENTS.value} clients')
    print(f'{"":32}{"seconds a round":>16}{"ratio":>8}')
    for row, seconds in medians.items():
      print(f'{row:32}{seconds:16.3f}{seconds / yardstick:8.1f}', flush=True)


if __name__ == '__main__':
  cli.run(main)
