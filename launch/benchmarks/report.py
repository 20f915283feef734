# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a benchmark ends: its table is printed, and written if asked for."""

from collections.abc import Sequence
import pathlib
from typing import Any

from launch.benchmarks import markdown_file
from launch.benchmarks import table

from absl import flags


def given_arguments(
  flag_holders: Sequence[flags.FlagHolder[Any]],
) -> list[str]:
  """Returns those flags that were given, as arguments of a command."""
  return [
    f'--{flag.name}={value}'
    for flag in flag_holders
    if flag.present
    for value in (flag.value if isinstance(flag.value, list) else [flag.value])
  ]


def print_table(
  lines: Sequence[Sequence[str]],
  notes: Sequence[str],
  *,
  command: str,
  markdown: str | None,
) -> None:
  """Prints a table.

  Args:
    lines: The header and the rows.
    notes: What a reader has to know, a paragraph each.
    command: The command that measures the same.
    markdown: A file to write it to, too, of which `markdown_file.check` has
      been asked; or None.

  Raises:
    errors.InputError: If the file cannot be written.
  """
  print(table.format_text(lines, notes), flush=True)
  if markdown is not None:
    markdown_file.write(
      pathlib.Path(markdown), table.format_markdown(lines, notes, command)
    )
