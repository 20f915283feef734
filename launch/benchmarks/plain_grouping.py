# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The yardstick: Beam's own GroupByKey of lines by host.

It checks nothing, makes no examples and writes none: groups are counted.
"""

from collections.abc import Iterable
import json
import os
import pathlib
import urllib.parse

import apache_beam as beam
from apache_beam.options import pipeline_options

# Groups, and lines in them.
Counts = tuple[int, int]


def count_groups(pattern: str, *, path: str | os.PathLike[str]) -> Counts:
  """Groups lines of JSON by the host of their 'url', and counts.

  Args:
    pattern: The files, all of whose lines are well formed.
    path: A file for the result.

  Returns:
    The numbers of groups and of lines.
  """
  # Not those of this process, which Beam would take otherwise.
  options = pipeline_options.PipelineOptions([])
  with beam.Pipeline(options=options) as pipeline:
    _ = (
      pipeline
      | 'Read' >> beam.io.ReadFromText(pattern)
      | 'Key' >> beam.Map(_with_host).with_output_types(tuple[str, str])
      | 'Group' >> beam.GroupByKey()
      | 'Count' >> beam.Map(_count_lines)
      | 'Add' >> beam.CombineGlobally(_add)
      | 'Write' >> beam.Map(_write, os.fspath(path))
    )
  groups, lines = json.loads(pathlib.Path(path).read_text())
  return groups, lines


def _with_host(line: str) -> tuple[str, str]:
  return urllib.parse.urlsplit(json.loads(line)['url']).hostname, line


def _count_lines(group: tuple[str, Iterable[str]]) -> Counts:
  return 1, sum(1 for _ in group[1])


def _add(counts: Iterable[Counts]) -> Counts:
  groups, lines = 0, 0
  for more_groups, more_lines in counts:
    groups += more_groups
    lines += more_lines
  return groups, lines


def _write(counts: Counts, path: str) -> None:
  pathlib.Path(path).write_text(json.dumps(counts))
