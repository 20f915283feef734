# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A child process that cannot outlive the process that started it.

Linux kills the child (`PR_SET_PDEATHSIG`) when the thread that created it ends.
So every child gets its own thread, which starts it, reads its output and waits
for it. That thread ends after the child or with the whole process, whether by a
normal end, an exception, `os._exit` or `kill -9`. The thread also reaps the
child, so that no zombie remains.

The child has its own session, so Ctrl-C in a terminal reaches the parent only.
Its stdin is /dev/null, and its stdout and stderr go to a pipe that the thread
reads. So it keeps no files of the parent open except those passed to it.
"""

import atexit
import collections
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
import signal
import subprocess
import sys
import threading

from absl import logging

# Python code between fork and exec is not safe in a process with threads, of
# which TensorFlow starts many. So this program sets the death signal and then
# becomes the child's program. If the parent has died before the call, no signal
# comes, so the parent's id is checked.
_EXEC_WITH_DEATH_SIGNAL = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(1, {int(signal.SIGKILL)}, 0, 0, 0):  # 1: PR_SET_PDEATHSIG
  sys.exit('prctl: ' + os.strerror(ctypes.get_errno()))
if os.getppid() != int(sys.argv[1]):
  sys.exit('The parent process has ended.')
os.execv(sys.argv[2], sys.argv[2:])
"""

_NUM_OUTPUT_LINES_KEPT = 20
_STOP_TIMEOUT_SECONDS = 10.0


class WorkerProcess:
  """A running child process, which ends at the latest with this process.

  Only the process that created the object owns the child. After `os.fork`, the
  copy in the forked process never ends the child.
  """

  def __init__(
    self,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
  ):
    """Starts the child.

    Args:
      command: The program (a path) and its arguments.
      environment: The child's environment; this process's if `None`.
      pass_fds: The file descriptors that the child keeps.

    Raises:
      OSError: If no process can be started. If the program cannot be executed,
        the child exits with code 1, with the reason in `output_tail`.
    """
    self._command = [os.fspath(part) for part in command]
    self._environment = dict(os.environ if environment is None else environment)
    self._pass_fds = tuple(pass_fds)
    self._owner_pid = os.getpid()
    self._output: collections.deque[str] = collections.deque(
      maxlen=_NUM_OUTPUT_LINES_KEPT
    )
    self._process: subprocess.Popen[str] | None = None
    self._start_error: OSError | None = None
    self._started = threading.Event()
    self._ended = threading.Event()
    # Held to reap and to signal the child, since another process may get its id
    # once it is reaped.
    self._reap_lock = threading.Lock()
    threading.Thread(
      target=self._run, name='worker_process', daemon=True
    ).start()
    self._started.wait()
    if self._start_error is not None:
      raise self._start_error
    atexit.register(self.stop)

  @property
  def pid(self) -> int:
    """The process id of the child."""
    return self._process.pid

  @property
  def owner_pid(self) -> int:
    """The process id of the process that started the child."""
    return self._owner_pid

  @property
  def is_running(self) -> bool:
    """True if the child runs; False in a fork, which does not own it."""
    return os.getpid() == self._owner_pid and not self._ended.is_set()

  @property
  def output_tail(self) -> str:
    """The last lines that the child wrote to its stdout and stderr."""
    return '\n'.join(list(self._output))

  def describe_end(self) -> str:
    """Returns a description of the child's end: 'was killed by SIGKILL'."""
    if not self._ended.is_set():
      return 'is running'
    code = self._process.returncode
    if code >= 0:
      return f'exited with code {code}'
    try:
      return f'was killed by {signal.Signals(-code).name}'
    except ValueError:  # Real-time signals have no name.
      return f'was killed by signal {-code}'

  def wait(self, timeout: float | None = None) -> bool:
    """Waits for the child's end; returns False after `timeout` seconds."""
    return self._ended.wait(timeout)

  def stop(self) -> None:
    """Kills the child, if it runs, and waits for its end."""
    if os.getpid() != self._owner_pid:
      return
    atexit.unregister(self.stop)
    with self._reap_lock:
      if self._process.returncode is None:
        self._process.kill()
    self._ended.wait(_STOP_TIMEOUT_SECONDS)

  def _run(self) -> None:
    """Starts the child, reads its output and reaps it, on its own thread."""
    try:
      # -I and -S prevent imports of site packages, so this takes 20 ms.
      self._process = subprocess.Popen(
        [
          sys.executable,
          '-I',
          '-S',
          '-c',
          _EXEC_WITH_DEATH_SIGNAL,
          str(self._owner_pid),
          *self._command,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
        close_fds=True,
        pass_fds=self._pass_fds,
        start_new_session=True,
        env=self._environment,
      )
    except OSError as error:
      self._start_error = error
      return
    finally:
      self._started.set()
    for line in self._process.stdout:
      line = line.rstrip('\n')
      self._output.append(line)
      logging.info('Process %d: %s', self._process.pid, line)
    # If the parent ignores SIGCHLD, the kernel reaps the child, and the call
    # fails once the child has ended.
    with contextlib.suppress(ChildProcessError):
      os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
    with self._reap_lock:
      self._process.wait()
    self._process.stdout.close()
    self._ended.set()
