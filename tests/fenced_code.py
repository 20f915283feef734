# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The code in pages of Markdown, for the tests that run it."""

import pathlib
import re


def pattern(language: str) -> re.Pattern[str]:
  """Returns what matches a block of code; its group is the code."""
  return re.compile(rf'^```{language}\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def read(page: pathlib.Path, language: str) -> list[str]:
  """Returns the blocks of code of a page."""
  return pattern(language).findall(page.read_text(encoding='utf-8'))
