# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of a sweep from its runs to its tables, with runs that are made up."""

import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import threading
import time
from unittest import mock

from fedfish_tff import errors
from launch.configs import fed3r_digits
from launch.configs import sweeps
from launch.plots import sweep_plots
from launch.results import result_table
from launch.results import sweep_folder
from launch.sweeps import execution
from launch.sweeps import resources
from tests import processes
from tests import temporary_folders
from tests.launch.sweeps import fake_sweeps
from tests.launch.sweeps import fake_worker

from absl.testing import parameterized

_GIVE_UP_SECONDS = 60.0


class SweepExecutionTest(temporary_folders.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.folder / 'sweep'
    self.data_dir = self.folder / 'data'
    self.data_dir.mkdir()
    self.runs = fake_sweeps.grid(['fed_avg', 'fed_fish'], seed=(0, 1))
    self.enter_context(fake_worker.replace_worker())
    self.draw = self.enter_context(
      mock.patch.object(sweep_plots, 'draw', autospec=True)
    )

  def _sweep(self, **kwargs):
    arguments = dict(
      source=fake_sweeps.SOURCE,
      runs=self.runs,
      path=self.path,
      data_dir=str(self.data_dir),
    )
    return execution.Sweep(**{**arguments, **kwargs})

  def _execute(self, **kwargs):
    sweep = self._sweep(**kwargs)
    self._write_results(sweep)
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
      contextlib.redirect_stdout(stdout),
      contextlib.redirect_stderr(stderr),
    ):
      failures = sweep.execute()
    return failures, stdout.getvalue(), stderr.getvalue()

  def _write_results(self, sweep):
    """Writes what the worker copies."""
    data_dir = pathlib.Path(sweep.data_dir)
    shutil.rmtree(data_dir / 'results', ignore_errors=True)
    folder = sweep_folder.SweepFolder(data_dir / 'results')
    for run in sweep.runs:
      diverges = (data_dir / f'diverge_{run.name}').exists()
      workdir = folder.workdir(run.name)
      workdir.mkdir(parents=True)
      data = {'train': data_dir.name}
      (workdir / 'data_fingerprint.json').write_text(json.dumps(data))
      fake_sweeps.write_result(
        folder, run, run.config.seed / 10, diverged=3 if diverges else None
      )
      fake_sweeps.write_evaluation(folder, run)

  def _rows(self, name):
    with open(self.path / name, newline='') as file:
      return list(csv.DictReader(file))

  def test_a_failed_run_does_not_stop_the_others(self):
    flag = self.data_dir / 'fail_fed_avg-seed_1'
    flag.touch()
    failures, stdout, stderr = self._execute()
    self.assertEqual(failures, {'fed_avg-seed_1': 'The data are missing.'})
    self.assertIn('3 of 4 runs are finished. See', stdout)
    self.assertRegex(
      stderr, 'FAILED: The data are missing. .see .*fed_avg-seed_1.log'
    )
    rows = {row['run']: row for row in self._rows('runs.csv')}
    self.assertEqual(rows['fed_avg-seed_1']['status'], 'failed')
    self.assertEqual(rows['fed_avg-seed_1']['reason'], 'The data are missing.')
    self.assertEqual(rows['fed_fish-seed_1']['status'], 'done')
    self.assertGreater(float(rows['fed_fish-seed_1']['seconds']), 0)
    self.assertIn('missing: 1', (self.path / 'table.md').read_text())

    # The same command does what is left, and only that.
    flag.unlink()
    failures, stdout, stderr = self._execute()
    self.assertEmpty(failures)
    self.assertIn('4 runs, 3 finished before', stderr)
    self.assertIn('4/4 runs: fed_avg-seed_1', stderr)
    self.assertIn('Done: 4 of 4 runs', stdout)
    self.assertNotIn('FAILED', stderr)
    self.assertIn('| FedAvg | 0.5000 |', ' '.join(stdout.split()))
    log = (self.path / 'logs' / 'fed_avg-seed_1.log').read_text()
    self.assertEqual(log.count('python -m launch.train --config=digits.py'), 2)
    self.assertEqual(log.count('FAILED'), 1)
    folder, runs = self.draw.call_args.args
    self.assertEqual(folder.path, self.path)
    self.assertEqual(list(runs['variant'].unique()), ['fed_avg', 'fed_fish'])

  def test_runs_that_diverge_are_counted(self):
    (self.data_dir / 'diverge_fed_avg-seed_1').touch()
    for again in (False, True):
      failures, stdout, stderr = self._execute()
      self.assertEmpty(failures)
      self.assertIn(
        '\nDone: 4 of 4 runs are finished, of which 1 diverged. See', stdout
      )
      self.assertIn('diverged in round 3 (1 of 2)', stdout)
      line = 'fed_avg-seed_1 diverged in round 3 ('
      self.assertEqual(line in stderr, not again)
    rows = {row['run']: row['status'] for row in self._rows('runs.csv')}
    self.assertEqual(rows.pop('fed_avg-seed_1'), 'diverged in round 3')
    self.assertEqual(set(rows.values()), {'done'})

  def test_fine_tunings_start_from_runs_of_the_sweep(self):
    ft = 'fed_avg,fine_tuning=ft_lp,start=fed3r'
    runs = fake_sweeps.plan(
      sweeps.grid([ft, 'fed3r_rf', 'fed3r'], {'seed': (0, 1)}),
      get_config=fed3r_digits.get_config,
    )
    failures, _, _ = self._execute(runs=runs)
    self.assertEmpty(failures)
    for seed in (0, 1):
      (path,) = (self.path / 'logs').glob(f'fed_avg*seed_{seed}.log')
      (line,) = [x for x in path.read_text().splitlines() if 'finished' in x]
      self.assertEqual(line, f'fed3r-seed_{seed} is finished: True')

  def test_a_plot_that_cannot_be_drawn_fails_alone(self):
    self.draw.side_effect = RuntimeError('no ink')
    failures, stdout, stderr = self._execute()
    self.assertEqual(failures, {'plots': 'RuntimeError: no ink'})
    self.assertIn('4 of 4 runs are finished. See', stdout)
    self.assertRegex(stderr, 'FAILED: RuntimeError: no ink .see .*plots.log')
    self.assertNotIn('1 run:', stderr)
    log = (self.path / 'logs' / 'plots.log').read_text()
    self.assertIn('Traceback', log)

  def test_a_log_with_another_name_is_not_appended_to(self):
    mine = pathlib.Path(self.create_tempfile(content='mine').full_path)
    (self.path / 'logs').mkdir(parents=True)
    for name in ('plots', 'fed_avg-seed_1'):
      os.link(mine, self.path / 'logs' / f'{name}.log')
    failures, _, _ = self._execute()
    self.assertCountEqual(failures, ['plots', 'fed_avg-seed_1'])
    for reason in failures.values():
      self.assertRegex(reason, '^Cannot write .*log: it has another name')
    self.assertEqual(mine.read_text(), 'mine')

  def test_a_terminal_has_a_bar(self):
    (self.data_dir / 'fail_fed_avg-seed_1').touch()
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    with (
      contextlib.redirect_stdout(io.StringIO()),
      contextlib.redirect_stderr(terminal),
    ):
      sweep = self._sweep()
      self._write_results(sweep)
      sweep.execute()
    text = terminal.getvalue()
    self.assertIn('FAILED fed_avg-seed_1: The data are missing.', text)
    # All work is done at the end, also that which was in vain.
    last = [part for part in text.split('\r') if 'sweep: ' in part][-1]
    self.assertRegex(last, r'sweep: 100% .*3/4 runs, 1 failed \[\d\d:\d\d<')

  def test_many_failures_of_one_reason_are_told_once(self):
    for run in self.runs:
      (self.data_dir / f'fail_{run.name}').touch()
    failures, _, stderr = self._execute()
    self.assertLen(failures, 4)
    self.assertEqual(stderr.count('FAILED: The data are missing.'), 1)
    self.assertIn('4 runs: ', stderr.splitlines()[-1])

  def test_evaluates_what_is_trained(self):
    self._execute()
    summaries = list(self.path.glob('runs/*/summary.json'))
    before = [path.stat().st_mtime_ns for path in summaries]
    failures, _, stderr = self._execute(evaluated=True)
    self.assertEqual([path.stat().st_mtime_ns for path in summaries], before)
    self.assertEmpty(failures)
    self.assertIn('0 finished before', stderr)
    self.assertLen(list(self.path.glob('runs/*/evaluation/summary.csv')), 4)

  def test_other_data_are_noticed(self):
    self._execute()
    other = self.folder / 'other'
    other.mkdir()
    shutil.rmtree(self.path / 'runs' / 'fed_fish-seed_1')
    failures, _, _ = self._execute(data_dir=str(other))
    self.assertEqual(list(failures), ['fed_fish-seed_1'])
    self.assertIn(
      'on other data than fed_avg-seed_1', failures['fed_fish-seed_1']
    )

  def test_describes_without_a_trace(self):
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
      self._sweep(num_processes=3).describe()
    self.assertFalse(self.path.exists())
    lines = stdout.getvalue().splitlines()
    self.assertEqual(
      lines,
      [
        'fed_avg: 2 runs; seed 0, 1',
        'fed_fish: 2 runs; seed 0, 1',
        '4 runs, 4 to do, up to 3 at a time',
        'The first: python -m launch.train --config=digits.py:fed_avg '
        f'--config.seed=0 --workdir={self.path}/runs/fed_avg-seed_0 '
        f'--data_dir={self.data_dir}',
      ],
    )
    for cores, most in ((range(2), 2), (range(8), 4)):
      stdout = io.StringIO()
      with (
        mock.patch.object(
          resources, 'usable_cores', autospec=True, return_value=cores
        ),
        contextlib.redirect_stdout(stdout),
      ):
        self._sweep(data_dir='my data').describe()
      self.assertIn(" '--data_dir=my data'\n", stdout.getvalue())
      self.assertIn(f'up to {most} at a time\n', stdout.getvalue())

  def test_time_is_that_of_finished_runs_by_their_work(self):
    done, todo = (
      self._sweep(path=self.folder / name, runs=runs, num_processes=2)
      for name, runs in (
        ('done', fake_sweeps.grid(['fed_avg'], seed=(0, 1))),
        # Three times the passes, in half as many runs at a time.
        ('todo', fake_sweeps.grid(['fed_avg'], rounds=(150,), seed=(0, 1, 2))),
      )
    )
    self.assertIn('not known before', execution.tell_time([done, todo]))
    self._write_results(done)
    with contextlib.redirect_stdout(io.StringIO()):
      done.execute()
    (done.path / 'usage.json').write_text(
      json.dumps(
        {r.name: {'seconds': 120.0, 'peak_bytes': 0.0} for r in done.runs}
      )
    )
    self.assertEqual(
      execution.tell_time([done, todo]),
      'About 9 minutes left, by the time of 2 finished runs.',
    )
    self.assertStartsWith(execution.tell_time([done]), 'About 0 minutes')

  def test_a_column_that_no_run_has_costs_no_other_result(self):
    with (
      mock.patch.object(
        result_table,
        'of_sweep',
        autospec=True,
        side_effect=errors.InputError('no acuracy'),
      ),
      self.assertRaisesRegex(errors.InputError, 'no acuracy'),
    ):
      self._execute()
    self.assertNotEmpty(self._rows('table.csv'))
    self.assertLen(self._rows('runs.csv'), 4)

  @parameterized.parameters(None, errors.InputError('no acuracy'))
  def test_an_interrupt_says_how_to_go_on(self, error):
    if error is not None:
      self.enter_context(
        mock.patch.object(
          result_table, 'of_sweep', autospec=True, side_effect=error
        )
      )
    (self.data_dir / 'wait').touch()
    begun = self.data_dir / 'begun'

    def interrupt():
      give_up = time.monotonic() + _GIVE_UP_SECONDS
      while not begun.exists() and time.monotonic() < give_up:
        time.sleep(0.02)
      os.kill(os.getpid(), signal.SIGINT)

    self.enter_context(processes.interruptible_children())
    thread = threading.Thread(target=interrupt)
    thread.start()
    with self.assertRaisesRegex(
      KeyboardInterrupt, '0 of 4 runs are finished. The same command continues'
    ):
      self._execute(num_processes=1)
    thread.join()
    self.assertEqual(
      [row['status'] for row in self._rows('runs.csv')], ['unfinished'] * 4
    )
