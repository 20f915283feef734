# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Additional metrics managers, which also receive each round's row."""

import asyncio
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import traceback
from typing import Any

from fedfish_tff import errors
from fedfish_tff import plug_ins
from fedfish_tff import simulation
from fedfish_tff import trust

import tensorflow_federated as tff

ENTRY_POINTS = 'fedfish_tff.metrics_managers'
_FLAG = '--metrics_managers'

Manager = tff.program.ReleaseManager[Mapping[str, Any], int]
# A function from a run's folder to the manager that receives its rows.
ManagerFn = Callable[[simulation.Workdir], Manager]

# The managers of this package, by name.
_OURS: Mapping[str, ManagerFn] = {'wandb': simulation.WandbManager}


class NamedManager(tff.program.ReleaseManager[Mapping[str, Any], int]):
  """A manager with errors of one sentence that begin with its name."""

  def __init__(
    self, name: str, create: ManagerFn, workdir: simulation.Workdir
  ) -> None:
    """Creates the manager.

    Args:
      name: The name with which it was requested, for errors.
      create: The function that creates it.
      workdir: The run's folder.
    """
    self._name = name
    try:
      self._manager = create(workdir)
    except errors.InputError:
      raise
    except (Exception, SystemExit) as error:
      raise self._error('cannot be created', error) from error
    if not isinstance(self._manager, tff.program.ReleaseManager):
      raise errors.InputError(
        f'{_FLAG} must name a function that returns a '
        f'tff.program.ReleaseManager, got {name!r}, which returns a '
        f'{type(self._manager).__name__}.'
      )

  async def release(self, value: Mapping[str, Any], key: int) -> None:
    """Releases the row of a round to the manager."""
    try:
      # A copy, so that the manager cannot change the row for others.
      await self._manager.release(dict(value), key)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
      raise self._error(f'has failed in round {key}', error) from error

  def _error(self, what: str, error: BaseException) -> errors.InputError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = ' '.join(str(error).split())
    return errors.InputError(
      f'{_FLAG} names {self._name!r}, which {what}: {type(error).__name__}: '
      f'{text} (line {last.lineno} of {last.filename}).'
    )


def load(names: Sequence[str]) -> dict[str, ManagerFn]:
  """Imports managers by name; returns the functions that create them.

  Args:
    names: The names, each wandb, package.module:NAME, or an entry point of the
      group fedfish_tff.metrics_managers. A name refers to a function or class
      that takes the run's `simulation.Workdir` and returns a
      `tff.program.ReleaseManager`.
  """
  return {
    name: _OURS.get(name)
    or plug_ins.load(
      name,
      field=_FLAG,
      # The names are those of a flag, whatever config there is.
      trust=trust.PYTHON,
      group=ENTRY_POINTS,
      known=lambda: _OURS,
      is_one=callable,
      expected='a function that returns a tff.program.ReleaseManager',
    )
    for name in names
  }
