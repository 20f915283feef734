# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder: one list of runs, one process that works on it.

It holds sweep.json, runs/ (a workdir of launch.train each), logs/, usage.json,
runs.csv, table.csv, table.md and plots/. Plain Python, without TensorFlow.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import csv
import fcntl
import json
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from launch.methods import config_checks
from launch.sweeps import plan as plan_lib

_LOCK_NAME = '.lock'
_TEMPORARY_SUFFIX = '.partial'
_RUN_FIELDS = ('variant', 'fields', 'config')
_MAX_DIFFERENCES_SHOWN = 5


class SweepFolder:
  """The paths of a sweep's folder, and what is in them."""

  def __init__(self, path: str | os.PathLike[str]) -> None:
    self.path = pathlib.Path(path)

  @property
  def sweep_path(self) -> pathlib.Path:
    return self.path / 'sweep.json'

  @property
  def usage_path(self) -> pathlib.Path:
    return self.path / 'usage.json'

  @property
  def plots_path(self) -> pathlib.Path:
    return self.path / 'plots'

  def workdir(self, name: str) -> pathlib.Path:
    """Returns a run's workdir."""
    return self.path / 'runs' / name

  def log_path(self, name: str) -> pathlib.Path:
    """Returns the file with what a run has printed."""
    return self.path / 'logs' / f'{name}.log'

  def read_runs(self) -> dict[str, Mapping[str, Any]]:
    """Returns what sweep.json says of every run, by name.

    Each has `variant`, `fields` and `config`.

    Raises:
      errors.InputError: If the folder is not that of a sweep.
    """
    runs = (_read_json(self.sweep_path) or {}).get('runs')
    if not isinstance(runs, dict) or not all(
      isinstance(run, dict) and run.keys() >= set(_RUN_FIELDS)
      for run in runs.values()
    ):
      raise errors.InputError(
        f'{self.path} is not the folder of a sweep: it has no readable '
        f'{self.sweep_path.name}.'
      )
    return runs

  def read_failed(self) -> list[str]:
    """Returns the runs that runs.csv tells to have failed."""
    try:
      with open(self.path / 'runs.csv', encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    except FileNotFoundError:
      return []
    except OSError as error:
      raise errors.InputError(
        f'Cannot read {self.path / "runs.csv"}: {error.strerror}.'
      ) from error
    return [row['run'] for row in rows if row.get('status') == 'failed']

  def read_summary(
    self, name: str, config: Mapping[str, Any]
  ) -> Mapping[str, Any] | None:
    """Returns a run's summary.json; None unless the run is finished.

    Args:
      name: The run.
      config: Its config; that of another one does not count.
    """
    workdir = self.workdir(name)
    if _read_json(workdir / 'config.json') != plan_lib.to_json(config):
      return None
    summary = _read_json(workdir / 'summary.json')
    if summary is None or summary.get('rounds') != config['rounds']:
      return None
    return summary

  def read_data_fingerprint(self, name: str) -> Mapping[str, str] | None:
    """Returns what tells a run's data from others; None if it has not begun."""
    return _read_json(self.workdir(name) / 'data_fingerprint.json')

  def is_evaluated(self, name: str, config: Mapping[str, Any]) -> bool:
    """Whether launch.evaluate has scored the run's last model."""
    path = self.workdir(name) / 'evaluation' / 'summary.csv'
    try:
      with open(path, encoding='utf-8', newline='') as file:
        row = next(csv.DictReader(file), {})
    except OSError:
      return False
    return row.get('round') == str(config['rounds'])

  def read_usage(self) -> dict[str, dict[str, float]]:
    """Returns the seconds and the peak of memory of runs, by name."""
    return _read_json(self.usage_path) or {}

  def write_usage(self, usage: Mapping[str, Mapping[str, float]]) -> None:
    """Writes what `read_usage` reads."""
    write_text(self.usage_path, json.dumps(usage, indent=2) + '\n')


@contextlib.contextmanager
def open_folder(
  path: str | os.PathLike[str],
  source: str,
  runs: Sequence[plan_lib.PlannedRun],
) -> Iterator[SweepFolder]:
  """Opens a new or existing folder for the only process that works on it.

  Args:
    path: The folder; made if need be.
    source: `<config file>:<sweep>`, noted for people.
    runs: All runs; those that are in the folder already and maybe more.

  Yields:
    The folder. The kernel frees its lock however the process ends.

  Raises:
    errors.InputError: If the folder holds another sweep or something else, is
      in use by another process, or cannot be written.
  """
  folder = SweepFolder(path)
  check_folder(folder, runs)
  try:
    for name in ('runs', 'logs'):
      (folder.path / name).mkdir(parents=True, exist_ok=True)
    lock = open(folder.path / _LOCK_NAME, 'ab')
  except OSError as error:
    raise _unwritable(folder.path, error) from error
  with lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
      raise errors.InputError(
        f'{folder.path} is in use by another launch.sweep; wait until it ends.'
      ) from error
    content = {
      'config': source,
      'runs': {
        run.name: {
          'variant': run.variant,
          'fields': run.fields,
          'config': run.config,
        }
        for run in runs
      },
    }
    write_text(folder.sweep_path, json.dumps(content, indent=2) + '\n')
    yield folder


def check_folder(
  folder: SweepFolder, runs: Sequence[plan_lib.PlannedRun]
) -> None:
  """Refuses a folder of something else, and of other runs.

  Args:
    folder: The folder; it need not exist.
    runs: The runs that are to be in it.

  Raises:
    errors.InputError: If so.
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
    ours = (_LOCK_NAME, 'runs', 'logs')
    foreign = [
      n for n in entries if n not in ours and not n.endswith(_TEMPORARY_SUFFIX)
    ]
    if foreign:
      raise errors.InputError(
        f'{folder.path} is not empty and not the folder of a sweep (it holds '
        f'{foreign[0]!r}, but no {folder.sweep_path.name}); choose another '
        '--sweep_dir. Nothing was changed.'
      )
    return
  asked = {run.name: run for run in runs}
  differences = []
  for name, there in folder.read_runs().items():
    if name not in asked:
      differences.append(f'run {name} is not among those asked for')
      continue
    old = config_checks.flatten(there['config'])
    new = config_checks.flatten(plan_lib.to_json(asked[name].config))
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


def write_text(path: pathlib.Path, text: str) -> None:
  """Writes a file, whole or not at all.

  Args:
    path: The file; its folder exists.
    text: All of the new content.

  Raises:
    errors.InputError: If it cannot be written; the old content is intact.
  """
  temporary = path.with_name(path.name + _TEMPORARY_SUFFIX)
  try:
    with open(temporary, 'w', encoding='utf-8') as file:
      file.write(text)
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, path)
  except OSError as error:
    raise _unwritable(path, error) from error


def _unwritable(path: pathlib.Path, error: OSError) -> errors.InputError:
  return errors.InputError(f'Cannot write {path}: {error.strerror}.')


def _read_json(path: pathlib.Path) -> dict[str, Any] | None:
  """Returns the object in a file; None if it is missing or damaged."""
  try:
    content = json.loads(path.read_text(encoding='utf-8'))
    return content if isinstance(content, dict) else None
  except (FileNotFoundError, NotADirectoryError, ValueError):
    return None
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
