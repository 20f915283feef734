# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The same round in other packages, each in its own environment.

A round is passed as a file with clients, weights, and the weights after the
round. A script of `benchmarks/peers`, which imports nothing of `fedfish_tff`,
checks that its package gets the same weights, and times it.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import json
import os
import pathlib
import subprocess
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors

_ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = pathlib.Path(__file__).parent / 'peers'
# The peers' titles by name; each has a script, <name>_round.py, and
# requirements, <name>.txt.
PEERS: Mapping[str, str] = {'fedjax': 'FedJAX', 'pfl': 'pfl-research'}


class PeerResult(NamedTuple):
  """The figures of a peer.

  Attributes:
    seconds: The median seconds of a round.
    versions: The names and versions of the packages that computed it.
  """

  seconds: float
  versions: str


def parse_interpreters(values: Sequence[str]) -> dict[str, str]:
  """Returns the peers' Python interpreters by name.

  Args:
    values: Texts of the form `<name>=<path>`.

  Raises:
    errors.InputError: If there is no such peer or interpreter.
  """
  interpreters = dict(value.partition('=')[::2] for value in values)
  for name, path in interpreters.items():
    if name not in PEERS:
      raise errors.InputError(
        f'--peer must name one of {", ".join(PEERS)}, as in --peer=fedjax='
        f'/path/to/environment/bin/python, got {name!r}.'
      )
    if not os.access(path, os.X_OK):
      raise errors.InputError(
        f'--peer={name} must name an interpreter that can be run, got {path!r}; '
        f'`python3.11 -m venv E` and `E/bin/pip install -r '
        f'benchmarks/peers/{name}.txt` make one, E/bin/python.'
      )
  return interpreters


def measure(
  name: str,
  interpreter: str | os.PathLike[str],
  task_path: str,
  **environment: str,
) -> PeerResult:
  """Measures a peer in a new process.

  Args:
    name: A name in `PEERS`, or `jax` for a loop in plain JAX.
    interpreter: The Python interpreter of its environment.
    task_path: The file by `rounds.Rounds.write_task`.
    **environment: Environment variables in addition to those of this process.

  Raises:
    RuntimeError: If the peer failed, or got other weights than expected.
  """
  return PeerResult(
    **call(interpreter, SCRIPTS / f'{name}_round.py', task_path, **environment)
  )


def call(*command: str | os.PathLike[str], **environment: str) -> Any:
  """Runs a program; returns the JSON in the last line that it prints.

  Args:
    *command: The program and its arguments.
    **environment: Environment variables in addition to those of this process.

  Raises:
    RuntimeError: If the program failed.
  """
  done = subprocess.run(
    command,
    capture_output=True,
    text=True,
    check=False,
    # Finds the modules of this folder, but nothing else of this environment.
    env={**os.environ, 'PYTHONPATH': str(_ROOT), **environment},
  )
  if done.returncode:
    raise RuntimeError(
      f'{" ".join(map(str, command))} ended with code {done.returncode}:\n'
      + done.stderr[-2000:]
    )
  return json.loads(done.stdout.splitlines()[-1])
