# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Shows what a cohort costs when there are a million clients.

  python -m launch.benchmarks.client_index
  python -m launch.benchmarks.client_index --clients=100000 --cohort_size=8

Generates grouped clients of made-up text, 10,000 and 1,000,000 by default,
and measures for each number: the size of the index, the time to open it, to
draw a cohort and to load its clients, and resident memory, with the index in
memory (GroupedClientData) and without (StreamedClients). It takes a few minutes
and a gigabyte and a half of disk, both mostly for generating.
"""

from collections.abc import Sequence
import pathlib
import sys
import tempfile

from launch import cli
from launch.benchmarks import client_access
from launch.benchmarks import report

from absl import flags

_CLIENTS = flags.DEFINE_multi_integer(
  'clients',
  [10_000, 1_000_000],
  'Number of clients; repeat the flag for several.',
  lower_bound=1,
)
_COHORT_SIZE = flags.DEFINE_integer(
  'cohort_size', 64, 'Clients in a cohort.', lower_bound=1
)
_COHORTS = flags.DEFINE_integer(
  'cohorts', 100, 'Cohorts; figures are medians over them.', lower_bound=1
)
_WINDOW = flags.DEFINE_integer(
  'window', 16_384, 'Shuffle window of the stream, in clients.', lower_bound=1
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import generated_text  # pylint: disable=g-import-not-at-top

  columns = {}
  with tempfile.TemporaryDirectory() as parent:
    for number in dict.fromkeys(_CLIENTS.value):
      folder = pathlib.Path(parent, str(number))
      _say(f'{number:,} clients: generating')
      generated_text.write_clients(folder, number)
      _say(f'{number:,} clients: measuring')
      columns[number] = client_access.measure_in_child(
        folder,
        cohort_size=min(_COHORT_SIZE.value, number),
        cohorts=_COHORTS.value,
        window=_WINDOW.value,
      )
  lines = [['clients', *(f'{number:,}' for number in columns)]]
  for title in next(iter(columns.values())):
    lines.append([title, *(f'{c[title]:.2f}' for c in columns.values())])
  notes = [
    f'Cohorts of {_COHORT_SIZE.value:,} clients with 1 to 8 texts of 20 to 60 '
    f'words; medians over {_COHORTS.value:,} cohorts. Loading reads, checks '
    'and parses every text of a client.',
    f'The stream shuffles {_WINDOW.value:,} clients at a time; the first '
    'cohort of each window waits for its part of the index. Resident memory: '
    'how much more there is at the end than before the data set was opened.',
  ]
  print(report.format_text(lines, notes))


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
  cli.run(main)
