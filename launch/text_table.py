# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as text for a terminal."""

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]]) -> str:
  """Returns rows as lines, their columns aligned at the left.

  Args:
    rows: The header and the rows, all of the same number of cells.
  """
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return '\n'.join(
    '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    for row in rows
  )
