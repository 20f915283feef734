# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of launch.sweep through the binary."""

import csv
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from tests import processes
from tests import temporary_folders
from tests.launch import binary_runner
from tests.launch import run_files

import psutil
import pytest

_GIVE_UP_SECONDS = 300.0
_DIGITS = (
  pathlib.Path(__file__).resolve().parents[2] / 'launch/configs/digits.py'
)
_CONFIG = """
from launch.configs import sweeps, toy_regression

def get_config(variant):
  config = toy_regression.get_config(variant)
  # Some seconds, in which a run can be killed.
  config.rounds = 400
  config.local_epochs = 2
  config.task.num_examples = 30
  config.evaluate_every = 200
  config.checkpoint_every = 5
  config.evaluation.personalization_epochs = 0
  config.evaluation.barrier = False
  return config

sweep = sweeps.choice(get_config, lambda get_config: {
  'both': lambda: sweeps.grid(['fed_avg'], {'seed': (0, 1)}),
  'one': lambda: sweeps.grid(['fed_avg'], {}),
})
"""

_SMALL_DIGITS = """
from launch.configs import digits, sweeps

def get_config(variant):
  config = digits.get_config(variant)
  config.rounds = 2
  config.evaluate_every = 1
  return config

def sweep(unused_name):
  return sweeps.grid(['fed_avg', 'fed_sgd'], {})
"""


class SweepTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.sweep_dir = self.folder / 'sweep'
    self.config = self.folder / 'tiny.py'
    self.config.write_text(_CONFIG)

  def _start(self, *arguments):
    with processes.interruptible_children():
      return psutil.Popen(
        [sys.executable, '-m', 'launch.sweep', *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=binary_runner.environment(),
        text=True,
        start_new_session=True,
      )

  def _finish(self, *arguments):
    """Runs a sweep of two runs, in one process beside this; returns its end."""
    outcome = binary_runner.run_here(
      'launch.sweep', '--num_processes=1', *arguments
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn('Done: 2 of 2 runs', outcome.stdout)
    return outcome

  def _wait_for_rounds(self, process, name, round_number):
    path = self.sweep_dir / 'runs' / name / 'metrics.csv'
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while not path.exists() or not any(
      line.startswith(f'{round_number},')
      for line in path.read_text().splitlines()
    ):
      self.assertIsNone(process.poll(), 'It ended too early.')
      self.assertLess(time.monotonic(), give_up)
      time.sleep(0.01)

  def _process_of(self, sweep, name):
    """The process that holds the run's log."""
    path = str(self.sweep_dir / 'logs' / f'{name}.log')
    for process in sweep.children(recursive=True):
      if path in [file.path for file in process.open_files()]:
        return process
    raise AssertionError(f'No process writes {path}.')

  def test_trains_and_tells(self):
    """In this process, with one of its own for the run."""
    outcome = binary_runner.run_here(
      'launch.sweep',
      f'--config={self.config}:one',
      f'--sweep_dir={self.sweep_dir}',
      '--num_processes=1',
      '--config.rounds=1',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    self.assertIn('Done: 1 of 1 run is finished', outcome.stdout)
    for name in ('runs.csv', 'plots/methods.csv', 'runs/fed_avg/summary.json'):
      self.assertTrue((self.sweep_dir / name).exists(), name)
    page = (self.sweep_dir / 'index.html').read_text()
    for figure in (self.sweep_dir / 'plots').glob('*.png'):
      self.assertIn(f'<figcaption>plots/{figure.name}', page)

  @pytest.mark.thorough
  def test_tunes_compares_and_tells(self):
    outcome = self._finish(
      f'--config={self.config}',
      '--methods=fed_avg',
      '--seeds=2',
      '--tune=client_learning_rate:0.01,0.02',
      f'--sweep_dir={self.sweep_dir}',
      '--config.rounds=1',
    )
    self.assertEqual(outcome.stdout.count('| Method'), 1)
    self.assertRegex(
      outcome.stdout,
      r'Tuned with seeds 100, 101, by .* client_learning_rate, of 0\.01, 0\.02: '
      r'\S+ for FedAvg',
    )
    self.assertIn('at the edge of its grid', outcome.stdout)
    for name in ('runs.csv', 'plots/methods.csv', 'tuning/table.md'):
      self.assertTrue((self.sweep_dir / name).exists(), name)
    tuned = json.loads((self.sweep_dir / 'tuning/sweep.json').read_text())
    self.assertLen(tuned['runs'], 4)

  @pytest.mark.thorough
  def test_a_killed_sweep_equals_single_runs(self):
    arguments = f'--config={self.config}:both', f'--sweep_dir={self.sweep_dir}'
    sweep = self._start(*arguments, '--num_processes=2')
    self._wait_for_rounds(sweep, 'fed_avg-seed_1', 8)
    self._process_of(sweep, 'fed_avg-seed_1').kill()
    family = sweep.children(recursive=True)
    # Ctrl-C reaches every process of the group.
    os.killpg(sweep.pid, signal.SIGINT)
    with processes.killed_if_hanging(sweep):
      _, stderr = sweep.communicate()
    self.assertEqual(sweep.returncode, 130, stderr)
    self.assertRegex(
      stderr.splitlines()[-1],
      'Interrupted: (0 of 2 runs are|1 of 2 runs is) finished. The same command continues',
    )
    self.assertNotIn('Traceback', stderr)
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while not all(processes.is_gone(process) for process in family):
      self.assertLess(time.monotonic(), give_up, family)
      time.sleep(0.05)
    self.assertFalse(
      (self.sweep_dir / 'runs/fed_avg-seed_1/summary.json').exists()
    )

    self._finish(*arguments)
    log = (self.sweep_dir / 'logs' / 'fed_avg-seed_1.log').read_text()
    self.assertRegex(log, r'resumed after round \d+\n')
    self.assertIn('Done: 400 rounds', log)
    self.assertTrue((self.sweep_dir / 'plots' / 'methods.csv').exists())

    alone = self.folder / 'alone'
    outcome = binary_runner.run_here(
      'launch.train',
      f'--config={self.config}:fed_avg',
      '--config.seed=1',
      f'--workdir={alone}',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    together = self.sweep_dir / 'runs' / 'fed_avg-seed_1'
    self.assertEqual(
      run_files.read_columns(together), run_files.read_columns(alone)
    )
    for name in ('config.json', 'data_fingerprint.json'):
      self.assertEqual(
        (together / name).read_bytes(), (alone / name).read_bytes()
      )
    summaries = [
      json.loads((path / 'summary.json').read_text())
      for path in (together, alone)
    ]
    self.assertEqual(summaries[0]['test'], summaries[1]['test'])
    with open(self.sweep_dir / 'runs.csv', newline='') as file:
      rows = {row['run']: row for row in csv.DictReader(file)}
    self.assertEqual(
      float(rows['fed_avg-seed_1']['test/global/mse']),
      summaries[1]['test']['global/mse'],
    )

  @pytest.mark.thorough
  def test_ray_changes_no_result(self):
    if not importlib.util.find_spec('ray'):
      self.skipTest('make ray was not run')
    self.config.write_text(_SMALL_DIGITS)
    folders = {name: self.folder / name for name in ('ray', 'machine')}
    for name, folder in folders.items():
      self._finish(
        f'--config={self.config}:small',
        f'--sweep_dir={folder}',
        f'--on={name}',
      )
    tables = [(path / 'table.csv').read_text() for path in folders.values()]
    self.assertEqual(*tables)
    for run in (folders['machine'] / 'runs').iterdir():
      other = folders['ray'] / 'runs' / run.name
      self.assertEqual(
        run_files.read_columns(run), run_files.read_columns(other)
      )
      summaries = [
        json.loads((path / 'summary.json').read_text()) for path in (run, other)
      ]
      for field in ('final', 'test', 'best_validation'):
        self.assertEqual(summaries[0][field], summaries[1][field])
      log = folders['ray'] / 'logs' / f'{run.name}.log'
      self.assertIn('Done: 2 rounds', log.read_text())

  def test_lists_the_runs(self):
    outcome = binary_runner.run_here(
      'launch.sweep',
      f'--config={_DIGITS}:learning_rates',
      f'--sweep_dir={self.sweep_dir}',
      '--config.rounds',
      '3',
      '--noconfig.evaluation.barrier',
      '--dry_run',
    )
    self.assertEqual(outcome.code, 0, outcome.stderr)
    lines = outcome.stdout.splitlines()
    # Seven client rates for each of five methods with plain servers.
    self.assertLen(lines, 5 + 3)
    self.assertIn('35 runs, 35 to do', lines[5])
    self.assertIn(f'--config={_DIGITS}:fed_avg', lines[6])
    self.assertIn('--config.rounds=3', lines[6])
    self.assertIn('--config.evaluation.barrier=False', lines[6])
    self.assertFalse(self.sweep_dir.exists())

  def test_lists_the_sweeps(self):
    outcome = binary_runner.run_here(
      'launch.sweep', f'--config={self.config}', '--list'
    )
    self.assertEqual(outcome.stdout, 'Sweep  Runs\nboth   2\none    1\n')
