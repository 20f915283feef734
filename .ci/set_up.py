# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes an environment from the locks in requirements/, unless it is there.

The last thing written is a stamp with the hash of the locks: an interrupted
installation has none and is done again from the start, and a changed lock no
longer matches it. Needs nothing but the standard library of CPython; pip's own
configuration (mirrors, certificates) applies.

  python .ci/set_up.py               # install into .venv, if needed
  python .ci/set_up.py --stack=tff   # TFF's own pins, into .venv-tff
  python .ci/set_up.py --check       # exit code 0 if .venv is up to date
  python .ci/set_up.py --accelerator=cpu   # .venv-accelerator, for --context=pjrt
  python .ci/set_up.py --ray         # Ray, into .venv, for --context=ray
"""

import argparse
import collections
from collections.abc import Mapping
from collections.abc import Sequence
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_LOCKS = _ROOT / 'requirements'
_PLATFORMS = ('cpu', 'cuda12', 'cuda13', 'tpu')
_RAY_STAMP = 'ray.sha256'
# TensorFlow's newest, and the versions that TFF asks for.
_STACKS = ('today', 'tff')


class _SetUpError(Exception):
  """The environment cannot be made; the message says why."""


class _Environment(NamedTuple):
  """An environment.

  Attributes:
    folder: Where it lies.
    locks: What it is made from, in order, each with pip's options.
    size: How much it takes, in words.
    stamp_name: The file that tells what it was made from.
  """

  folder: pathlib.Path
  locks: Mapping[pathlib.Path, Sequence[str]]
  size: str
  stamp_name: str = 'lock.sha256'

  @property
  def stamp(self) -> pathlib.Path:
    """The file that is written last."""
    return self.folder / self.stamp_name

  @property
  def log(self) -> pathlib.Path:
    """Returns pip's output."""
    return self.folder / 'pip.log'

  def expected_stamp(self) -> str:
    """Hash of the locks and of the folder, which scripts in bin/ name."""
    digest = hashlib.sha256(os.fsencode(self.folder))
    for lock in self.locks:
      digest.update(lock.read_bytes())
    return digest.hexdigest()

  def is_up_to_date(self) -> bool:
    """Returns whether it is from these locks and its Python still runs."""
    if (
      not self.stamp.exists()
      or self.stamp.read_text().strip() != self.expected_stamp()
    ):
      return False
    try:
      command = [self.folder / 'bin' / 'python', '-c', '']
      return subprocess.run(command, check=False).returncode == 0
    except OSError:  # The Python it was made from is gone.
      return False


def _package(stack: str) -> _Environment:
  """Returns the package's environment on a stack."""
  return _Environment(
    _ROOT / ('.venv' if stack == 'today' else f'.venv-{stack}'),
    {
      _LOCKS / 'build.lock': (),
      # The build tools just installed serve the packages that come as source.
      # TFF's metadata allows no newer Python than 3.11.
      _LOCKS / f'{stack}.lock': (
        '--no-build-isolation',
        '--ignore-requires-python',
      ),
    },
    'about 4 GB',
  )


def _ray(stack: str) -> _Environment:
  """Returns Ray's part of the package's environment, which goes with it."""
  return _Environment(
    _package(stack).folder,
    {_LOCKS / f'ray-{stack}.lock': ()},
    '0.3 GB',
    _RAY_STAMP,
  )


def _accelerator(stack: str, platform_name: str) -> _Environment:
  """Returns the environment of the device process for a platform."""
  return _Environment(
    pathlib.Path(f'{_package(stack).folder}-accelerator'),
    {_LOCKS / f'accelerator-{platform_name}.lock': ()},
    'about 0.4 GB (several with a GPU)',
  )


# What Python runs when it starts in the package's environment. It makes the
# repository importable, whatever the working directory; but not in Bazel's
# tests, which see whether their targets have all they import.
_PATH_LINE = (
  "import os, sys; 'TEST_SRCDIR' in os.environ or (sys.path.append("
  f"{str(_ROOT)!r}), __import__('fedfish_tff_first'))\n"
)


