# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for worker_process."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

from fedfish_tff.execution.worker import worker_process
from tests import processes

from absl.testing import parameterized
import psutil

# The module is loaded by its path, because importing its package imports TFF.
_PREAMBLE = f"""
import importlib.util, os, signal, sys, threading, time
spec = importlib.util.spec_from_file_location(
    'worker_process', {worker_process.__file__!r}
)
worker_process = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker_process)

def start():
  child = worker_process.WorkerProcess(['/bin/sleep', '1000'])
  print(child.pid, flush=True)
  return child
"""


@contextlib.contextmanager
def _script(code: str):
  """Runs a script in a session of its own; yields it and its child."""
  child = None
  try:
    with processes.script(_PREAMBLE + textwrap.dedent(code)) as script:
      child = processes.child_of(script)
      yield script, child
  finally:
    if child is not None and not processes.is_gone(child):
      child.kill()


class ParentsEndTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('normal_end', '', 0),
    ('exception', 'raise ValueError("bad")', 1),
    ('sys_exit', 'sys.exit(3)', 3),
    ('os_exit', 'os._exit(4)', 4),
    ('exec', 'os.execv("/bin/true", ["true"])', 0),
    ('kill_9', 'os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL),
    ('abort', 'os.abort()', -signal.SIGABRT),
    (
      'exit_of_another_thread',
      'threading.Thread(target=os._exit, args=(5,)).start(); time.sleep(9)',
      5,
    ),
    (
      'signals_blocked',
      'os.kill(os.getpid(), signal.SIGKILL)',
      -signal.SIGKILL,
      ('signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())'),
    ),
  )
  def test_child_ends_with_parent(self, end, exit_code, before=''):
    with _script(f'{before}\nchild = start()\n{end}') as (script, child):
      _, errors = processes.outputs_of_end(script, child)
    self.assertEqual(script.returncode, exit_code)
    if exit_code != 1:
      self.assertEmpty(errors)

  @parameterized.parameters(signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
  def test_child_ends_with_parent_killed_from_outside(self, number):
    with _script('child = start(); sys.stdin.read()') as (script, child):
      self.assertFalse(processes.is_gone(child))
      script.send_signal(number)
      processes.outputs_of_end(script, child)
      self.assertEqual(script.returncode, -number)

  def test_child_ends_with_parent_killed_during_the_start(self):
    for delay in (0.0, 0.005, 0.01, 0.02):
      code = f"""
          threading.Timer({delay}, os.kill, (os.getpid(), 9)).start()
          child = start()
          time.sleep(1000)
      """
      try:
        with _script(code) as (script, child):
          processes.outputs_of_end(script, child)
      except AssertionError as error:
        # Killed before it could tell of its child; stdout has closed, so that
        # there is none.
        self.assertEmpty(str(error))

  def test_child_outlives_the_thread_that_asked_for_it(self):
    code = """
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        print('joined', flush=True)
        sys.stdin.read()
    """
    with _script(code) as (script, child):
      self.assertEqual(script.stdout.readline(), 'joined\n')
      # The kernel sends the death signal as the thread ends.
      time.sleep(0.2)
      self.assertFalse(processes.is_gone(child))
      script.kill()
      processes.outputs_of_end(script, child)

  def test_ctrl_c_reaches_the_parent_only(self):
    # Not by print: the next signal may come before it has returned, and the
    # buffer of stdout does not let it in twice.
    code = """
        signal.signal(signal.SIGINT, lambda *_: os.write(1, b'caught\\n'))
        start()
        while True:
          time.sleep(1)
    """
    with _script(code) as (script, child):
      for _ in range(2):
        os.killpg(script.pid, signal.SIGINT)
        self.assertEqual(script.stdout.readline(), 'caught\n')
      self.assertFalse(processes.is_gone(child))
      script.kill()
      processes.outputs_of_end(script, child)

  def test_ctrl_c_that_ends_the_parent_ends_the_child(self):
    with _script('start(); time.sleep(1000)') as (script, child):
      os.killpg(script.pid, signal.SIGINT)
      _, errors = processes.outputs_of_end(script, child)
      self.assertIn('KeyboardInterrupt', errors)

  def test_fork_does_not_own_the_child(self):
    code = """
        child = start()
        pid = os.fork()
        if not pid:
          child.stop()
          print(child.is_running, flush=True)
          sys.exit()  # Runs the exit handlers of the parent.
        os.waitpid(pid, 0)
        print(child.is_running, flush=True)
        sys.stdin.read()
    """
    with _script(code) as (script, child):
      self.assertEqual(script.stdout.readline(), 'False\n')
      self.assertEqual(script.stdout.readline(), 'True\n')
      self.assertFalse(processes.is_gone(child))
      script.kill()
      processes.outputs_of_end(script, child)

  def test_end_is_seen_where_the_kernel_reaps(self):
    code = """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        child = start()
        os.kill(child.pid, 9)
        print(child.wait(60), flush=True)
    """
    with _script(code) as (script, child):
      self.assertEqual(script.stdout.readline(), 'True\n')
      processes.outputs_of_end(script, child)

  def test_child_of_a_dead_parent_does_not_start(self):
    result = subprocess.run(
      [
        sys.executable,
        '-I',
        '-S',
        '-c',
        worker_process._EXEC_WITH_DEATH_SIGNAL,
        '1',
        '/bin/echo',
        'started',
      ],
      capture_output=True,
      text=True,
      check=False,
      timeout=processes.HANG_SECONDS,
    )
    self.assertEqual(result.returncode, 1)
    self.assertEmpty(result.stdout)
    self.assertEqual(result.stderr, 'The parent process has ended.\n')


class WorkerProcessTest(parameterized.TestCase):
  def _start(self, *command: str, **kwargs) -> worker_process.WorkerProcess:
    child = worker_process.WorkerProcess(command, **kwargs)
    self.addCleanup(child.stop)
    return child

  def test_stop_leaves_nothing(self):
    child = self._start('/bin/sleep', '1000')
    self.assertTrue(child.is_running)
    self.assertEqual(child.describe_end(), 'is running')
    child.stop()
    self.assertFalse(child.is_running)
    self.assertFalse(psutil.pid_exists(child.pid))
    self.assertEqual(child.describe_end(), 'was killed by SIGKILL')
    child.stop()

  def test_child_that_ends_by_itself_is_no_zombie(self):
    child = self._start('/bin/true')
    self.assertTrue(child.wait(processes.HANG_SECONDS))
    self.assertFalse(psutil.pid_exists(child.pid))

  @parameterized.parameters(
    ('exit 0', 'exited with code 0'),
    ('exit 7', 'exited with code 7'),
    ('kill -TERM $$', 'was killed by SIGTERM'),
    ('kill -9 $$', 'was killed by SIGKILL'),
    ('kill -40 $$', 'was killed by signal 40'),
  )
  def test_describes_the_end(self, command, expected):
    child = self._start('/bin/sh', '-c', command)
    self.assertTrue(child.wait(processes.HANG_SECONDS))
    self.assertEqual(child.describe_end(), expected)

  def test_keeps_and_logs_the_last_output(self):
    with self.assertLogs('absl', 'INFO') as logs:
      child = self._start('/bin/sh', '-c', 'seq 100000; printf "\\377 end" >&2')
      self.assertTrue(child.wait(processes.HANG_SECONDS))
    self.assertLen(logs.records, 100001)
    self.assertEqual(
      child.output_tail.splitlines(),
      [
        *(str(i) for i in range(99982, 100001)),
        '\N{REPLACEMENT CHARACTER} end',
      ],
    )

  def test_inherits_no_file_session_or_environment(self):
    read, write = os.pipe()
    self.addCleanup(os.close, read)
    self.addCleanup(os.close, write)
    os.set_inheritable(write, True)
    child = self._start(
      sys.executable,
      '-I',
      '-c',
      'import os; print(os.readlink("/proc/self/fd/0"), '
      'sorted(os.listdir("/proc/self/fd"))[:-1], os.getsid(0) == os.getpid(),'
      'os.environ.get("A"), os.environ.get("HOME"))',
      environment={'A': 'b'},
    )
    self.assertTrue(child.wait(processes.HANG_SECONDS))
    self.assertEqual(child.output_tail, "/dev/null ['0', '1', '2'] True b None")

  def test_program_that_does_not_exist(self):
    child = self._start('/no/such/program')
    self.assertTrue(child.wait(processes.HANG_SECONDS))
    self.assertEqual(child.describe_end(), 'exited with code 1')
    self.assertIn('FileNotFoundError', child.output_tail)

  def test_process_that_cannot_be_started(self):
    with self.assertRaises(OSError):
      # An argument beyond the kernel's limit of 128 KiB.
      self._start('/bin/true', 'x' * 1_000_000)
