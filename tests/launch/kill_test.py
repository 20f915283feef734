# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Kills processes at random moments, and runs the same commands again."""

import contextlib
import json
import os
import pathlib
import signal
import tempfile
import time
from unittest import mock

from tests import processes
from tests import temporary_folders
from tests.datasets.grouping import web_pages
from tests.launch import binary_runner
from tests.launch import run_files
from tests.launch import small_configs

from absl.testing import parameterized
import numpy as np
import psutil
import pytest

_SWEEP = """
from launch.configs import sweeps, toy_regression

def get_config(variant):
  config = toy_regression.get_config(variant)
  config.update(rounds=12, local_epochs=2, evaluate_every=4, checkpoint_every=3)
  config.task.num_examples = 30
  return config

sweep = sweeps.choice(get_config, lambda get_config: {
  'seeds': lambda: sweeps.grid(['fed_avg'], {'seed': (0, 1, 2)}),
})
"""
_NUM_KILLS = 25


def _last_written(folder):
  """When a file of a folder was last made or changed, in nanoseconds."""
  times = [0]
  for parent, _, names in os.walk(folder):
    for path in (parent, *(os.path.join(parent, name) for name in names)):
      with contextlib.suppress(FileNotFoundError):
        times.append(os.stat(path).st_mtime_ns)
  return max(times)


class KillTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    # A process that is killed leaves its temporary files.
    self.temporary = self.enter_context(tempfile.TemporaryDirectory())
    self.enter_context(mock.patch.dict(os.environ, TMPDIR=self.temporary))

  def _start(self, module, *imported_late):
    runner = binary_runner.BinaryRunner(module, *imported_late)
    self.addCleanup(runner.close)
    return runner

  def _prepare(self, kind):
    """Returns what runs a command that writes into a folder."""
    if kind == 'grouping':
      pages = self.folder / 'pages'
      pages.mkdir()
      web_pages.write_files(pages, 20_000)
      runner = self._start('launch.group_dataset')
      return lambda folder, watch: runner.run(
        '--format=c4',
        f'--input={pages}/*',
        '--max_bad_fraction=0.1',
        '--num_shards=4',
        '--validation_fraction=0.2',
        f'--output_dir={folder / "grouped"}',
        watch=watch,
      )
    if kind == 'sweep':
      path = self.folder / 'tiny.py'
      path.write_text(_SWEEP)
      runner = self._start('launch.sweep')
      return lambda folder, watch: runner.run(
        f'--config={path}:seeds',
        f'--sweep_dir={folder / "sweep"}',
        '--num_processes=2',
        watch=watch,
      )
    if kind == 'client states':
      config = small_configs.make_client_states_config(
        rounds=12, evaluate_every=4
      )
    else:
      config = small_configs.make_config(
        'fed_avg,fine_tuning=ft_lp,start=fed3r'
      )
    path = self.folder / 'config.json'
    path.write_text(json.dumps(config))
    runner = self._start('launch.train', 'launch.runs.training_run')
    return lambda folder, watch: runner.run(
      f'--config={path}', f'--workdir={folder / "run"}', watch=watch
    )

  def _watch(self, folder, seconds):
    """Returns what kills a process so long after it has begun to write.

    Args:
      folder: Where it writes.
      seconds: How long, or None to let it end.

    Returns:
      A function of the process' id, and a list into which that puts when it has
      begun to write.
    """
    before, begun = _last_written(folder), []

    def watch(pid):
      while _last_written(folder) == before:
        if not psutil.pid_exists(pid):
          return
        time.sleep(0.005)
      begun.append(time.monotonic())
      if seconds is None:
        return
      time.sleep(seconds)
      with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
        os.killpg(pid, signal.SIGKILL)
        # Then none of them holds the folder.
        while not all(map(processes.is_gone, family)):
          time.sleep(0.005)

    return watch, begun

  @parameterized.parameters('client states', 'fine-tuning', 'sweep', 'grouping')
  @pytest.mark.slow
  @pytest.mark.timeout(0)
  def test_kills_lose_nothing(self, kind):
    run = self._prepare(kind)
    whole = self.folder / 'whole'
    whole.mkdir()
    watch, begun = self._watch(whole, None)
    outcome = run(whole, watch)
    self.assertEqual(outcome.code, 0, outcome.stderr)
    seconds = time.monotonic() - begun[0]
    expected = run_files.read_all(whole)
    rng = np.random.default_rng(11)
    num_killed, num_runs = 0, 0
    while num_killed < _NUM_KILLS:
      folder = self.folder / f'run_{num_runs}'
      folder.mkdir()
      while True:
        # The last kill is followed by a run to the end.
        left = rng.uniform(0, seconds) if num_killed < _NUM_KILLS else None
        outcome = run(folder, self._watch(folder, left)[0])
        if outcome.code != -signal.SIGKILL:
          break
        num_killed += 1
      self.assertEqual(outcome.code, 0, outcome.stderr)
      self.assertEqual(run_files.read_all(folder), expected)
      num_runs += 1
    print(f'{kind}: {num_killed} kills of {num_runs} runs, nothing lost')

  @pytest.mark.slow
  @pytest.mark.timeout(0)
  def test_processes_that_end_leave_nothing(self):
    run = self._prepare('client states')
    folder = self.folder / 'resumed'
    folder.mkdir()
    pids = []
    for _ in range(50):
      outcome = run(folder, pids.append)
      self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertEmpty(os.listdir(self.temporary))
    for pid in pids:
      with self.assertRaises(ProcessLookupError):
        os.killpg(pid, 0)
    # TensorFlow names what it shares by the process.
    shared = [path.name for path in pathlib.Path('/dev/shm').iterdir()]
    self.assertEmpty(
      [n for n in shared for pid in pids if n.endswith(f'_{pid}')]
    )
