# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Docstrings as Markdown: what stands in them is plain text but for backticks."""

import re
from typing import Any

import griffe
import pages

# Code and `**arguments:` stay; the rest is none of Markdown's.
_KEPT = re.compile(
  r'(^ *```.*?^ *```$|`[^`]+`|^ *\*+\w+:)', re.DOTALL | re.MULTILINE
)
# Equations and tables are indented; so is what stands in sections, after these.
_SECTIONS = re.compile(r'^(?:Args|Attributes|Raises|Returns):$', re.MULTILINE)
_INDENTED = re.compile(r'(?<=\n\n)((?: {2,}(?!- |\d\. ).*(?:\n|$))+)')


class Docstrings(griffe.Extension):
  """Escapes what Markdown would take for its own, and links symbols."""

  def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
    if obj.docstring is None:
      return
    text = obj.docstring.value
    section = _SECTIONS.search(text)
    end = section.start() if section else len(text)
    text = _INDENTED.sub(r'```text\n\1\n```\n', text[:end]) + text[end:]
    parts = _KEPT.split(text)
    parts[::2] = [
      re.sub(r'([*\[\]])', r'\\\1', part).replace('<', '&lt;')
      for part in parts[::2]
    ]
    obj.docstring.value = pages.link_symbols(
      ''.join(parts), obj.module.path.rpartition('.')[0]
    )
