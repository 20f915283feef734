# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures the memory that grouping a large client takes.

  python -m launch.benchmarks.grouping_memory
  python -m launch.benchmarks.grouping_memory \
    --client_megabytes=0.001 --client_megabytes=1000 --page_bytes=100

Groups made-up clients, one at a time and each in a new process, as
launch.group_dataset does, and prints the most memory that was resident beside
what docs/text.md says. Needs three times the size of the largest client in
$TMPDIR.
"""

from collections.abc import Sequence
import pathlib
import sys
import tempfile

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import grouping_measurement
from launch.benchmarks import report

from absl import flags

_CLIENT_MEGABYTES = flags.DEFINE_multi_float(
  'client_megabytes',
  [0.001, 1.0, 30.0],
  'The text of a client, in 10^6 bytes; repeat the flag for several.',
)
_PAGE_BYTES = flags.DEFINE_integer(
  'page_bytes', 1000, 'The text of a page.', lower_bound=1, upper_bound=10**6
)

# What docs/text.md says a worker takes.
_PROCESS_BYTES = 200e6
_RUN_BYTES = 2**27
_EXAMPLE_BYTES = 150
_LINE_COPIES = 5


def documented_bytes(client_bytes: float, page_bytes: int) -> float:
  """Returns the memory that grouping a client should take at most.

  Args:
    client_bytes: The text of the client.
    page_bytes: The text of a page.
  """
  return (
    _PROCESS_BYTES
    + _RUN_BYTES
    + _EXAMPLE_BYTES * client_bytes / page_bytes
    + _LINE_COPIES * page_bytes
  )


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  if min(_CLIENT_MEGABYTES.value) <= 0:
    raise errors.InputError(
      f'--client_megabytes={min(_CLIENT_MEGABYTES.value)}: a positive number '
      'was expected.'
    )
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import generated_text  # pylint: disable=g-import-not-at-top

  lines = [['client, MB', 'pages', 'seconds', 'peak, MB', 'limit, MB']]
  for megabytes in _CLIENT_MEGABYTES.value:
    print(f'a client of {megabytes:,} MB', file=sys.stderr, flush=True)
    client_bytes = megabytes * 1e6
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder, 'client.jsonl')
      generated_text.write_one_client(
        path, int(client_bytes), page_bytes=_PAGE_BYTES.value
      )
      result = grouping_measurement.measure_in_child(
        str(path), plain=False, num_shards=1
      )
    limit = documented_bytes(client_bytes, _PAGE_BYTES.value)
    lines.append(
      [
        f'{megabytes:,}',
        f'{result.examples:,}',
        f'{result.seconds:.1f}',
        f'{result.peak_bytes / 1e6:,.0f}',
        f'{limit / 1e6:,.0f}',
      ]
    )
  notes = [
    f'{report.processor()}. One client of pages of {_PAGE_BYTES.value:,} bytes, '
    'grouped in one process. Peak memory is what was resident of it, '
    'the limit what docs/text.md says.'
  ]
  print(report.format_text(lines, notes))


if __name__ == '__main__':
  cli.run(main)
