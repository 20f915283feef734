# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of running jobs on Ray; none of them needs TensorFlow."""

import os
import signal
import threading
import time

from launch.sweeps import ray_runner
from launch.sweeps import worker
from tests import processes
from tests.execution.ray import ray_test_case
from tests.launch.sweeps import targets

import psutil
import pytest

_GIVE_UP_SECONDS = 120.0


class RayRunnerTest(targets.RunnerTest, ray_test_case.TestCase):
  def _runner(self, num_processes):
    return ray_runner.RayRunner(
      None,
      count=lambda num_cpus: num_processes,
      limits_memory=True,
    )

  @pytest.mark.thorough
  def test_jobs_of_a_group_share_an_actor_until_one_fails(self):
    unseen = worker.Job(
      name='unseen',
      function=targets.touch,
      arguments={'path': self.folder / 'unseen'},
      log_path=self.folder / 'other' / 'unseen.log',
    )
    jobs = [
      self._write_pid('a1', 'a'),
      self._write_pid('b1', 'b'),
      self._write_pid('a2', 'a'),
      self._job('defect', targets.fail, group='a', kind='defect'),
      self._write_pid('a3', 'a'),
      self._job(
        'killed', targets.kill_itself, group='a', number=signal.SIGKILL
      ),
      self._write_pid('a4', 'a'),
      self._job('input', targets.fail, kind='input'),
      self._job(
        'cores', targets.write_cores, path=self.folder / 'cores', until=1
      ),
      unseen,
    ]
    with self._runner(1) as runner:
      # More than there is: an actor starts all the same.
      runner.run(jobs, self._on_end, known_peaks=[1 << 60])
    self.assertLen(self.ended, len(jobs))
    failed = {name: o.error for name, o in self.ended.items() if o.error}
    self.assertCountEqual(failed, ['defect', 'killed', 'input', 'unseen'])
    self.assertEqual(failed['defect'], 'RuntimeError: a defect')
    self.assertEqual(failed['input'], 'The input is bad, on two lines.')
    self.assertStartsWith(failed['killed'], 'its process or node died: ')
    self.assertNotIn('\n', failed['killed'])
    self.assertRegex(failed['unseen'], f'The node .* has no {self.folder}')
    for name in ('a1', 'a2', 'defect'):
      log = (self.folder / f'{name}.log').read_text()
      self.assertIn(f'the heading of {name}\n', log)
    names = ('a1', 'a2', 'a3', 'a4', 'b1')
    pids = {name: (self.folder / name).read_text() for name in names}
    self.assertEqual(pids['a1'], pids['a2'])
    self.assertLen(set(pids.values()), 4)
    cores = sorted(os.sched_getaffinity(0))
    self.assertEqual((self.folder / 'cores').read_text(), repr(cores))

  @pytest.mark.thorough
  def test_an_interrupt_leaves_no_process(self):
    own = psutil.Process()
    others = set(own.children(recursive=True))
    jobs = [
      self._job(name, targets.sleep, path=self.folder / name)
      for name in ('a', 'b')
    ]
    paths = [self.folder / job.name for job in jobs]
    started = []

    def interrupt():
      give_up = time.monotonic() + _GIVE_UP_SECONDS
      while not all(path.exists() for path in paths):
        if time.monotonic() > give_up:
          break
        time.sleep(0.02)
      started.extend(set(own.children(recursive=True)) - others)
      os.kill(os.getpid(), signal.SIGINT)

    # A shell may have the interrupt ignored for what runs in the background.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    self.addCleanup(signal.signal, signal.SIGINT, handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with self.assertRaises(KeyboardInterrupt):
      with self._runner(2) as runner:
        runner.run(jobs, self._on_end)
    thread.join()
    self.assertEmpty(self.ended)
    pids = [int(path.read_text()) for path in paths]
    self.assertContainsSubset(pids, [process.pid for process in started])
    _, running = psutil.wait_procs(started, timeout=processes.HANG_SECONDS)
    self.assertEmpty(running)
