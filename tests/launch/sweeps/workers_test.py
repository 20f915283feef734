# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of running jobs on workers; none of them needs TensorFlow."""

from concurrent import futures
import os
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

from fedfish_tff import errors
from launch.sweeps import resources
from launch.sweeps import workers
from tests import processes
from tests.launch.sweeps import fake_worker

from absl.testing import absltest
import psutil

_GIVE_UP_SECONDS = 60.0
# A sweep in a process that is killed; what follows names its folder.
_SWEEP = """
import sys
from launch.sweeps import worker, workers
from tests.launch.sweeps import fake_worker
folder = sys.argv[1]
job = worker.Job(
  name='a', log_path=f'{folder}/a.log', heading='', versions=worker.versions(),
  arguments={'function': 'sleep', 'path': f'{folder}/started'},
)
with fake_worker.replace_worker(), workers.Workers(
  num_workers=1, num_cores=1, limits_memory=False
) as found:
  found.run([job], print)
"""


class ChooseTest(fake_worker.TestCase, absltest.TestCase):
  def test_groups_without_a_worker_come_first(self):
    a1, a2, b1 = (
      self._write_pid(name, group=name[0]) for name in ('a1', 'a2', 'b1')
    )
    self.assertEqual(workers.choose([a1, a2, b1], []), a1)
    self.assertEqual(workers.choose([a2, b1], [a1]), b1)
    self.assertEqual(workers.choose([a2], [a1, b1]), a2)


class WorkersTest(fake_worker.TestCase, absltest.TestCase):
  def _workers(self, num_workers, limits_memory=False):
    return workers.Workers(
      num_workers=num_workers,
      num_cores=num_workers,
      limits_memory=limits_memory,
    )

  def _run(self, *jobs, num_workers=1):
    with self._workers(num_workers) as found:
      found.run(jobs, self._on_end)
    return {name: outcome.error for name, outcome in self.ended.items()}

  def _log(self, name):
    return (self.folder / f'{name}.log').read_text()

  def _wait_for(self, path):
    give_up = time.monotonic() + _GIVE_UP_SECONDS
    while not path.exists():
      self.assertLess(time.monotonic(), give_up, f'No {path}.')
      time.sleep(0.02)

  def test_runs_and_fails_one_by_one(self):
    found = self._run(
      self._job('good', fake_worker.touch, path=self._path('good')),
      self._job('bad_input', fake_worker.fail, kind='input'),
      self._job('defect', fake_worker.fail, kind='defect'),
      self._job('long', fake_worker.fail, kind='long'),
      self._job('killed', fake_worker.kill_itself, number=signal.SIGKILL),
      self._job('left', fake_worker.leave, code=3),
      self._job('last', fake_worker.touch, path=self._path('last')),
      num_workers=2,
    )
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
      'the heading of good\nit touches\non stderr\non descriptor 1',
      self._log('good'),
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
      self._job('a_defect', fake_worker.fail, group='a', kind='defect'),
      self._write_pid('a3', 'a'),
      self._job(
        'a_killed', fake_worker.kill_itself, group='a', number=signal.SIGKILL
      ),
      self._write_pid('a4', 'a'),
      self._write_pid('alone2', None),
      self._write_pid('b2', 'b'),
    ]
    found = self._run(*jobs)
    self.assertLen(found, len(jobs))
    self.assertCountEqual(
      [name for name, error in found.items() if error], ['a_defect', 'a_killed']
    )
    self.assertIn('the heading of a2', self._log('a2'))
    pids = {
      name: (self.folder / name).read_text()
      for name, error in found.items()
      if not error
    }
    self.assertEqual(pids['a1'], pids['a2'])
    self.assertEqual(pids['b1'], pids['b2'])
    others = ('a1', 'a3', 'a4', 'b1', 'alone1', 'alone2')
    self.assertLen({pids[name] for name in others}, len(others))

  def test_a_job_waits_for_others_even_if_they_fail(self):
    b, c = map(self._path, 'bc')
    found = self._run(
      self._job('b', fake_worker.touch, after=['a'], path=b),
      self._job('c', fake_worker.touch, after=['b', 'e'], path=c),
      self._job('a', fake_worker.fail, kind='input'),
      num_workers=2,
    )
    self.assertEqual(list(found), ['a', 'b', 'c'])

  def test_workers_wait_for_memory(self):
    """Two runs of the size of the first one do not fit."""
    memory = 2 * resources.FIRST_GUESS_BYTES
    self.enter_context(
      mock.patch.object(
        resources, 'available_bytes', autospec=True, return_value=memory
      )
    )
    jobs = [self._write_pid(str(i), None) for i in range(3)]
    with self._workers(2, limits_memory=True) as found:
      counts = []
      found.run(
        jobs,
        lambda job, outcome: counts.append(len(found.workers)),
        known_peaks=[memory],
      )
    self.assertEqual(counts, [0, 0, 0])

  def test_a_worker_has_the_cores_that_it_took(self):
    core = resources.usable_cores()[-1]
    with mock.patch.object(
      resources, 'take_cores', autospec=True, return_value=([], [core])
    ):
      self._run(self._job('a', fake_worker.write_cores, path=self._path('a')))
    self.assertEqual((self.folder / 'a').read_text(), repr([core]))

  def test_memory_is_measured(self):
    self._run(
      self._job('small', fake_worker.hold, num_bytes=1 << 20),
      self._job('large', fake_worker.hold, num_bytes=200 << 20),
    )
    more = self.ended['large'].peak_bytes - self.ended['small'].peak_bytes
    self.assertBetween(more, 190 << 20, 210 << 20)

  def test_workers_that_cannot_be_started_are_told(self):
    error = BlockingIOError(11, 'Resource temporarily unavailable')
    with (
      mock.patch.object(subprocess, 'Popen', autospec=True, side_effect=error),
      self.assertRaisesRegex(
        errors.InputError, 'No process can be started for run a .*temporarily'
      ),
    ):
      self._run(self._write_pid('a', None))

  def test_a_worker_that_is_lost_costs_its_job(self):
    lost = futures.Future()
    lost.set_exception(
      RuntimeError('Ray says:\nThe actor died. Some common causes are')
    )
    with mock.patch.object(
      workers.Workers, 'submit', autospec=True, return_value=lost
    ):
      found = self._run(self._write_pid('a', 'g'))
    self.assertEqual(found, {'a': 'its process or node died: The actor died.'})

  def test_an_interrupt_leaves_no_process(self):
    paths = [self.folder / name for name in ('long', 'deaf')]
    jobs = [
      self._job(path.name, function, path=str(path))
      for path, function in zip(
        paths, (fake_worker.sleep, fake_worker.sleep_deaf)
      )
    ]

    def interrupt():
      for path in paths:
        self._wait_for(path)
      os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    self.enter_context(processes.interruptible_children())
    self.enter_context(mock.patch.object(workers, '_STOP_SECONDS', 2.0))
    with self.assertRaises(KeyboardInterrupt):
      self._run(*jobs, num_workers=2)
    thread.join()
    self.assertEmpty(self.ended)
    for path in paths:
      self.assertTrue(_is_gone(int(path.read_text())))
    self.assertIn('Interrupted.', self._log('long'))

  def test_they_end_with_the_sweep(self):
    """The sweep is killed, and so its own end can do nothing."""
    started = self.folder / 'started'
    sweep = psutil.Popen(
      [sys.executable, '-c', _SWEEP, str(self.folder)],
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
