# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Flags for paths, with the same syntax in all binaries.

A path may begin with ~. All other characters stand for themselves.
"""

import os

from absl import flags

# The flags belong to the binary that defines them, so its help shows them.
flags.disclaim_key_flags()


def expand(path: str, *, takes_urls: bool = False) -> str:
  """Returns a path with the home folder in place of ~.

  Args:
    path: The path, as typed.
    takes_urls: Whether it may be a URL of another file system, such as
      gs://bucket/a.

  Raises:
    ValueError: If it cannot be used, as the flag library expects.
  """
  expanded = os.path.expanduser(path)
  if expanded.startswith('~'):
    raise ValueError(
      f'there is no user {expanded.partition("/")[0][1:]}; ./{path} names an '
      'entry of that name'
    )
  if not takes_urls and '://' in path:
    raise ValueError('it must be a path on this machine')
  try:
    expanded.encode()
  except UnicodeEncodeError:
    raise ValueError('it must be a path in UTF-8') from None
  return expanded


class _PathParser(flags.ArgumentParser):
  """A parser of a path."""

  syntactic_help = 'a path'

  def __init__(self, takes_urls: bool) -> None:
    super().__init__()
    self._takes_urls = takes_urls

  def parse(self, argument: str) -> str:
    return expand(argument, takes_urls=self._takes_urls)


class _PathsParser(flags.ListParser):
  """A parser of paths between commas, or of an existing path with commas."""

  def parse(self, argument: str | list[str]) -> list[str]:
    if isinstance(argument, str) and os.path.exists(expand(argument)):
      return [expand(argument)]
    paths = super().parse(argument)
    if '' in paths:
      raise ValueError('it must be paths with one comma between two')
    return [expand(path) for path in paths]


def define(
  name: str, default: str | None, help_text: str, *, takes_urls: bool = False
) -> flags.FlagHolder[str | None]:
  """Defines a flag for a path and returns its holder.

  Args:
    name: The flag's name.
    default: The path without the flag; None for none.
    help_text: The flag's help.
    takes_urls: Whether it may be a URL of another file system, such as
      gs://bucket/a.
  """
  return flags.DEFINE(_PathParser(takes_urls), name, default, help_text)


def define_list(name: str, help_text: str) -> flags.FlagHolder[list[str]]:
  """Defines a flag for several paths, without a default; returns its holder."""
  return flags.DEFINE(
    _PathsParser(),
    name,
    None,
    help_text,
    flags.FLAGS,
    flags.CsvListSerializer(','),
  )
