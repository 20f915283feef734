# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as text: as aligned lines, Markdown, LaTeX, HTML or CSV.

Each form escapes untrusted text by `plain_text`.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import csv
import io
import textwrap
from typing import Any
from typing import NamedTuple

from launch import plain_text

import pandas as pd

# The characters of a line of a head, or of a number, in LaTeX.
_LINE_WIDTH = 14
NOTHING = 'No run has a result to show yet.'


def align(rows: Sequence[Sequence[str]], num_left: int | None = None) -> str:
  """Returns rows as lines with aligned columns.

  Args:
    rows: The header and the rows, all of the same number of cells.
    num_left: The number of left-aligned columns, those at the right being
      right-aligned; None for all.
  """
  rows = [[plain_text.line(cell) for cell in row] for row in rows]
  return '\n'.join('  '.join(row).rstrip() for row in _pad(rows, num_left))


def _pad(
  rows: Sequence[Sequence[str]], num_left: int | None
) -> list[list[str]]:
  """Returns cells that are as wide as the widest of their columns."""
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return [
    [
      cell.ljust(width)
      if num_left is None or i < num_left
      else cell.rjust(width)
      for i, (cell, width) in enumerate(zip(row, widths))
    ]
    for row in rows
  ]


def count(number: int | str, what: str) -> str:
  """Returns a number with its noun: '1 local epoch', '8 local epochs'."""
  return f'{number} {what}' if str(number) == '1' else f'{number} {what}s'


def be(number: int) -> str:
  """Returns the verb of a number of things: 'is' for 1, 'are' for others."""
  return 'is' if number == 1 else 'are'


def tell_done(finished: int, total: int, diverged: int) -> str:
  """Returns '3 of 4 runs are finished, of which 1 diverged'."""
  verb = be(1 if total == 1 else finished)
  told = f'{finished} of {count(total, "run")} {verb} finished'
  return f'{told}, of which {diverged} diverged' if diverged else told


def quantity(number: float) -> str:
  """Returns a number with three digits and the prefix of its unit: '1.2 M'."""
  # Rounded first: 999,600 is 1 M.
  number = float(f'{number:.3g}')
  for prefix, size in (('P', 1e15), ('T', 1e12), ('G', 1e9), ('M', 1e6)):
    if number >= size:
      return f'{number / size:.3g} {prefix}'
  return f'{number / 1e3:.3g} k'


class Table(NamedTuple):
  """A table for people.

  Attributes:
    notes: The sentences of its caption.
    rows: The header and the rows, all of the same number of cells; empty
      without a result.
    bold: The row, counted from 0 for the header, and column of each bold cell.
    num_left: The number of columns of text, at the left; numbers at the right
      are right-aligned. None for text alone.
  """

  notes: Sequence[str]
  rows: Sequence[Sequence[str]]
  bold: Collection[tuple[int, int]] = ()
  num_left: int | None = None

  def aligned(self, left: str, right: str) -> list[str]:
    """Returns one of two words for each column."""
    columns = range(len(self.rows[0]))
    return [
      left if self.num_left is None or i < self.num_left else right
      for i in columns
    ]


def to_pages(name: str, title: str, table: Table) -> dict[str, bytes]:
  """Returns a table's files in Markdown and LaTeX, by their names.

  Args:
    name: The name of the files without its ending.
    title: The heading in the files.
    table: The table for people.
  """
  return {
    f'{name}.md': to_markdown(title, table).encode(),
    f'{name}.tex': to_latex(title, table).encode(),
  }


def to_markdown(title: str, table: Table) -> str:
  """Returns a page with a table, whose columns are aligned as text, too."""
  text = NOTHING
  if table.rows:
    head, *rest = _escape(table, plain_text.markdown, '**{}**')
    lines = _pad([head, table.aligned('---', '---:'), *rest], table.num_left)
    text = '\n'.join(f'| {" | ".join(row)} |' for row in lines)
  title, *notes = map(plain_text.markdown, [title, *table.notes])
  return '\n'.join([f'# {title}', '', *notes, '', text]) + '\n'


def to_latex(title: str, table: Table) -> str:
  """Returns a table as a booktabs tabular, with comments for the rest."""
  notes = [title, *table.notes, r'It needs \usepackage{booktabs}.']
  if not table.rows:
    notes.append(NOTHING)
  lines = [f'% {plain_text.line(note)}' for note in notes]
  if table.rows:
    aligns = table.aligned('l', 'r')
    head, *rest = (
      ' & '.join(
        # The words of methods stay in one line.
        _latex_cell(
          str(cell),
          align if align == 'r' or i == 0 else '',
          is_bold=(i, j) in table.bold,
        )
        for j, (cell, align) in enumerate(zip(row, aligns))
      )
      + r' \\'
      for i, row in enumerate(table.rows)
    )
    lines += [
      rf'\begin{{tabular}}{{@{{}}{"".join(aligns)}@{{}}}}',
      r'\toprule',
      head,
      r'\midrule',
      *rest,
      r'\bottomrule',
      r'\end{tabular}',
    ]
  return '\n'.join(lines) + '\n'


def _latex_cell(text: str, align: str, *, is_bold: bool) -> str:
  """Returns a cell for LaTeX, in short lines if it is aligned."""
  text = plain_text.line(text)
  lines = [text]
  if align:
    # A number keeps its deviation.
    whole = text.replace(' ± ', '_±_')
    lines = textwrap.wrap(whole, _LINE_WIDTH, break_long_words=False) or ['']
    lines = [line.replace('_±_', ' ± ') for line in lines]
  found = r' \\ '.join(map(plain_text.latex, lines))
  if len(lines) > 1:
    found = rf'\shortstack[{align}]{{{found}}}'
  return rf'\textbf{{{found}}}' if is_bold else found


def to_html(table: Table) -> str:
  """Returns the rows of a table in HTML, without its notes."""
  head, *rest = _escape(table, plain_text.html, '<b>{}</b>')
  looks = table.aligned('', ' class="number"')
  lines = [('th', head), *(('td', row) for row in rest)]
  rows = [
    ''.join(f'<{tag}{look}>{cell}</{tag}>' for look, cell in zip(looks, cells))
    for tag, cells in lines
  ]
  return '\n'.join(
    ['<div class="table"><table>', *(f'<tr>{row}</tr>' for row in rows)]
    + ['</table></div>']
  )


def _escape(
  table: Table, escape: Callable[[str], str], emphasis: str
) -> list[list[str]]:
  """Returns the escaped cells, with emphasis on the bold ones."""
  return [
    [
      emphasis.format(text) if (i, j) in table.bold else text
      for j, text in enumerate(map(escape, map(str, row)))
    ]
    for i, row in enumerate(table.rows)
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
    rows: The cells, row by row.
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


def frame_to_csv(table: pd.DataFrame, *, keep_nan: bool = False) -> bytes:
  """Returns a frame as CSV, without its index, as `to_csv` does."""
  return to_csv(list(table), table.itertuples(index=False), keep_nan=keep_nan)
