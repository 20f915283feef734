# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures how fast text is grouped beside Beam's own GroupByKey.

  python -m launch.benchmarks.grouping_throughput
  python -m launch.benchmarks.grouping_throughput --megabytes=256
  python -m launch.benchmarks.grouping_throughput --input='c4/*.json.gz'

Groups lines of web pages by host as launch.group_dataset does: checks, makes
examples of them, and writes files of clients with an index. The yardstick is a
plain pipeline of Apache Beam: it reads the same lines, takes the host out of
them, groups them by GroupByKey in memory, and counts. Both work in one process.

Prints one table with megabytes a second, ratios and peak memory. Pipelines are
measured in turns, each in a new process; the start of a pipeline is measured by
a single line. It takes some minutes.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import glob
import os
import pathlib
import statistics
import sys
import tempfile

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import grouping_measurement
from launch.benchmarks import report

from absl import flags

_MEGABYTES = flags.DEFINE_integer(
  'megabytes', 64, 'Size of the generated lines, in 10^6 bytes.', lower_bound=1
)
_INPUT = flags.DEFINE_string(
  'input',
  None,
  'Files of lines of JSON with url and text, with * for many, in place of '
  'generated ones. All lines have to be well formed.',
)
_NUM_SHARDS = flags.DEFINE_integer(
  'num_shards', 8, 'Files to write.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 3, 'Measurements; figures are medians over them.', lower_bound=1
)

# With all lines, and as often with a single one.
_Figures = tuple[
  list[grouping_measurement.Result], list[grouping_measurement.Result]
]
_TITLES = {False: 'grouping', True: 'GroupByKey'}
_LINE = (
  b'{"url": "https://example.org/", "text": "one page", "timestamp": ""}\n'
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  with contextlib.ExitStack() as stack:
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    pattern = _INPUT.value or _generate(folder)
    num_bytes = sum(map(os.path.getsize, glob.glob(pattern)))
    if not num_bytes:
      raise errors.InputError(
        f'--input={pattern} matches no local file with lines.'
      )
    (folder / 'line.jsonl').write_bytes(_LINE)
    figures = _measure(pattern, str(folder / 'line.jsonl'))
  print(report.format_text(table_lines(figures, num_bytes), _notes()))


def _generate(folder: pathlib.Path) -> str:
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import generated_text  # pylint: disable=g-import-not-at-top

  _say(f'generating {_MEGABYTES.value} MB')
  return generated_text.write_lines(folder, _MEGABYTES.value * 10**6)


def _measure(pattern: str, one_line: str) -> dict[bool, _Figures]:
  """Measures both ways in turns, so that what else is done hits both."""
  figures = {plain: ([], []) for plain in _TITLES}
  for number in range(1, _REPEATS.value + 1):
    for plain, found in figures.items():
      _say(f'[{number}/{_REPEATS.value}] {_TITLES[plain]}')
      for source, results in zip((pattern, one_line), found):
        results.append(
          grouping_measurement.measure_in_child(
            source, plain=plain, num_shards=_NUM_SHARDS.value
          )
        )
  return figures


def table_lines(
  figures: Mapping[bool, _Figures], num_bytes: int
) -> list[list[str]]:
  """Returns the header and the rows as text, a column a way to group.

  Args:
    figures: What was measured, by whether it was Beam's GroupByKey.
    num_bytes: The size of the lines.
  """
  # With all lines, and of these to start.
  seconds = {
    plain: [statistics.median(r.seconds for r in results) for results in found]
    for plain, found in figures.items()
  }
  columns = []
  for plain, (results, _) in figures.items():
    total, start = seconds[plain]
    plain_total, plain_start = seconds[True]
    # The start may be all of it.
    net, plain_net = (
      max(total - start, 0.0),
      max(plain_total - plain_start, 0.0),
    )
    peak_bytes = max(r.peak_bytes for r in results)
    columns.append(
      {
        'pipeline': _TITLES[plain],
        'clients': f'{results[0].clients:,}',
        'examples': f'{results[0].examples:,}',
        'seconds': f'{total:.1f}',
        'of these, to start': f'{start:.1f}',
        'MB a second': _quotient(num_bytes / 1e6, total),
        'MB a second without the start': _quotient(num_bytes / 1e6, net),
        'time by that of GroupByKey': _quotient(total, plain_total),
        'the same without the start': _quotient(net, plain_net),
        'peak memory, MB': f'{peak_bytes / 1e6:,.0f}',
      }
    )
  return [[title, *(c[title] for c in columns)] for title in columns[0]]


def _quotient(a: float, b: float) -> str:
  return f'{a / b:.2f}' if b else ''


def _notes() -> list[str]:
  """Returns what a reader has to know, a paragraph each."""
  what = (
    'The files of --input, by their size on disk'
    if _INPUT.value
    else f'{_MEGABYTES.value:,} MB of made-up pages of about 2 kB'
  )
  return [
    f'{report.processor()}. {what}; medians over {_REPEATS.value} '
    'measurement(s), each in a new process.',
    'Grouping checks the lines, makes examples of them and writes '
    f'{_NUM_SHARDS.value} file(s) of clients with an index. GroupByKey is '
    "Beam's own: it takes hosts out of the same lines, groups them in memory "
    'and counts; it checks and writes nothing.',
    'Peak memory is the resident memory.',
  ]


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
  cli.run(main)
