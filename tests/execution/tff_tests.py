# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs TFF's own tests, from its sources, in a context of this library.

The module is also the plugin of pytest that does so in a process of its own.
"""

from collections.abc import Sequence
import importlib.machinery
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from fedfish_tff import execution
from tests import repository

import pytest

_TIMEOUT_SECONDS = 2 * 3600


def find_failures(
  sources: pathlib.Path, tests: Sequence[str], context: str
) -> list[str]:
  """Returns the tests that fail, by pytest's names.

  Args:
    sources: The folder that holds TFF's folder `tensorflow_federated`.
    tests: Folders, files or tests below `sources`.
    context: The name of the context.
  """
  with tempfile.TemporaryDirectory() as folder:
    failures = pathlib.Path(folder) / 'failures.json'
    run = subprocess.run(
      [
        *(sys.executable, '-m', 'pytest', '-q'),
        *('-c', '/dev/null'),
        *('-p', __name__),
        *('-p', 'no:cacheprovider'),
        '--import-mode=importlib',
        f'--rootdir={sources}',
        f'--tff_context={context}',
        f'--tff_failures={failures}',
        *(f'{sources}/{test}' for test in tests),
      ],
      cwd=sources,
      env={**os.environ, 'PYTHONPATH': str(repository.ROOT)},
      capture_output=True,
      text=True,
      timeout=_TIMEOUT_SECONDS,
    )
    if not failures.exists():
      raise RuntimeError(f'{run.stdout[-2000:]}{run.stderr[-2000:]}')
    return json.loads(failures.read_text())


class _Sources:
  """Finds modules of TFF that its wheel lacks, such as helpers of tests."""

  def __init__(self, root: pathlib.Path):
    self._root = root

  def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
    del path, target
    *parents, _ = name.split('.')
    if parents[:1] != ['tensorflow_federated']:
      return None
    folder = self._root.joinpath(*parents)
    return importlib.machinery.PathFinder.find_spec(name, [str(folder)])


class _Plugin:
  """Notes which tests fail."""

  def __init__(self, path: pathlib.Path):
    self._path = path
    self._failures: dict[str, None] = {}

  def pytest_collectreport(self, report: pytest.CollectReport) -> None:
    self._note(report)

  def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
    self._note(report)

  def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
    if report.failed:
      self._failures[report.nodeid] = None

  def pytest_sessionfinish(self) -> None:
    self._path.write_text(json.dumps(list(self._failures)))


def pytest_addoption(parser: pytest.Parser) -> None:
  """Adds the options of `find_failures`."""
  parser.addoption('--tff_context')
  parser.addoption('--tff_failures', type=pathlib.Path)


def pytest_configure(config: pytest.Config) -> None:
  """Makes the context the default, and TFF's sources importable."""
  execution.set_default_context(config.getoption('--tff_context'))
  sys.meta_path.append(_Sources(config.rootpath))
  config.pluginmanager.register(_Plugin(config.getoption('--tff_failures')))
