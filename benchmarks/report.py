# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of benchmarks, in Markdown that is also readable in a terminal."""

from collections.abc import Sequence
import os
import pathlib
import platform
import textwrap


def processor() -> str:
  """Returns the name of the processor and its number of cores."""
  name = platform.machine()
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      name = line.partition(':')[2].strip()
      break
  return f'{name}, {os.cpu_count()} cores'


def format_table(lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
  """Returns a table with notes below.

  Args:
    lines: The header, then the rows. A row with text in its first cell only is
      the title of the following ones.
    notes: The paragraphs below the table.
  """
  rows = [
    line if any(line[1:]) else [f'**{line[0]}**', *line[1:]] for line in lines
  ]
  first, *others = (max(map(len, column)) for column in zip(*rows))
  text = []
  for row in rows:
    cells = [row[0].ljust(first), *map(str.rjust, row[1:], others)]
    text.append(f'| {" | ".join(cells)} |')
  rule = ['-' * (first + 2), *('-' * (width + 1) + ':' for width in others)]
  text.insert(1, f'|{"|".join(rule)}|')
  for note in notes:
    text += ['', textwrap.fill(note, 80)]
  return '\n'.join(text)
