# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: what every file of tests cost, as CPU seconds.

Times of a clock would depend on what else the machine does. CPU seconds of the
processes that tests start and wait for count, those of imports stand apart:
each process of xdist imports every file. Beside them stands what a fixed loop
took, since machines differ; nothing here fails. Files of the default tier that
cost much are named: they belong into another one, or need less data.
"""

import collections
from collections.abc import Iterator
import os
import time

import pytest

_LIMIT = 15.0
# The marks that take a test out of the default tier.
_TIERS = ('thorough', 'slow')
_SHOWN = 10
_IMPORTS = 'imports, in every process'
_KEY = 'cpu_seconds'
_SECONDS = pytest.StashKey[collections.Counter]()


def _cpu_seconds() -> float:
  """CPU seconds of this process and of its children that have ended."""
  times = os.times()
  return sum(times[:4])


def calibration_seconds() -> float:
  """Returns the time of a plain Python loop: 20 million additions, one core."""
  start = time.process_time()
  total = 0
  for number in range(20_000_000):
    total += number
  return time.process_time() - start


def pytest_configure(config: pytest.Config) -> None:
  config.stash[_SECONDS] = collections.Counter()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator:
  start = _cpu_seconds()
  result = yield
  if isinstance(collector, pytest.Module):
    collector.config.stash[_SECONDS][_IMPORTS] += _cpu_seconds() - start
  return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator:
  start = _cpu_seconds()
  result = yield
  row = item.nodeid.partition('::')[0]
  tiers = [tier for tier in _TIERS if item.get_closest_marker(tier)]
  if tiers:
    row += f' ({tiers[-1]})'
  item.config.stash[_SECONDS][row] += _cpu_seconds() - start
  return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
  if hasattr(session.config, 'workeroutput'):
    session.config.workeroutput[_KEY] = dict(session.config.stash[_SECONDS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
  """Takes over what a process of xdist has counted."""
  counted = getattr(node, 'workeroutput', {}).get(_KEY, {})
  node.config.stash[_SECONDS].update(counted)


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
  seconds = config.stash[_SECONDS]
  # Without pytest's cache there is no place for the report.
  if len(seconds) < 2 or not hasattr(config, 'cache'):
    return
  lines = [f'{value:8.1f}  {file}' for file, value in seconds.most_common()]
  report = config.cache.mkdir(_KEY) / 'report.txt'
  report.write_text('\n'.join(lines) + '\n', encoding='utf-8')
  terminalreporter.section('CPU seconds')
  for line in lines[:_SHOWN]:
    terminalreporter.write_line(line)
  terminalreporter.write_line(
    f'{sum(seconds.values()):8.1f}  together; all in {report}'
  )
  terminalreporter.write_line(
    f'{calibration_seconds():8.1f}  a loop of plain Python, to compare machines'
  )
  for row, value in seconds.most_common():
    if value > _LIMIT and row.endswith('.py'):
      terminalreporter.write_line(
        f'{row} cost {value:.1f} CPU seconds, over {_LIMIT:g}: too much for '
        'the default tier.',
        yellow=True,
      )
