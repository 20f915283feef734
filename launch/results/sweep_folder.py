# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a sweep, for its readers.

It holds sweep.json, runs/ with a workdir of launch.train for each run, logs/,
usage.json, runs.csv, table.csv, table.md, table.tex, plots/ and index.html; and
tuning/, the folder of the sweep that has tuned it, if one command did both.
This is plain Python, without TensorFlow.
"""

from collections.abc import Mapping
import json
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation
from launch.results import checked_tables
from launch.results import run_labels
from launch.results import run_reader

# The form of runs in sweep.json.
_RUNS = {
  ...: {
    'variant': str,
    'fields': dict,
    'config': run_reader.CONFIG,
    'method': run_reader.METHOD,
  }
}
# The form of sweep.json.
_SWEEP = {
  'config': str,
  # The fields whose best values are chosen; learning rates by default.
  'tuned': ([str], None),
  # What the table tells beside the results.
  'notes': ([str], None),
  'runs': _RUNS,
  # The runs with values that were the best before the tuning had more runs.
  'superseded': (_RUNS, None),
}
# The folder of the sweep that has tuned this one.
TUNING = 'tuning'
_USAGE = {...: {'seconds': float, 'peak_bytes': float}}


class SweepFolder:
  """The paths of a sweep's folder and their contents."""

  def __init__(self, path: str | os.PathLike[str]) -> None:
    self.path = pathlib.Path(path)
    self.sweep_path = self.path / 'sweep.json'
    self.usage_path = self.path / 'usage.json'
    self.plots_path = self.path / 'plots'
    self.tuning_path = self.path / TUNING

  def workdir(self, name: str) -> pathlib.Path:
    """Returns the workdir of a run."""
    return self.path / 'runs' / name

  def log_path(self, name: str) -> pathlib.Path:
    """Returns the path of a run's log."""
    return self.path / 'logs' / f'{name}.log'

  def read_runs(self) -> dict[str, Mapping[str, Any]]:
    """Returns the entries of all runs in sweep.json, by name.

    Each entry has `variant`, `fields`, `config` and `method`, the notes of
    `method_notes.describe`.
    """
    runs = self._read_runs('runs')
    if not runs:
      raise errors.InputError(f'{self.sweep_path} has no run.')
    return runs

  def read_superseded(self) -> dict[str, Mapping[str, Any]]:
    """Returns the entries of runs that were judged before, by name.

    They have values of tuned fields that were the best until the tuning had
    more runs.
    """
    return self._read_runs('superseded')

  def _read_runs(self, part: str) -> dict[str, Mapping[str, Any]]:
    runs = self._read_sweep().get(part) or {}
    for name in runs:
      # A name such as .. would lead out of the folder.
      if '/' in name or '\0' in name or name in ('', '.', '..'):
        raise errors.InputError(
          f'{self.sweep_path} must name the folders in runs/, got a run named '
          f'{name!r}.'
        )
    return runs

  def read_source(self) -> str:
    """Returns the source of the sweep in sweep.json: `<config>:<sweep>`."""
    return self._read_sweep()['config']

  def read_tuned(self) -> tuple[str, ...]:
    """Returns the fields of which the best values are chosen."""
    return tuple(self._read_sweep().get('tuned') or run_labels.RATES)

  def read_notes(self) -> list[str]:
    """Returns the sentences on how the sweep's runs were tuned."""
    return self._read_sweep().get('notes') or []

  def _read_sweep(self) -> dict[str, Any]:
    try:
      return regular_files.read_json(self.sweep_path, _SWEEP)
    except regular_files.MissingFileError:
      raise errors.InputError(
        f'{self.path} is not the folder of a sweep: it has no '
        f'{self.sweep_path.name}.'
      ) from None

  def read_failed(self) -> list[str]:
    """Returns the names of the runs that have failed according to runs.csv."""
    try:
      rows = regular_files.read_csv(self.path / 'runs.csv', ['run', 'status'])
    except regular_files.MissingFileError:
      return []
    return [row['run'] for _, row in rows if row['status'] == 'failed']

  def read_summary(
    self, name: str, config: Mapping[str, Any]
  ) -> Mapping[str, Any] | None:
    """Returns the content of a run's summary.json; None unless it is finished.

    A run of another config does not count.
    """
    folder = simulation.Workdir(self.workdir(name))
    try:
      if folder.read_config() != to_json(config):
        return None
      folder.check_files()
      summary = folder.read_summary(run_reader.SUMMARY)
    except errors.InputError:  # A damaged run is made again.
      return None
    return summary if summary and is_end(summary, config) else None

  def read_data_fingerprint(self, name: str) -> Mapping[str, str] | None:
    """Returns the fingerprint of a run's data; None if it has not begun."""
    return simulation.Workdir(self.workdir(name)).read_data_fingerprint()

  def is_evaluated(self, name: str, config: Mapping[str, Any]) -> bool:
    """Returns whether launch.evaluate has scored the run's model."""
    summary = self.read_summary(name, config)
    path = self.workdir(name) / 'evaluation' / 'summary.csv'
    try:
      rows = checked_tables.read_table(path, ['round'])
    except errors.InputError:  # A damaged evaluation is made again.
      return False
    expected = str(summary['model_round']) if summary else None
    return bool(rows) and rows[0][1]['round'] == expected

  def read_usage(self) -> dict[str, dict[str, float]]:
    """Returns the seconds and peak memory of runs, by name."""
    try:
      return regular_files.read_json(self.usage_path, _USAGE)
    except regular_files.MissingFileError:
      return {}


def is_end(summary: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
  """Returns whether a summary is that of a finished run of a config."""
  return summary['rounds'] == config['rounds'] or (
    summary['status'] != 'finished'
  )


def to_json(value: Any) -> Any:
  """Returns a value in the form of JSON, with lists for tuples."""
  return json.loads(json.dumps(value))
