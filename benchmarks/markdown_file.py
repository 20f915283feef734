# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Puts text into a marked part of a Markdown file, such as the README."""

import pathlib

from fedfish_tff import errors

BEGIN = '<!-- Written by the benchmark; do not edit. -->'
END = '<!-- End of what the benchmark wrote. -->'


def check(path: pathlib.Path) -> None:
  """Raises InputError if `write` would have to overwrite a file.

  Args:
    path: The file; all is well if there is none.
  """
  if path.exists():
    _split(path)


def write(path: pathlib.Path, text: str) -> None:
  """Writes a file, or only what is between the marks if it is there.

  Args:
    path: The file.
    text: What stands between the marks afterwards.

  Raises:
    InputError: If the file is there without marks, or cannot be written.
  """
  # Imported late: TensorFlow comes with it.
  from fedfish_tff.simulation import files  # pylint: disable=g-import-not-at-top

  before, after = _split(path) if path.exists() else ('', '\n')
  content = f'{before}{BEGIN}\n{text}\n{END}{after}'
  files.write_atomically(path, content.encode())


def _split(path: pathlib.Path) -> tuple[str, str]:
  """Returns what is before and after the marked part."""
  before, begin, rest = path.read_text(encoding='utf-8').partition(BEGIN)
  _, end, after = rest.partition(END)
  if not begin or not end:
    raise errors.InputError(
      f'{path} exists and has no part for the benchmark to write; expected '
      f'the lines {BEGIN} and {END} in it.'
    )
  return before, after
