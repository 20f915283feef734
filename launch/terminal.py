# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The output of a process, for any terminal, file or reader, or without one."""

import errno
import io
import os
import re
import sys
from typing import Any

from launch import plain_text

from absl import logging

# With what a progress bar begins: it goes back in its line, or up to it.
_OF_A_BAR = re.compile(r'(?:[\r\n]|\x1b\[A)*')


class _Stream(io.TextIOWrapper):
  """A stream that shows any text, as characters that do nothing.

  After an error it writes nothing any more.
  """

  def write(self, text: str) -> int:
    """Writes a text and returns its length; see `open_streams`."""
    start = _OF_A_BAR.match(text).end() if self.fileno() == 2 else 0
    self._unless_gone(
      super().write, text[:start] + plain_text.lines(text[start:])
    )
    return len(text)

  def flush(self) -> None:
    """Writes what is left to write; see `open_streams`."""
    self._unless_gone(super().flush)

  def _unless_gone(self, call: Any, *arguments: str) -> None:
    try:
      call(*arguments)
    except OSError as error:
      _open_nothing_as(self.fileno())
      # Neither what stderr lacks nor a terminal that has gone ends the work.
      if self.fileno() == 1 and error.errno != errno.EIO:
        raise


def open_streams() -> None:
  """Opens stdin, stdout and stderr anew.

  A closed stream reads and writes nothing. Characters that the encoding lacks,
  and those that a terminal would obey, are escaped. Errors are raised by stdout
  only, such as BrokenPipeError once its reader has gone.
  """
  for number, name in enumerate(('stdin', 'stdout', 'stderr')):
    stream = getattr(sys, name)
    if stream is None:
      # The next file to be opened would get what libraries print.
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
