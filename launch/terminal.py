# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Safe output of a process to any terminal, file or reader, or to none."""

import errno
import io
import os
import re
import sys
from typing import Any

from launch import plain_text

from absl import logging

# The start of a progress bar: it moves back in its line, or up to it.
_OF_A_BAR = re.compile(r'(?:[\r\n]|\x1b\[A)*')


class _Stream(io.TextIOWrapper):
  """A stream that escapes control characters.

  After an error, it writes nothing more.
  """

  def write(self, text: str) -> int:
    """Writes a text and returns its length; see `open_streams`."""
    start = _OF_A_BAR.match(text).end() if self.fileno() == 2 else 0
    self._unless_gone(
      super().write, text[:start] + plain_text.lines(text[start:])
    )
    return len(text)

  def flush(self) -> None:
    """Writes the buffered text; see `open_streams`."""
    self._unless_gone(super().flush)

  def _unless_gone(self, call: Any, *arguments: str) -> None:
    try:
      call(*arguments)
    except OSError as error:
      _open_nothing_as(self.fileno())
      # Errors of stderr and of a closed terminal do not end the work.
      if self.fileno() == 1 and error.errno != errno.EIO:
        raise


def open_streams() -> None:
  """Reopens stdin, stdout and stderr.

  A closed stream reads and writes nothing. Characters outside the encoding and
  control characters of terminals are escaped. Only stdout raises errors, such
  as BrokenPipeError once its reader has closed it.
  """
  for number, name in enumerate(('stdin', 'stdout', 'stderr')):
    stream = getattr(sys, name)
    if stream is None:
      # Otherwise the next opened file would receive the output of libraries.
      _open_nothing_as(number)
    encoding = stream.encoding if stream else 'utf-8'
    if not number:
      sys.stdin = open(
        number, encoding=encoding, errors='replace', closefd=False
      )
      continue
    if stream:
      stream.flush()
    setattr(
      sys,
      name,
      _Stream(
        open(number, 'wb', closefd=False),
        encoding=encoding,
        errors='backslashreplace',
        line_buffering=True,
      ),
    )
  logging.get_absl_handler().python_handler.stream = sys.stderr


def _open_nothing_as(number: int) -> None:
  nothing = os.open(os.devnull, os.O_RDWR)
  if nothing != number:
    os.dup2(nothing, number)
    os.close(nothing)
  os.set_inheritable(number, True)
