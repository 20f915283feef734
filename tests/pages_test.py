# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The commands of all pages have flags, configs and variants that exist."""

import sys
from unittest import mock

from launch import cli
from tests import fenced_code
from tests import repository
from tests.launch import binary_runner

from absl.testing import parameterized

_PAGES = ('README.md', 'docs/*.md')


def _is_complete(words: list[str]) -> bool:
  """Whether a command can be parsed by itself, without a shell's variables."""
  return len(words) > 1 and not any('$' in w or '...' in w for w in words)


def _is_there(words: list[str]) -> bool:
  """Whether it is of this commit; pages say at which one others measured."""
  return not words[0].startswith('launch.benchmarks.')


class PagesTest(parameterized.TestCase):
  @parameterized.parameters(
    path.relative_to(repository.ROOT).as_posix()
    for pattern in _PAGES
    for path in sorted(repository.ROOT.glob(pattern))
  )
  def test_commands_can_be_parsed(self, page):
    for words in fenced_code.read_commands(repository.ROOT / page):
      if _is_complete(words) and _is_there(words):
        with (
          self.subTest(' '.join(words)),
          binary_runner.flags_of(words[0]) as binary,
          # Where ml_collections looks for --config.<field>.
          mock.patch.object(sys, 'argv', words),
        ):
          parse = getattr(binary, 'parse_flags', cli.parse_flags)
          # What is left, such as flags of Beam, are flags too.
          self.assertEmpty([w for w in parse(words)[1:] if w[:2] != '--'])
