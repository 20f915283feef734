# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts the patterns of prose that CONTRIBUTING.md forbids; they may only fall."""

import ast
from collections.abc import Iterable
from collections.abc import Iterator
import re

from tests import repository

from absl.testing import parameterized

_OPENING = re.compile(
  r'(What|Who|Whom|Whose|How|Of|Whether|Where|That|Which)\b'
)
# An argument's line in a docstring, but for the errors of Raises.
_ARGUMENT = re.compile(
  r'^ +(?!\w*\.?\w*Error:)\*{0,2}\w+: (Of|What|Who|How|Which|By|From|See)\b',
  re.MULTILINE,
)
# At most so many of each; lower them with what you rewrite.
_MOST = {
  'docstrings that open with a pronoun or "Of"': 0,
  'arguments that are no noun phrases': 0,
  # Persons, here.
  'things called who or nobody': 5,
  'messages that end in "expected"': 0,
}
_PERSONS = re.compile(r'\b(who|whom|somebody|nobody|made up|made-up|unlike)\b')
_EXPECTED = re.compile(
  r'\b(was|were) expected\b|\b(was|were) \'?$', re.MULTILINE
)


def _product() -> list[repository.Module]:
  modules = repository.read_modules().values()
  return [m for m in modules if m.path.parts[0] != 'tests']


def _docstrings(modules: Iterable[repository.Module]) -> Iterator[str]:
  for module in modules:
    for node in ast.walk(module.tree):
      if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        yield ast.get_docstring(node) or ''


def _messages() -> Iterator[str]:
  """Yields the texts of what is raised, with values left out."""
  for module in _product():
    for node in ast.walk(module.tree):
      if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        for argument in node.exc.args:
          yield ''.join(
            part.value
            for part in ast.walk(argument)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
          )


def _find(pattern: str) -> list[str]:
  if 'messages' in pattern:
    return [m for m in _messages() if _EXPECTED.search(m)]
  if 'open' in pattern:
    everywhere = _docstrings(repository.read_modules().values())
    return [d.partition('\n')[0] for d in everywhere if _OPENING.match(d)]
  expression = _ARGUMENT if 'arguments' in pattern else _PERSONS
  return [m[0] for d in _docstrings(_product()) for m in expression.finditer(d)]


class ProseTest(parameterized.TestCase):
  @parameterized.parameters(*_MOST)
  def test_counts_only_fall(self, pattern):
    found = _find(pattern)
    self.assertLessEqual(len(found), _MOST[pattern], found[:20])
