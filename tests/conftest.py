# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The work of absltest.main() for a script, done for pytest."""

import atexit
from collections.abc import Iterator
import gc
import os
import sys
import tempfile

# As the contexts of this library have it; other tests than theirs would start
# TensorFlow with a thread for each core, and bits would depend on the machine.
os.environ.setdefault('TF_NUM_INTRAOP_THREADS', '1')

import fedfish_tff  # noqa: F401  Before any test imports TensorFlow.
from fedfish_tff.execution import contexts
from launch import process_settings  # Without messages.
from tests import local_data

from absl import flags
import hypothesis
import pytest

atexit.register(process_settings.end_quietly)

pytest_plugins = ['tests.cpu_report']

# No test may depend on how fast the machine is.
hypothesis.settings.register_profile(
  'fedfish_tff',
  deadline=None,
  suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile('fedfish_tff')


@pytest.fixture(scope='session', autouse=True)
def _absl() -> Iterator[None]:
  """Parses absl's flags and gives each process a temporary folder."""
  with tempfile.TemporaryDirectory(prefix='fedfish_tff_') as folder:
    # absltest.create_tempdir empties folders named after the tests: two runs
    # at a time must not share the place.
    os.environ['TEST_TMPDIR'] = folder
    flags.FLAGS(['pytest'])
    if 'test_tmpdir' in flags.FLAGS:
      flags.FLAGS.test_tmpdir = folder
    yield


@pytest.fixture(scope='session', autouse=True)
def _rare_garbage_collection() -> None:
  """Looks for garbage less often: with graphs that took a tenth of the time."""
  gc.collect()
  # What is imported stays.
  gc.freeze()
  # Graphs are cycles: without full collections, each built method leaves 10 MB.
  gc.set_threshold(100_000, 5, 3)


@pytest.fixture(scope='module', autouse=True)
def _default_context() -> None:
  """Runs federated computations as the binaries of this package do."""
  # Of the modules that have some; others are not to wait for TFF.
  if 'tensorflow_federated' in sys.modules:
    contexts.set_default_context()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(
  terminalreporter: pytest.TerminalReporter,
) -> Iterator[None]:
  """Ends with how to get the samples that tests were skipped for."""
  yield  # Outside of pytest's own wrapper, which prints the short summary.
  skipped = terminalreporter.stats.get('skipped', ())
  text = local_data.explain_skips(str(report.longrepr) for report in skipped)
  if text:
    terminalreporter.write_line(text, yellow=True)
