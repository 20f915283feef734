# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls a function that measures in a new process.

The number of threads is fixed when TensorFlow starts, and the memory that a
process took is not given back, so each measurement has a process of its own.
Arguments and answers are JSON.
"""

from collections.abc import Callable
from collections.abc import Mapping
import importlib
import json
import os
import subprocess
import sys
from typing import Any

# Looking at processes takes time, too.
_SECONDS_BETWEEN_CALLS = 0.2


def call(
  function: Callable[..., Any],
  arguments: Mapping[str, Any],
  *,
  environment: Mapping[str, str] | None = None,
  while_running: Callable[[int], None] | None = None,
) -> Any:
  """Returns what a function returns in a new process.

  Args:
    function: Of a module, which imports TensorFlow inside of it.
    arguments: Its arguments by name.
    environment: Variables besides those of this process.
    while_running: Is called with the id of the process time and again.

  Raises:
    RuntimeError: If the process failed.
  """
  name = f'{function.__module__}.{function.__qualname__}'
  child = subprocess.Popen(
    [sys.executable, '-m', __name__, name, json.dumps(arguments)],
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
      f'{name} of {arguments} ended with code {child.returncode}:\n{stderr}'
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


def main(argv: list[str]) -> None:
  """Calls the function that `argv` names; prints the answer as the last line."""
  module, _, name = argv[1].rpartition('.')
  function = getattr(importlib.import_module(module), name)
  print(json.dumps(function(**json.loads(argv[2]))), flush=True)


if __name__ == '__main__':
  main(sys.argv)
