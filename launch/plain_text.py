# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Text that is no command to the program that shows it.

The names of a stranger's run, task, class or client are data. Each kind of
output has one function here, which every writer of that kind calls. What a
terminal obeys is written as Python writes it: \x1b. The standard library alone.
"""

import html as html_lib
import re
from typing import Any

# Controls, what turns the direction of text, and halves of surrogate pairs.
_OBEYED = (
  r'\x00-\x08\x0b-\x1f\x7f-\x9f'
  r'\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff'
)
_NOT_SHOWN = re.compile(f'[{_OBEYED}]')
_NOT_IN_A_LINE = re.compile(f'[{_OBEYED}\\t\\n]')
_LATEX = str.maketrans(
  {
    '\\': r'\textbackslash{}',
    '~': r'\textasciitilde{}',
    '^': r'\textasciicircum{}',
    '<': r'\textless{}',
    '>': r'\textgreater{}',
    '|': r'\textbar{}',
    # At the start of a row they would belong to the end of the row before.
    '[': '{[}',
    '*': '{*}',
    # Fonts may lack ours.
    '±': r'$\pm$',
    **{character: f'\\{character}' for character in '&%$#_{}'},
  }
)
_MARKDOWN = re.compile(r'[\\`*\[\]|]')
# What spreadsheets take for the start of a formula.
_FORMULA = tuple('=+-@＝＋－＠')


def lines(text: str) -> str:
  """Returns a text for a terminal or a figure; its lines stay."""
  return _NOT_SHOWN.sub(_escape, text)


def line(text: str) -> str:
  """Returns a text as one line."""
  return _NOT_IN_A_LINE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
  return match[0].encode('unicode_escape').decode()


def latex(text: str) -> str:
  """Returns a text for LaTeX, outside of mathematics."""
  return line(text).translate(_LATEX)


def markdown(text: str) -> str:
  """Returns a text for a line or a cell of Markdown, without HTML."""
  escaped = html_lib.escape(line(text), quote=False)
  return _MARKDOWN.sub(lambda match: f'\\{match[0]}', escaped)


def html(text: str) -> str:
  """Returns a text for HTML and its attributes; its lines stay."""
  return html_lib.escape(lines(text))


def csv_cell(value: Any) -> Any:
  """Returns a cell of CSV that is no formula of a spreadsheet.

  Args:
    value: The cell. A text that is no number and would begin a formula gets an
      apostrophe before it; what is no text stays.
  """
  if not isinstance(value, str):
    return value
  text = line(value)
  if text.lstrip().startswith(_FORMULA) and not _is_number(text):
    return f"'{text}"
  return text


def _is_number(text: str) -> bool:
  try:
    float(text)
  except ValueError:
    return False
  return True
