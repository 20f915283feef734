# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Shows what a cohort costs when there are a million clients.

  python -m launch.benchmarks.client_index
  python -m launch.benchmarks.client_index --clients=100000 --cohort_size=8 \
    --dir=generated

Generates grouped clients of made-up text, 10,000 and 1,000,000 by default,
and measures for each number: the size of the index, the time to open it, to
draw a cohort and to load its clients, and resident memory, with the index in
memory (GroupedClientData) and without (StreamedClients). It takes a few minutes
and a gigabyte and a half of disk, both mostly for generating.
"""

from collections.abc import Sequence
import contextlib
import pathlib
import shlex
import sys
import tempfile

from launch import cli
from launch.benchmarks import client_access
from launch.benchmarks import markdown_file
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
_DIR = flags.DEFINE_string(
  'dir',
  None,
  'A folder for the clients, kept for the next time; a temporary one by '
  'default.',
)
_MARKDOWN = flags.DEFINE_string(
  'markdown',
  None,
  'A file for the table as Markdown: a new one, or one with a part for it, of '
  'which only that part is replaced.',
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  if _MARKDOWN.value is not None:
    markdown_file.check(pathlib.Path(_MARKDOWN.value))
  numbers = list(dict.fromkeys(_CLIENTS.value))
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import generated_folder  # pylint: disable=g-import-not-at-top

  with contextlib.ExitStack() as stack:
    parent = pathlib.Path(
      _DIR.value or stack.enter_context(tempfile.TemporaryDirectory())
    )
    columns = []
    for number in numbers:
      folder = parent / f'clients_{number}'
      _say(f'{number:,} clients: generating')
      generated_folder.generate(folder, number)
      results = []
      for window in (0, _WINDOW.value):
        _say(f'{number:,} clients: {"streaming" if window else "by id"}')
        results.append(
          client_access.measure_in_child(
            client_access.Request(
              folder=str(folder),
              cohort_size=min(_COHORT_SIZE.value, number),
              cohorts=_COHORTS.value,
              window=window,
            )
          )
        )
      columns.append(_cells(folder, *results))
  lines = [
    ['clients', *(f'{number:,}' for number in numbers)],
    *([title, *(c[title] for c in columns)] for title in columns[0]),
  ]
  report.print_table(
    lines, _notes(), command=_command(), markdown=_MARKDOWN.value
  )


def _cells(
  folder: pathlib.Path,
  by_id: client_access.Result,
  streamed: client_access.Result,
) -> dict[str, str]:
  """Returns a column of the table by the titles of its rows."""
  shards = sum(path.stat().st_size for path in folder.glob('*.tfrecord'))
  index = (folder / 'clients.parquet').stat().st_size
  return {
    'shards, MB': _megabytes(shards),
    'index on disk, MB': _megabytes(index),
    'index in memory, MB': _megabytes(by_id.index_bytes),
    'by id: open the data set, ms': _milliseconds(by_id.open_seconds),
    'by id: draw a cohort, ms': _milliseconds(by_id.draw_seconds),
    'by id: load it, ms': _milliseconds(by_id.warm_seconds),
    'by id: load it from disk, ms': _milliseconds(by_id.cold_seconds),
    'by id: resident memory, MB': _megabytes(by_id.resident_bytes),
    'stream: open the data set, ms': _milliseconds(streamed.open_seconds),
    'stream: first cohort, ms': _milliseconds(streamed.first_seconds),
    'stream: next cohort, ms': _milliseconds(streamed.warm_seconds),
    'stream: next cohort from disk, ms': _milliseconds(streamed.cold_seconds),
    'stream: resident memory, MB': _megabytes(streamed.resident_bytes),
  }


def _megabytes(num_bytes: int) -> str:
  return f'{num_bytes / 1e6:.1f}'


def _milliseconds(seconds: float) -> str:
  return f'{seconds * 1e3:.2f}'


def _notes() -> list[str]:
  """Returns what a reader has to know, a paragraph each."""
  return [
    f'Cohorts of {_COHORT_SIZE.value:,} clients with 1 to 8 texts of 20 to 60 '
    f'words; medians over {_COHORTS.value:,} cohorts. Loading reads, checks '
    'and parses every text of a client. From disk: after the system was asked '
    'to drop the files from its memory.',
    f'The stream shuffles {_WINDOW.value:,} clients at a time; the first '
    'cohort of each window waits for its part of the index. Resident memory: '
    'how much more there is at the end than before the data set was opened.',
  ]


def _command() -> str:
  """Returns the command that measures the same."""
  own = (_CLIENTS, _COHORT_SIZE, _COHORTS, _WINDOW)
  arguments = report.given_arguments(own)
  return shlex.join(
    ['python', '-m', 'launch.benchmarks.client_index', *arguments]
  )


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
  cli.run(main)