def _path_file(package: _Environment) -> pathlib.Path:
  """Returns the file with `_PATH_LINE`."""
  (packages,) = package.folder.glob('lib/python3.*/site-packages')
  return packages / 'fedfish_tff.pth'


def _is_importable(package: _Environment) -> bool:
  file = _path_file(package)
  return file.exists() and file.read_text() == _PATH_LINE


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


def _pip_install(
  environment: _Environment, lock: pathlib.Path, options: Sequence[str]
) -> None:
  """Installs a lock into an environment, telling now and then how far it is."""
  total = len(re.findall(r'^[\w.-]+==', lock.read_text(), re.MULTILINE))
  print(f'  {total} packages of {lock.name} ...', flush=True)
  # -I: a PYTHONPATH of the caller would make pip take packages found there
  # for installed ones.
  python = environment.folder / 'bin' / 'python'
  command = [python, '-I', '-m', 'pip', 'install']
  command += ['--require-hashes', '--no-deps', '--no-input']
  command += ['--disable-pip-version-check', '--progress-bar=off']
  # Python compiles what it imports, a sixth of the 24,000 modules.
  command += ['--no-compile']
  command += [*options, '--requirement', lock]
  tail = collections.deque(maxlen=15)
  collected = 0
  with (
    open(environment.log, 'a', encoding='utf-8') as log,
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
      f'last lines stand above, all of them in {environment.log}.'
    )


def _install(environment: _Environment) -> None:
  """Makes an environment anew; the stamp comes last."""
  folder, stamp = environment.folder, environment.stamp
  _check_platform()
  if folder.is_symlink():
    raise _SetUpError(
      f"{folder} is a link, and what it leads to may be another checkout's; a "
      'folder, or nothing yet, was expected.'
    )
  print(
    f'Installing into {folder.name} with Python {platform.python_version()}: '
    f'once, {environment.size} on disk, some minutes ...',
    flush=True,
  )
  stamp.unlink(missing_ok=True)  # First: removing may be interrupted too.
  if environment.stamp_name != _RAY_STAMP:
    if folder.exists():
      shutil.rmtree(folder)
    subprocess.run([sys.executable, '-I', '-m', 'venv', folder], check=True)
  for lock, options in environment.locks.items():
    _pip_install(environment, lock, options)
  partial = stamp.with_suffix('.partial')
  partial.write_text(environment.expected_stamp() + '\n')
  partial.rename(stamp)
  print(f'  {folder.name} is ready.', flush=True)


def main() -> int:
  """Returns the exit code."""
  parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
  parser.add_argument('--check', action='store_true')
  parser.add_argument('--accelerator', choices=_PLATFORMS)
  parser.add_argument('--ray', action='store_true')
  parser.add_argument('--stack', choices=_STACKS, default='today')
  args = parser.parse_args()
  environment = package = _package(args.stack)
  if args.accelerator:
    environment = _accelerator(args.stack, args.accelerator)
  elif args.ray:
    environment = _ray(args.stack)
  if args.check:
    done = package.is_up_to_date() and _is_importable(package)
    return 0 if done else 1
  # Two make commands at once: the second waits, then finds it done.
  folder = os.open(_LOCKS, os.O_RDONLY)
  os.set_inheritable(folder, True)
  fcntl.flock(folder, fcntl.LOCK_EX)
  try:
    if not environment.is_up_to_date():
      _install(environment)
    if environment is package and not _is_importable(package):
      _path_file(package).write_text(_PATH_LINE)
  except (_SetUpError, OSError, subprocess.CalledProcessError) as error:
    print(f'set_up: {error}', file=sys.stderr)
    return 2
  except KeyboardInterrupt:
    print('set_up: interrupted; the next run starts anew.', file=sys.stderr)
    return 130
  return 0


if __name__ == '__main__':
  sys.exit(main())
