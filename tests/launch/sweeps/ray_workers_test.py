# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of running jobs on Ray; none of them needs TensorFlow."""

import dataclasses
import os
import signal
import threading
import time

from launch.sweeps import ray_workers
from tests import processes
from tests.execution.ray import ray_test_case
from tests.launch.sweeps import fake_worker

import psutil
import pytest

_GIVE_UP_SECONDS = 120.0


class RayWorkersTest(fake_worker.TestCase, ray_test_case.TestCase):
  def _workers(self, num_workers):
    return ray_workers.RayWorkers(
      None, count=lambda num_cpus: num_workers, limits_memory=True
    )

  @pytest.mark.thorough
  def test_jobs_of_a_group_share_an_actor_until_one_fails(self):
    touch = self._job('unseen', fake_worker.touch, path=self._path('unseen'))
    unseen = dataclasses.replace(touch, log_path=self._path('other/unseen.log'))
    newer = dataclasses.replace(
      self._job('newer', fake_worker.touch, path=self._path('newer')),
      versions={'numpy': '9.9'},
    )
    jobs = [
      self._write_pid('a1', 'a'),
      self._write_pid('b1', 'b'),
      self._write_pid('a2', 'a'),
      self._job('defect', fake_worker.fail, group='a', kind='defect'),
      self._write_pid('a3', 'a'),
      self._job(
        'killed', fake_worker.kill_itself, group='a', number=signal.SIGKILL
      ),
      self._write_pid('a4', 'a'),
      self._job('input', fake_worker.fail, kind='input'),
      unseen,
      newer,
    ]
    with self._workers(1) as workers:
      # More than there is: an actor starts all the same.
      workers.run(jobs, self._on_end, known_peaks=[1 << 60])
    self.assertLen(self.ended, len(jobs))
    failed = {name: o.error for name, o in self.ended.items() if o.error}
    self.assertCountEqual(
      failed, ['defect', 'killed', 'input', 'unseen', 'newer']
    )
    self.assertEqual(failed['defect'], 'RuntimeError: a defect')
    self.assertEqual(failed['input'], 'The input is bad, on two lines.')
    self.assertEqual(
      failed['killed'], 'its process has died: Killed (out of memory?)'
    )
    self.assertRegex(failed['unseen'], f'The node .* has no {self.folder}')
    self.assertRegex(failed['newer'], "but the sweep has .'numpy': '9.9'")
    for name in ('a1', 'a2', 'defect'):
      log = (self.folder / f'{name}.log').read_text()
      self.assertIn(f'the heading of {name}\n', log)
    names = ('a1', 'a2', 'a3', 'a4', 'b1')
    pids = {name: (self.folder / name).read_text() for name in names}
    self.assertEqual(pids['a1'], pids['a2'])
    self.assertLen(set(pids.values()), 4)

  @pytest.mark.thorough
  def test_an_interrupt_leaves_no_process(self):
    own = psutil.Process()
    others = set(own.children(recursive=True))
    jobs = [
      self._job(name, fake_worker.sleep, path=self._path(name))
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
      with self._workers(2) as workers:
        workers.run(jobs, self._on_end)
    thread.join()
    self.assertEmpty(self.ended)
    pids = [int(path.read_text()) for path in paths]
    self.assertContainsSubset(pids, [process.pid for process in started])
    _, running = psutil.wait_procs(started, timeout=processes.HANG_SECONDS)
    self.assertEmpty(running)
