# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
r"""Escaped text that cannot act as a command where it is shown.

Names of runs, tasks, classes and clients may be untrusted, so they are treated
as data. Each kind of output has one function here, for all its writers. Control
characters of terminals are escaped as in Python: \x1b. This module imports only
the standard library.
"""

import html as html_lib
import re
from typing import Any

# Control characters, changes of text direction, and unpaired surrogates.
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
    # At the start of a row, these would be arguments of the preceding \\.
    '[': '{[}',
    '*': '{*}',
    # LaTeX fonts may lack the Unicode character.
    '±': r'$\pm$',
    **{character: f'\\{character}' for character in '&%$#_{}'},
  }
)
_MARKDOWN = re.compile(r'[\\`*\[\]|]')
# Characters that start a formula in spreadsheets.
_FORMULA = tuple('=+-@＝＋－＠')


def lines(text: str) -> str:
  """Returns a text for a terminal or a figure, with its line breaks."""
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
  """Returns a text for HTML and its attributes, with its line breaks."""
  return html_lib.escape(lines(text))


def csv_cell(value: Any) -> Any:
  """Returns a cell of CSV that spreadsheets do not take for a formula.

  Args:
    value: The cell. An apostrophe is put before a text that is not a number but
      would start a formula. Values other than text are unchanged.
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
