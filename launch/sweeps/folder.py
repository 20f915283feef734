# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Opens a sweep's folder for one list of runs and one process.

This is plain Python, without TensorFlow. `results.sweep_folder` reads the
folder.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import itertools
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
  chosen: Sequence[str] = (),
  notes: Sequence[str] = (),
) -> Iterator[sweep_folder.SweepFolder]:
  """Opens a new or existing folder for the only process that works on it.

  Args:
    path: The folder; it is made if needed.
    source: The source of the runs, `<config file>:<sweep>`, noted for people.
    runs: All runs, which `fit_runs` finds in the folder.
    tuned: The fields whose best values the runs are to find; none for the usual
      ones.
    chosen: The fields whose values a tuning has chosen, as for `fit_runs`.
    notes: The sentences on tuning for the sweep's table.

  Yields:
    The folder. The kernel releases its lock however the process ends.
  """
  folder = sweep_folder.SweepFolder(path)
  fitted = fit_runs(folder, runs, chosen=chosen)
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
    if fit_runs(folder, runs, chosen=chosen) != fitted:
      raise errors.InputError(
        f'{folder.path} must stay as it is until this command has locked it, got '
        'other runs from another launch.sweep; the same command continues.'
      )
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
        for run in fitted.runs
      },
      'superseded': fitted.superseded,
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


@dataclasses.dataclass(frozen=True)
class Fitted:
  """The runs of a sweep with the names that they have in its folder.

  Attributes:
    runs: The runs, with their names in the folder.
    superseded: The entries in sweep.json of other runs by name: their values of
      tuned fields were the best before.
  """

  runs: tuple[plan_lib.PlannedRun, ...]
  superseded: Mapping[str, Any]


def fit_runs(
  folder: sweep_folder.SweepFolder,
  runs: Sequence[plan_lib.PlannedRun],
  *,
  chosen: Sequence[str] = (),
) -> Fitted:
  """Finds runs in a folder by their configs, since names follow from all runs.

  Args:
    folder: The folder, which need not exist.
    runs: All runs: those already in the folder, and possibly more.
    chosen: The fields whose values a tuning chooses. A run in the folder with
      another value is superseded.
  """
  if not _is_sweep(folder):
    return Fitted(tuple(runs), {})
  current = folder.read_runs()
  there = {**folder.read_superseded(), **current}
  names = {_key(entry['config']): name for name, entry in there.items()}
  fitted, taken = [], set(there)
  for run in runs:
    name = names.get(_key(run.config.values)) or _free_name(run.name, taken)
    taken.add(name)
    fitted.append(dataclasses.replace(run, name=name))
  left = there.keys() - {run.name for run in fitted}
  asked = {_key(run.config.values, chosen) for run in runs}
  lost = [
    name
    for name in current
    if name in left and _key(current[name]['config'], chosen) not in asked
  ]
  if lost:
    raise errors.InputError(
      f'{folder.path} holds another sweep: '
      f'{_tell_differences(current, lost, runs, chosen)}. A command may add '
      'runs to those there, not leave any out. Choose another --sweep_dir.'
    )
  return Fitted(
    tuple(fitted), {n: entry for n, entry in there.items() if n in left}
  )


def find_chosen(
  folder: sweep_folder.SweepFolder,
  runs: Sequence[plan_lib.PlannedRun],
  chosen: Sequence[str],
) -> list[dict[str, Any]]:
  """Returns the values of tuned fields that each run has in a folder.

  Args:
    folder: The folder of the sweep, which need not exist.
    runs: The runs before they are tuned.
    chosen: The fields whose values a tuning chooses.

  Returns:
    A mapping for each run, empty if the folder lacks the run.
  """
  there = folder.read_runs() if folder.sweep_path.exists() else {}
  values = {
    _key(entry['config'], chosen): {
      f: value for f, value in entry['fields'].items() if f in chosen
    }
    for entry in there.values()
  }
  return [values.get(_key(run.config.values, chosen), {}) for run in runs]


def _is_sweep(folder: sweep_folder.SweepFolder) -> bool:
  """Returns whether a folder holds a sweep; refuses one with something else."""
  try:
    entries = sorted(p.name for p in folder.path.iterdir())
  except FileNotFoundError:
    return False
  except OSError as error:
    raise errors.InputError(
      f'Cannot read {folder.path}: {error.strerror}.'
    ) from error
  if folder.sweep_path.exists():
    return True
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
  return False


def _key(config: Mapping[str, Any], besides: Sequence[str] = ()) -> str:
  """Returns a text that equal configs share, whatever some fields are."""
  values = json_config.flatten(sweep_folder.to_json(config))
  return json.dumps(_without(values, besides), sort_keys=True)


def _without(
  values: Mapping[str, Any], fields: Sequence[str]
) -> dict[str, Any]:
  return {f: value for f, value in values.items() if f not in fields}


def _free_name(name: str, taken: Collection[str]) -> str:
  """Returns a name, or it with the first number that makes another one."""
  names = (f'{name}-{i}' if i else name for i in itertools.count())
  return next(own for own in names if own not in taken)


def _tell_differences(
  there: Mapping[str, Any],
  lost: Sequence[str],
  runs: Sequence[plan_lib.PlannedRun],
  chosen: Sequence[str],
) -> str:
  """Returns words on how the runs that are asked for differ from a folder's.

  Args:
    there: The entries of the folder's runs by name.
    lost: The names of those that are not asked for.
    runs: The runs that are asked for.
    chosen: The fields whose values are not compared.
  """
  fields = [*(of['fields'] for of in there.values()), *(r.fields for r in runs)]
  varied = _without(dict.fromkeys(itertools.chain(*fields)), chosen)

  def describe(variant: str, config: Mapping[str, Any]) -> dict[str, Any]:
    own = json_config.flatten(sweep_folder.to_json(config))
    return {'method': variant, **{f: own[f] for f in varied if f in own}}

  values = {n: describe(of['variant'], of['config']) for n, of in there.items()}
  asked = [describe(run.variant, run.config.values) for run in runs]
  # The same run of another config, by its name or by its values.
  configs = {json.dumps(v): run.config for v, run in zip(asked, runs)}
  configs |= {run.name: run.config for run in runs}
  pairs = {
    name: configs.get(name) or configs.get(json.dumps(values[name]))
    for name in lost
  }
  if not all(pairs.values()):
    differences = _compare_values(list(values.values()), asked) or [
      'its runs are other combinations of the same values'
    ]
  else:
    differences = []
    for name, config in pairs.items():
      old = json_config.flatten(there[name]['config'])
      new = json_config.flatten(sweep_folder.to_json(config.values))
      differences += [
        f'{field} of run {name} is {old.get(field, "absent")} there, '
        f'{new.get(field, "absent")} asked for'
        for field in _without(dict.fromkeys([*new, *old]), chosen)
        if old.get(field) != new.get(field) or (field in old) != (field in new)
      ]
  more = len(differences) - _MAX_DIFFERENCES_SHOWN
  return '; '.join(differences[:_MAX_DIFFERENCES_SHOWN]) + (
    f'; and {more} more differences' if more > 0 else ''
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
