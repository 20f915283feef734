# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Measures how fast text is grouped beside Beam's own GroupByKey.

  python -m launch.benchmarks.grouping_throughput
  python -m launch.benchmarks.grouping_throughput --megabytes=256 --workers=2
  python -m launch.benchmarks.grouping_throughput --input='c4/*.json.gz'

Groups lines of web pages by host as launch.group_dataset does: checks, makes
examples of them, and writes files of clients with an index. The yardstick is a
plain pipeline of Apache Beam: it reads the same lines, takes the host out of
them, groups them by GroupByKey in memory, and counts. Both work in one process
or with worker processes (--direct_num_workers of launch.group_dataset).

Prints one table with megabytes a second, ratios and peak memory. Pipelines are
measured in turns, each in a new process; the start of pipelines and workers is
measured by a single line. It takes some minutes.
"""

from collections.abc import Sequence
import contextlib
import glob
import os
import pathlib
import shlex
import sys
import tempfile

from fedfish_tff import errors
from launch import cli
from launch.benchmarks import grouping_measurement
from launch.benchmarks import grouping_table
from launch.benchmarks import markdown_file
from launch.benchmarks import report
from launch.benchmarks import table

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
_WORKERS = flags.DEFINE_multi_integer(
  'workers',
  [1, 2],
  'Worker processes; repeat the flag for several. With 1, all is done in one '
  'process.',
  lower_bound=1,
)
_NUM_SHARDS = flags.DEFINE_integer(
  'num_shards', 8, 'Files to write.', lower_bound=1
)
_REPEATS = flags.DEFINE_integer(
  'repeats', 3, 'Measurements; figures are medians over them.', lower_bound=1
)
_MARKDOWN = flags.DEFINE_string(
  'markdown',
  None,
  'A file for the table as Markdown: a new one, or one with a part for it, of '
  'which only that part is replaced.',
)

_LINE = (
  b'{"url": "https://example.org/", "text": "one page", "timestamp": ""}\n'
)


def main(argv: Sequence[str]) -> None:
  """Prints the table."""
  cli.check_no_arguments(argv)
  if _MARKDOWN.value is not None:
    markdown_file.check(pathlib.Path(_MARKDOWN.value))
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
  lines = grouping_table.table_lines(figures, num_bytes)
  report.print_table(
    lines, _notes(), command=_command(), markdown=_MARKDOWN.value
  )


def _generate(folder: pathlib.Path) -> str:
  # Imported late: TensorFlow comes with it.
  from launch.benchmarks import generated_lines  # pylint: disable=g-import-not-at-top

  _say(f'generating {_MEGABYTES.value} MB')
  return generated_lines.generate(folder, _MEGABYTES.value * 10**6)


def _measure(
  pattern: str, one_line: str
) -> dict[grouping_table.Way, grouping_table.Figures]:
  """Measures all ways in turns, so that what else is done hits all."""
  ways = [
    grouping_table.Way(workers, plain)
    for workers in dict.fromkeys(_WORKERS.value)
    for plain in (False, True)
  ]
  figures = {way: grouping_table.Figures() for way in ways}
  for number in range(1, _REPEATS.value + 1):
    for way in ways:
      _say(
        f'[{number}/{_REPEATS.value}] {way.title}, {way.workers} process(es)'
      )
      for source, results in (
        (pattern, figures[way].results),
        (one_line, figures[way].starts),
      ):
        results.append(
          grouping_measurement.measure_in_child(
            grouping_measurement.Request(
              pattern=source,
              plain=way.plain,
              workers=way.workers,
              num_shards=_NUM_SHARDS.value,
            )
          )
        )
  return figures


def _notes() -> list[str]:
  """Returns what a reader has to know, a paragraph each."""
  what = (
    'The files of --input, by their size on disk'
    if _INPUT.value
    else f'{_MEGABYTES.value:,} MB of made-up pages of about 2 kB'
  )
  return [
    f'{table.processor()}. {what}; medians over {_REPEATS.value} '
    'measurement(s), each in a new process.',
    'Grouping checks the lines, makes examples of them and writes '
    f'{_NUM_SHARDS.value} file(s) of clients with an index. GroupByKey is '
    "Beam's own: it takes hosts out of the same lines, groups them in memory "
    'and counts; it checks and writes nothing.',
    'With one process that works, it is the one that waits, too; with more, '
    'Beam starts them, grouping twice: to read and to write. Peak memory is '
    'the resident memory of all processes together.',
  ]


def _command() -> str:
  """Returns the command that measures the same."""
  own = (_MEGABYTES, _INPUT, _WORKERS, _NUM_SHARDS, _REPEATS)
  arguments = report.given_arguments(own)
  return shlex.join(
    ['python', '-m', 'launch.benchmarks.grouping_throughput', *arguments]
  )


def _say(text: str) -> None:
  print(text, file=sys.stderr, flush=True)


if __name__ == '__main__':
  cli.run(main)
