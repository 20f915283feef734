# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The code and commands of Markdown pages, for the tests that run them."""

import pathlib
import re
import shlex

_COMMAND = re.compile(r'python -m ((?:launch|research|benchmarks)\.[^`\n|]*)')


def pattern(language: str) -> re.Pattern[str]:
  """Returns a pattern of a block of code, whose group is the code."""
  return re.compile(rf'^```{language}\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def read(page: pathlib.Path, language: str) -> list[str]:
  """Returns the blocks of code of a page."""
  return pattern(language).findall(page.read_text(encoding='utf-8'))


def read_commands(page: pathlib.Path) -> list[list[str]]:
  """Returns the words behind `python -m`, of each of a page's binaries.

  Pipes, and redirections to them, are left out.

  Args:
    page: The page.
  """
  text = page.read_text(encoding='utf-8').replace('\\\n', ' ')
  text = text.replace(' 2>&1', '')
  return [shlex.split(words, comments=True) for words in _COMMAND.findall(text)]
