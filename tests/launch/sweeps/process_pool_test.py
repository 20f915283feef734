# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of running jobs in processes; none of them needs TensorFlow."""

from multiprocessing import context
from multiprocessing import forkserver
import os
import signal
import sys
import threading
import time
from unittest import mock

from fedfish_tff import errors
from launch.sweeps import process_pool
from launch.sweeps import resources
from tests import processes
from tests.launch.sweeps import targets

from absl.testing import absltest
import psutil

_GIVE_UP_SECONDS = 60.0


class PoolRunnerTest(targets.RunnerTest, absltest.TestCase):
  def _runner(self, num_processes, limits_memory=False):
    return process_pool.PoolRunner(
      num_processes=num_processes,
      cores=resources.usable_cores(),
      limits_memory=limits_memory,
      preload=[targets.__name__],
    )

  def _log(self, name):
    return (self.folder / f'{name}.log').read_text()

  def _wait_for(self, path):
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while not path.exists():
      self.assertLess(time.monotonic(), give_up, f'No {path}.')
      time.sleep(0.02)

  def test_runs_and_fails_one_by_one(self):
    jobs = [
      self._job('good', targets.touch, path=self.folder / 'good'),
      self._job('bad_input', targets.fail, kind='input'),
      self._job('defect', targets.fail, kind='defect'),
      self._job('long', targets.fail, kind='long'),
      self._job('killed', targets.kill_itself, number=signal.SIGKILL),
      self._job('left', targets.leave, code=3),
      self._job('last', targets.touch, path=self.folder / 'last'),
    ]
    with self._runner(2) as runner:
      runner.run(jobs, self._on_end)
    found = {name: outcome.error for name, outcome in self.ended.items()}
    self.assertEqual(
      found,
      {
        'good': None,
        'bad_input': 'The input is bad, on two lines.',
        'defect': 'RuntimeError: a defect',
        'long': f'RuntimeError: {"x" * 986}...',
        'killed': 'its process has died: Killed (out of memory?)',
        'left': 'its process ended with exit code 3',
        'last': None,
      },
    )
    self.assertTrue((self.folder / 'good').exists())
    self.assertTrue((self.folder / 'last').exists())
    self.assertIn(
      'the heading of good\nit touches\non stderr', self._log('good')
    )
    self.assertIn('the end', self._log('long'))
    self.assertIn('Traceback', self._log('defect'))
    self.assertNotIn('Traceback', self._log('bad_input'))
    self.assertIn('FAILED: The input is bad', self._log('bad_input'))

  def test_jobs_of_a_group_share_a_process_until_one_fails(self):
    jobs = [
      self._write_pid('a1', 'a'),
      self._write_pid('b1', 'b'),
      self._write_pid('alone1', None),
      self._write_pid('a2', 'a'),
      self._job('a_defect', targets.fail, group='a', kind='defect'),
      self._write_pid('a3', 'a'),
      self._job(
        'a_killed', targets.kill_itself, group='a', number=signal.SIGKILL
      ),
      self._write_pid('a4', 'a'),
      self._write_pid('alone2', None),
      self._write_pid('b2', 'b'),
    ]
    with self._runner(1) as runner:
      runner.run(jobs, self._on_end)
    self.assertLen(self.ended, len(jobs))
    self.assertCountEqual(
      [name for name, outcome in self.ended.items() if outcome.error],
      ['a_defect', 'a_killed'],
    )
    self.assertIn('the heading of a2', self._log('a2'))
    names = [job.name for job in jobs if job.function is targets.write_pid]
    pids = {name: (self.folder / name).read_text() for name in names}
    self.assertEqual(pids['a1'], pids['a2'])
    self.assertEqual(pids['b1'], pids['b2'])
    others = ('a1', 'a3', 'a4', 'b1', 'alone1', 'alone2')
    self.assertLen({pids[name] for name in others}, len(others))

  def test_a_job_waits_for_others_even_if_they_fail(self):
    jobs = [
      self._job('b', targets.touch, after=['a'], path=self.folder / 'b'),
      self._job('c', targets.touch, after=['b', 'e'], path=self.folder / 'c'),
      self._job('a', targets.fail, kind='input'),
    ]
    with self._runner(2) as runner:
      runner.run(jobs, self._on_end)
    self.assertEqual(list(self.ended), ['a', 'b', 'c'])

  def test_processes_wait_for_memory(self):
    """Two runs of the size of the first one do not fit."""
    memory = 2 * resources.FIRST_GUESS_BYTES
    self.enter_context(
      mock.patch.object(
        resources, 'available_bytes', autospec=True, return_value=memory
      )
    )
    jobs = [
      self._job(str(i), targets.write_pid, path=self.folder / f'{i}')
      for i in range(3)
    ]
    with self._runner(2, limits_memory=True) as runner:
      counts = []
      runner.run(
        jobs,
        lambda job, outcome: counts.append(len(runner.processes)),
        known_peaks=[memory],
      )
    self.assertEqual(counts, [0, 0, 0])

  def test_each_has_its_core(self):
    cores = resources.usable_cores()
    jobs = [
      self._job(str(i), targets.write_cores, path=self.folder / f'{i}', until=2)
      for i in range(2)
    ]
    with self._runner(2) as runner:
      runner.run(jobs, self._on_end)
    self.assertEqual([o.error for o in self.ended.values()], [None, None])
    found = [(self.folder / f'{i}').read_text() for i in range(2)]
    shares = resources.share_cores(cores, 2)
    self.assertCountEqual(found, [repr(share) for share in shares])

  def test_memory_is_measured(self):
    jobs = [
      self._job('small', targets.hold, num_bytes=1 << 20),
      self._job('large', targets.hold, num_bytes=200 << 20),
    ]
    with self._runner(1) as runner:
      runner.run(jobs, self._on_end)
    self.assertLess(self.ended['small'].peak_bytes, 100 << 20)
    self.assertBetween(self.ended['large'].peak_bytes, 195 << 20, 300 << 20)

  def test_processes_that_cannot_be_started_are_told(self):
    def kill_server(self):
      forkserver.ensure_running()
      server = forkserver._forkserver._forkserver_pid
      os.kill(server, signal.SIGKILL)
      os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
      raise EOFError('unexpected EOF')

    with mock.patch.object(
      context.ForkServerProcess, 'start', autospec=True, side_effect=kill_server
    ):
      with self._runner(1) as runner:
        with self.assertRaisesRegex(
          errors.InputError, 'No process can be started for run a .*EOF'
        ):
          runner.run(
            [self._job('a', targets.touch, path=self.folder)], self._on_end
          )
    # The next one starts another.
    with self._runner(1) as runner:
      job = self._job('b', targets.touch, path=self.folder / 'b')
      runner.run([job], self._on_end)
    self.assertIsNone(self.ended['b'].error)

  def test_an_interrupt_leaves_no_process(self):
    started = self.folder / 'started'
    job = self._job('long', targets.sleep, path=started)
    stubborn = self._job(
      'deaf', targets.sleep_deaf, path=self.folder / 'deaf_too'
    )

    def interrupt():
      for path in (started, self.folder / 'deaf_too'):
        self._wait_for(path)
      os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    self.enter_context(processes.interruptible_children())
    self.enter_context(mock.patch.object(process_pool, '_STOP_SECONDS', 2.0))
    with self.assertRaises(KeyboardInterrupt):
      with self._runner(2) as runner:
        runner.run([job, stubborn], self._on_end)
    thread.join()
    self.assertEmpty(self.ended)
    for path in (started, self.folder / 'deaf_too'):
      pid = int(path.read_text())
      self.assertFalse(psutil.pid_exists(pid) and not _is_gone(pid))
    self.assertIn('Interrupted.', self._log('long'))

  def test_they_end_with_the_sweep(self):
    """The sweep is killed, and so its own end can do nothing."""
    started = self.folder / 'started'
    program = (
      'import pathlib, sys\n'
      'from launch.sweeps import process_pool, worker\n'
      'from tests.launch.sweeps import targets\n'
      'folder = pathlib.Path(sys.argv[1])\n'
      'job = worker.Job(name="a", log_path=folder / "a.log",\n'
      '  function=targets.sleep, arguments={"path": folder / "started"})\n'
      'with process_pool.PoolRunner(num_processes=1, cores=[0],\n'
      '    limits_memory=False) as runner:\n'
      '  runner.run([job], print)\n'
    )
    sweep = psutil.Popen(
      [sys.executable, '-c', program, str(self.folder)],
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
    )
    self._wait_for(started)
    family = sweep.children(recursive=True)
    self.assertIn(int(started.read_text()), [p.pid for p in family])
    sweep.kill()
    sweep.wait(processes.HANG_SECONDS)
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while not all(processes.is_gone(process) for process in family):
      self.assertLess(time.monotonic(), give_up, family)
      time.sleep(0.05)


def _is_gone(pid):
  try:
    return processes.is_gone(psutil.Process(pid))
  except psutil.NoSuchProcess:
    return True
