# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Opens a sweep's folder for one list of runs and one process.

This is plain Python, without TensorFlow. `results.sweep_folder` reads the
folder.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff import simulation
from fedfish_tff.simulation import files
from launch import json_config
from launch.results import sweep_folder
from launch.sweeps import plan as plan_lib

_MAX_DIFFERENCES_SHOWN = 5
# The folders to which other processes may write.
_OTHERS = ('runs', sweep_folder.TUNING)


@contextlib.contextmanager
def open_folder(
  path: str | os.PathLike[str],
  source: str,
  runs: Sequence[plan_lib.PlannedRun],
  *,
  tuned: Sequence[str] = (),
  notes: Sequence[str] = (),
) -> Iterator[sweep_folder.SweepFolder]:
  """Opens a new or existing folder for the only process that works on it.

  Args:
    path: The folder; it is made if needed.
    source: The source of the runs, `<config file>:<sweep>`, noted for people.
    runs: All runs: those already in the folder, and possibly more, unless
      fields are tuned.
    tuned: The fields whose best values the runs are to find; none for the usual
      ones.
    notes: The sentences on tuning for the sweep's table.

  Yields:
    The folder. The kernel releases its lock however the process ends.

  Raises:
    errors.InputError: If the folder holds another sweep or something else, is
      in use by another process, or cannot be written.
  """
  folder = sweep_folder.SweepFolder(path)
  check_folder(folder, runs, is_tuning=bool(tuned))
  files.check_entries(folder.path, is_read=_is_read)
  try:
    for name in ('runs', 'logs'):
      (folder.path / name).mkdir(parents=True, exist_ok=True)
  except OSError as error:
    raise files.unwritable_error(folder.path, error) from error
  in_use = (
    f'{folder.path} is in use by another launch.sweep; wait until it ends.'
  )
  with files.locked_folder(folder.path, in_use=in_use, skipped=_OTHERS):
    content = {
      'config': source,
      'tuned': list(tuned),
      'notes': list(notes),
      'runs': {
        run.name: {
          'variant': run.variant,
          'fields': run.fields,
          'config': run.config.values,
          'method': run.config.notes,
        }
        for run in runs
      },
    }
    files.write_atomically(
      folder.sweep_path, f'{json.dumps(content, indent=2)}\n'.encode()
    )
    yield folder


def _is_read(path: pathlib.PurePath) -> bool:
  """Returns whether a path in a sweep's folder is read or written."""
  if path.parts[0] == sweep_folder.TUNING:
    return len(path.parts) == 1  # It is checked as a folder of its own.
  in_run = path.parts[2:] if path.parts[0] == 'runs' else ()
  return not in_run or simulation.Workdir.is_read(pathlib.PurePath(*in_run))


def check_folder(
  folder: sweep_folder.SweepFolder,
  runs: Sequence[plan_lib.PlannedRun],
  *,
  is_tuning: bool = False,
) -> None:
  """Refuses a folder with other runs or with something else.

  Args:
    folder: The folder, which need not exist.
    runs: The runs that the folder is for.
    is_tuning: Whether runs tune others, so that none may be added.

  Raises:
    errors.InputError: If the folder is refused or cannot be read.
  """
  try:
    entries = sorted(p.name for p in folder.path.iterdir())
  except FileNotFoundError:
    return
  except OSError as error:
    raise errors.InputError(
      f'Cannot read {folder.path}: {error.strerror}.'
    ) from error
  if not folder.sweep_path.exists():
    ours = (files.LOCK_NAME, 'runs', 'logs', sweep_folder.TUNING)
    foreign = [
      n for n in entries if n not in ours and not new_files.is_temporary(n)
    ]
    if foreign:
      raise errors.InputError(
        f'{folder.path} is not empty and not the folder of a sweep (it holds '
        f'{foreign[0]!r}, but no {folder.sweep_path.name}); choose another '
        '--sweep_dir. Nothing was changed.'
      )
    return
  asked = {run.name: run for run in runs}
  found = folder.read_runs()
  differences = []
  if found.keys() - asked.keys() or (
    is_tuning and found.keys() != asked.keys()
  ):
    differences = _compare_values(
      [{'method': r['variant'], **r['fields']} for r in found.values()],
      [{'method': run.variant, **run.fields} for run in runs],
    ) or ['its runs are other combinations of the same values']
  for name in found.keys() & asked.keys() if not differences else ():
    old = json_config.flatten(found[name]['config'])
    new = json_config.flatten(sweep_folder.to_json(asked[name].config.values))
    differences += [
      f'{field} of run {name} is {old.get(field, "absent")} there, '
      f'{new.get(field, "absent")} asked for'
      for field in dict.fromkeys([*new, *old])
      if old.get(field) != new.get(field) or (field in old) != (field in new)
    ]
  if differences:
    more = len(differences) - _MAX_DIFFERENCES_SHOWN
    raise errors.InputError(
      f'{folder.path} holds another sweep: '
      f'{"; ".join(differences[:_MAX_DIFFERENCES_SHOWN])}'
      + (f'; and {more} more differences' if more > 0 else '')
      + '. Choose another --sweep_dir.'
    )


def _compare_values(
  there: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]
) -> list[str]:
  """Returns the fields that runs there and those asked for set otherwise."""
  found = []
  for field in dict.fromkeys(f for run in (*there, *asked) for f in run):
    # As in JSON, where tuples are lists.
    values = [
      list(dict.fromkeys(json.dumps(run[field]) for run in of if field in run))
      for of in (there, asked)
    ]
    if set(values[0]) != set(values[1]):
      old, new = (', '.join(of).replace('"', '') or 'not set' for of in values)
      found.append(f'{field} is {old} there, {new} asked for')
  return found
