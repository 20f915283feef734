# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as text: for a terminal, as Markdown, LaTeX, HTML or CSV.

Each form escapes untrusted text; see `plain_text`.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import csv
import io
from typing import Any

from launch import plain_text


def align(rows: Sequence[Sequence[str]]) -> str:
  """Returns rows as lines with left-aligned columns.

  Args:
    rows: The header and the rows, all of the same number of cells.
  """
  rows = [[plain_text.line(cell) for cell in row] for row in rows]
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return '\n'.join(
    '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
    for row in rows
  )


def to_markdown(
  rows: Sequence[Sequence[str]], *, bold: Sequence[tuple[int, int]] = ()
) -> str:
  """Returns rows, the first of them the header, as a Markdown table.

  Args:
    rows: The header and the rows, all of the same number of cells.
    bold: The row, counted from 0 for the header, and column of each bold cell.
  """
  head, *rest = _escape(rows, plain_text.markdown, '**{}**', bold)
  return '\n'.join(
    f'| {" | ".join(row)} |' for row in (head, ['---'] * len(head), *rest)
  )


def to_latex(
  rows: Sequence[Sequence[str]], *, bold: Sequence[tuple[int, int]] = ()
) -> str:
  """Returns rows as a booktabs tabular; see `to_markdown`."""
  escaped = _escape(rows, plain_text.latex, r'\textbf{{{}}}', bold)
  head, *rest = (' & '.join(row) + r' \\' for row in escaped)
  return '\n'.join(
    [
      rf'\begin{{tabular}}{{{"l" * len(rows[0])}}}',
      r'\toprule',
      head,
      r'\midrule',
      *rest,
      r'\bottomrule',
      r'\end{tabular}',
    ]
  )


def to_html(
  rows: Sequence[Sequence[str]], *, bold: Sequence[tuple[int, int]] = ()
) -> str:
  """Returns rows as an HTML table; see `to_markdown`."""
  head, *rest = _escape(rows, plain_text.html, '<b>{}</b>', bold)
  lines = [('th', head), *(('td', row) for row in rest)]
  return '\n'.join(
    [
      '<table>',
      *(
        f'<tr>{"".join(f"<{tag}>{cell}</{tag}>" for cell in row)}</tr>'
        for tag, row in lines
      ),
      '</table>',
    ]
  )


def _escape(
  rows: Sequence[Sequence[str]],
  escape: Callable[[str], str],
  emphasis: str,
  bold: Sequence[tuple[int, int]],
) -> list[list[str]]:
  """Returns the escaped cells, with emphasis on the bold ones."""
  return [
    [
      emphasis.format(text) if (i, j) in bold else text
      for j, text in enumerate(map(escape, row))
    ]
    for i, row in enumerate(rows)
  ]


def to_csv(
  header: Sequence[str],
  rows: Iterable[Iterable[Any]],
  *,
  keep_nan: bool = False,
) -> bytes:
  """Returns a table as CSV; cells of None or NaN stay empty.

  Args:
    header: The names of the columns.
    rows: The cells.
    keep_nan: Whether to write NaN as nan, where it differs in meaning from an
      empty cell, such as for a diverged model.
  """
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(map(plain_text.csv_cell, header))
  for row in rows:
    # Only NaN differs from itself.
    writer.writerow(
      [
        None if cell != cell and not keep_nan else plain_text.csv_cell(cell)
        for cell in row
      ]
    )
  return text.getvalue().encode()
