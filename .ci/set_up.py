# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes .venv from the locks in requirements/, unless it is there already.

The last thing written is a stamp with the hash of the locks: an interrupted
installation has none and is done again from the start, and a changed lock no
longer matches it. Needs nothing but the standard library of CPython 3.11;
pip's own configuration (mirrors, certificates) applies.

  python .ci/set_up.py           # install if needed
  python .ci/set_up.py --check   # exit code 0 if .venv is up to date
"""

import collections
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_VENV = _ROOT / '.venv'
_STAMP = _VENV / 'lock.sha256'
_LOG = _VENV / 'pip.log'
_BUILD_LOCK = _ROOT / 'requirements' / 'build.lock'
_LOCK = _ROOT / 'requirements' / 'requirements.lock'


class _SetUpError(Exception):
  """The environment cannot be made; the message says why."""


def _expected_stamp() -> str:
  """Hash of the locks and of the folder, which scripts in .venv/bin name."""
  digest = hashlib.sha256(os.fsencode(_VENV))
  for lock in (_BUILD_LOCK, _LOCK):
    digest.update(lock.read_bytes())
  return digest.hexdigest()


def _is_up_to_date() -> bool:
  """Whether .venv was made from these locks and its Python still runs."""
  if not _STAMP.exists() or _STAMP.read_text().strip() != _expected_stamp():
    return False
  try:
    command = [_VENV / 'bin' / 'python', '-c', '']
    return subprocess.run(command, check=False).returncode == 0
  except OSError:  # The Python it was made from is gone.
    return False


def _check_platform() -> None:
  """Raises where TensorFlow Federated has no wheel."""
  if (sys.platform, platform.machine()) != ('linux', 'x86_64'):
    raise _SetUpError(
      'TensorFlow Federated 0.87.0 is published for Linux on x86-64 only, '
      f'but this is {platform.system()} on {platform.machine()}.'
    )
  libc, version = platform.libc_ver()
  numbers = tuple(int(part) for part in version.split('.')[:2] if part)
  if libc != 'glibc' or numbers < (2, 31):
    raise _SetUpError(
      'TensorFlow Federated 0.87.0 needs glibc 2.31 or newer, but this '
      f'system has {libc or "no glibc"} {version}.'.rstrip()
    )


def _pip_install(lock: pathlib.Path, *options: str) -> None:
  """Installs a lock into .venv, telling now and then how far it is."""
  total = len(re.findall(r'^[\w.-]+==', lock.read_text(), re.MULTILINE))
  print(f'  {total} packages of {lock.name} ...', flush=True)
  # -I: a PYTHONPATH of the caller would make pip take packages found there
  # for installed ones.
  command = [_VENV / 'bin' / 'python', '-I', '-m', 'pip', 'install']
  command += ['--require-hashes', '--no-deps', '--no-input']
  command += ['--disable-pip-version-check', '--progress-bar=off']
  command += [*options, '--requirement', lock]
  tail = collections.deque(maxlen=15)
  collected = 0
  with (
    open(_LOG, 'a', encoding='utf-8') as log,
    subprocess.Popen(
      command,
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      errors='replace',
      env=os.environ | {'PIP_USER': '0'},
      # pip inherits main()'s lock: a pip that outlives this process is waited
      # for, instead of writing into the next installation.
      close_fds=False,
    ) as pip,
  ):
    for line in pip.stdout:
      log.write(line)
      tail.append(line)
      if line.startswith('Collecting '):
        collected += 1
        if collected % 25 == 0:
          print(f'  {collected} of {total} fetched', flush=True)
      elif line.startswith('Installing collected packages'):
        print('  unpacking', flush=True)
  if pip.returncode:
    sys.stderr.writelines(tail)
    raise _SetUpError(
      f'pip could not install {lock.name} (exit code {pip.returncode}); its '
      f'last lines stand above, all of them in .venv/{_LOG.name}.'
    )


def _install() -> None:
  """Makes .venv anew; the stamp comes last."""
  _check_platform()
  print(
    f'Installing into .venv with Python {platform.python_version()}: once, '
    'about 2 GB on disk, some minutes ...',
    flush=True,
  )
  _STAMP.unlink(missing_ok=True)  # First: removing may be interrupted too.
  if _VENV.exists():
    shutil.rmtree(_VENV)
  subprocess.run([sys.executable, '-I', '-m', 'venv', _VENV], check=True)
  _pip_install(_BUILD_LOCK)
  # The build tools just installed serve the packages that come as source.
  _pip_install(_LOCK, '--no-build-isolation')
  partial = _STAMP.with_suffix('.partial')
  partial.write_text(_expected_stamp() + '\n')
  partial.rename(_STAMP)
  print('  .venv is ready.', flush=True)


def main() -> int:
  """Returns the exit code."""
  if '--check' in sys.argv[1:]:
    return 0 if _is_up_to_date() else 1
  # Two make commands at once: the second waits, then finds it done.
  folder = os.open(_LOCK.parent, os.O_RDONLY)
  os.set_inheritable(folder, True)
  fcntl.flock(folder, fcntl.LOCK_EX)
  try:
    if not _is_up_to_date():
      _install()
  except (_SetUpError, OSError, subprocess.CalledProcessError) as error:
    print(f'set_up: {error}', file=sys.stderr)
    return 2
  except KeyboardInterrupt:
    print('set_up: interrupted; the next run starts anew.', file=sys.stderr)
    return 130
  return 0


if __name__ == '__main__':
  sys.exit(main())
