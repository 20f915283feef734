# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks a module that measures in a new process, in JSON.

The request is its first argument, the answer the last line of its stdout.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import json
import os
import subprocess
import sys
from typing import Any

# Looking at processes takes time, too.
_SECONDS_BETWEEN_CALLS = 0.2


def ask(
  module: str,
  request: Any,
  *,
  environment: Mapping[str, str] | None = None,
  while_running: Callable[[int], None] | None = None,
) -> Any:
  """Returns the answer of a module.

  Args:
    module: Such as 'launch.benchmarks.measurement'.
    request: A dataclass.
    environment: Variables besides those of this process.
    while_running: Is called with the id of the process time and again.

  Raises:
    RuntimeError: If the process failed.
  """
  child = subprocess.Popen(
    [sys.executable, '-m', module, json.dumps(dataclasses.asdict(request))],
    env={
      **os.environ,
      'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
      **(environment or {}),
    },
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )
  with child:
    try:
      stdout, stderr = _communicate(child, while_running)
    except BaseException:
      child.kill()
      raise
  if child.returncode:
    raise RuntimeError(
      f'The measurement of {request} ended with code {child.returncode}:\n'
      f'{stderr}'
    )
  return json.loads(stdout.splitlines()[-1])


def _communicate(
  child: subprocess.Popen[str], while_running: Callable[[int], None] | None
) -> tuple[str, str]:
  """Returns the process's stdout and stderr at its end."""
  if while_running is None:
    return child.communicate()
  while True:
    try:
      return child.communicate(timeout=_SECONDS_BETWEEN_CALLS)
    except subprocess.TimeoutExpired:
      while_running(child.pid)
