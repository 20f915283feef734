# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs tests many times on busy cores, each time in a process of its own.

Tests of signals, kills and cancelled calls that pass once may have been lucky.
A run that is not done within a limit has failed: no test may wait without one.
What failed runs have printed is kept.

  [TIMES=100] [LIMIT=300] python .ci/test_flaky.py ARGUMENTS_OF_PYTEST
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

_TIMES = int(os.environ.get('TIMES', '100'))
_LIMIT = float(os.environ.get('LIMIT', '300'))  # Seconds, of a run.
# Ends with this process, however that ends.
_LOAD = f'import os\nwhile os.getppid() == {os.getpid()}: pass'


def _passes(arguments: list[str], log: pathlib.Path) -> bool:
  command = [sys.executable, '-m', 'pytest', '-m', '', *arguments]
  with open(log, 'w', encoding='utf-8') as output:
    process = subprocess.Popen(
      command, stdout=output, stderr=output, start_new_session=True
    )
    try:
      return process.wait(_LIMIT) == 0
    except subprocess.TimeoutExpired:
      # Pytest prints where it hangs, and ends.
      os.killpg(process.pid, signal.SIGABRT)
      with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LIMIT)
      print(f'Not done within {_LIMIT:g} seconds.', file=output)
      return False
    finally:
      # With what it has started.
      with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
      process.wait()


def main(arguments: list[str]) -> int:
  """Returns the exit code."""
  if not arguments:
    print('test_flaky: name the tests, as for pytest.', file=sys.stderr)
    return 2
  signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
  logs = pathlib.Path(tempfile.mkdtemp(prefix='test_flaky_'))
  load = [
    subprocess.Popen([sys.executable, '-c', _LOAD])
    for _ in os.sched_getaffinity(0)
  ]
  failed = 0
  try:
    for number in range(1, _TIMES + 1):
      log = logs / f'{number}.txt'
      if _passes(arguments, log):
        log.unlink()
      else:
        failed += 1
        print(f'Run {number} failed: {log}', flush=True)
  finally:
    for process in load:
      process.kill()
  if not failed:
    logs.rmdir()
  print(f'{failed} of {_TIMES} runs failed.')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
