# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The same round in other packages, each in an environment of its own.

A round is handed over as a file: clients, weights, and the weights that the
round leads to. A script of `benchmarks/peers`, which needs nothing of
this package, checks that its package gets there, and times it.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import json
import os
import pathlib
import subprocess
import types
from typing import NamedTuple

from fedfish_tff import errors

import numpy as np

_ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = pathlib.Path(__file__).parent / 'peers'
# Titles; each has a script, <name>_round.py, and requirements, <name>.txt.
PEERS: Mapping[str, str] = types.MappingProxyType(
  {'fedjax': 'FedJAX', 'pfl': 'pfl-research'}
)


class PeerResult(NamedTuple):
  """What was measured of a peer.

  Attributes:
    seconds: Median seconds of a round.
    versions: Of what has computed it.
  """

  seconds: float
  versions: str


def parse_interpreters(values: Sequence[str]) -> dict[str, str]:
  """Returns the peers' Python interpreters by name.

  Args:
    values: Each `<name>=<path>`.

  Raises:
    errors.InputError: If there is no such peer or interpreter.
  """
  interpreters = dict(value.partition('=')[::2] for value in values)
  for name, path in interpreters.items():
    if name not in PEERS:
      raise errors.InputError(
        f'--peer names {name!r}; one of {", ".join(PEERS)} was expected, as in '
        '--peer=fedjax=/path/to/environment/bin/python.'
      )
    if not os.access(path, os.X_OK):
      raise errors.InputError(
        f'--peer={name} names the interpreter {path!r}, which cannot be run; '
        f'make one with `python3.11 -m venv E` and `E/bin/pip install -r '
        f'benchmarks/peers/{name}.txt`, and name E/bin/python.'
      )
  return interpreters


def write_task(
  path: str,
  clients: Sequence[tuple[np.ndarray, np.ndarray]],
  weights: Sequence[np.ndarray],
  expected: Sequence[np.ndarray],
  *,
  batch_size: int,
  learning_rate: float,
  repeats: int,
) -> None:
  """Writes a round for peers to compute on the cores of this process.

  Args:
    path: The file.
    clients: Each one's examples and labels, all of one size.
    weights: Where the round begins.
    expected: Where it ends.
    batch_size: Examples of a batch.
    learning_rate: Of the clients' steps; the server takes the mean.
    repeats: How many rounds are timed.
  """
  np.savez(
    path,
    x=np.stack([x for x, _ in clients]),
    y=np.stack([y for _, y in clients]),
    num_weights=len(weights),
    **{f'weights_{i}': w for i, w in enumerate(weights)},
    **{f'expected_{i}': w for i, w in enumerate(expected)},
    batch_size=batch_size,
    learning_rate=learning_rate,
    repeats=repeats,
    cores=sorted(os.sched_getaffinity(0)),
  )


def measure(name: str, interpreter: str, task_path: str) -> PeerResult:
  """Measures a peer in a new process.

  Args:
    name: Of PEERS.
    interpreter: The Python of its environment.
    task_path: What `write_task` has written.

  Raises:
    RuntimeError: If the peer failed, or got other weights than expected.
  """
  done = subprocess.run(
    [interpreter, str(SCRIPTS / f'{name}_round.py'), task_path],
    capture_output=True,
    text=True,
    check=False,
    # For the script alone; nothing else of this environment.
    env={**os.environ, 'PYTHONPATH': str(_ROOT)},
  )
  if done.returncode:
    raise RuntimeError(
      f'{PEERS[name]} ended with code {done.returncode}:\n{done.stderr[-2000:]}'
    )
  return PeerResult(**json.loads(done.stdout.splitlines()[-1]))
