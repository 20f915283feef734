# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The commands of all pages have flags, configs and variants that exist."""

import re
import sys
from unittest import mock

from launch import cli
from tests import fenced_code
from tests import repository
from tests.launch import binary_runner

from absl.testing import parameterized

_README = 'README.md'
_DOCS = tuple(
  path.relative_to(repository.ROOT).as_posix()
  for path in sorted(repository.ROOT.glob('docs/*.md'))
)
# What refuses a folder that another command has written.
_WRITERS = (
  'launch.group_dataset',
  'launch.partition_dataset',
  'launch.sweep',
  'launch.train',
)


def _is_complete(words: list[str]) -> bool:
  """Returns whether a command needs no variables of a shell."""
  return len(words) > 1 and not any('$' in w or '...' in w for w in words)


def _is_there(words: list[str]) -> bool:
  """Returns whether it is of this commit; pages name older ones."""
  return not words[0].startswith('launch.benchmarks.')


def _read_writers(page: str) -> dict[str, set[tuple[str, ...]]]:
  """Returns the commands that write a folder, by the folder."""
  written = {}
  for words in fenced_code.read_commands(repository.ROOT / page):
    # A config may be called by its file or by its name.
    words = [re.sub(r'launch/configs/(\w+)\.py', r'\1', w) for w in words]
    for word in words:
      if words[0] in _WRITERS and re.match(
        '--(workdir|output_dir|sweep_dir)=', word
      ):
        folder = word.partition('=')[2]
        written.setdefault(folder, set()).add(tuple(sorted(words)))
  return written


class PagesTest(parameterized.TestCase):
  @parameterized.parameters(_README, *_DOCS)
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
          # What is left, such as flags of Beam, are flags too; a new project
          # has a folder.
          left = [w for w in parse(words)[1:] if w[:2] != '--']
          self.assertLen(left, words[0] == 'launch.new')

  @parameterized.parameters(*_DOCS)
  def test_commands_need_no_folder_of_the_readme(self, page):
    for folder, commands in _read_writers(_README).items():
      others = _read_writers(page).get(folder, set()) - commands
      self.assertEmpty(others, f'{folder} is of {commands}')
