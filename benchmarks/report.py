# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What benchmarks print: a table with notes, for the terminal or as Markdown."""

from collections.abc import Sequence
import os
import pathlib
import platform
import textwrap


def processor() -> str:
  """Returns what the machine computes with."""
  name = platform.machine()
  for line in pathlib.Path('/proc/cpuinfo').read_text().splitlines():
    if line.startswith('model name'):
      name = line.partition(':')[2].strip()
      break
  return f'{name}, {os.cpu_count()} cores'


def format_text(lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
  """Returns the table and the notes for a terminal."""
  width = max(len(line[0]) for line in lines if any(line[1:])) + 2
  text = []
  for line in lines:
    if any(line[1:]):
      cells = ''.join(f'{cell:>12}' for cell in line[1:])
      text.append(f'{line[0]:{width}}{cells}'.rstrip())
    else:
      text += ['', line[0]]
  for note in notes:
    text += ['', textwrap.fill(note, 80)]
  return '\n'.join(text)


def format_markdown(
  lines: Sequence[Sequence[str]], notes: Sequence[str], command: str
) -> str:
  """Returns the table, the command that made it, and the notes."""
  header, *rows = lines
  text = [
    f'| {" | ".join(header)} |',
    f'|---|{"---:|" * (len(header) - 1)}',
  ]
  for row in rows:
    first = row[0] if any(row[1:]) else f'**{row[0]}**'
    text.append(f'| {" | ".join([first, *row[1:]])} |')
  for note in notes:
    text += ['', textwrap.fill(note, 80)]
  return '\n'.join([f'`{command}` printed:', '', *text])
