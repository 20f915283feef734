# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sweep's folder as its readers see it.

It holds sweep.json, runs/ (a workdir of launch.train each), logs/, usage.json,
runs.csv, table.csv, table.md, table.tex, plots/ and index.html. Plain Python,
without TensorFlow.
"""

from collections.abc import Mapping
import csv
import json
import os
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import simulation

_RUN_FIELDS = ('variant', 'fields', 'config')


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
    for name in runs:
      # A name with .. leads out of the folder.
      if '/' in name or '\0' in name or name in ('', '.', '..'):
        raise errors.InputError(
          f'{self.sweep_path} has a run named {name!r}; the name of a folder in '
          'runs/ was expected.'
        )
    simulation.check_entries(self.path)
    return runs

  def read_source(self) -> str:
    """Returns what sweep.json says that the sweep is: `<config>:<sweep>`."""
    return str((_read_json(self.sweep_path) or {}).get('config', ''))

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
    """Returns what is in a run's summary.json; None unless it is finished.

    Args:
      name: The run.
      config: Its config; that of another one does not count.
    """
    folder = simulation.Workdir(self.workdir(name))
    if _read_json(folder.config_path) != to_json(config):
      return None
    try:
      folder.check_files()
      summary = folder.read_summary()
    except errors.InputError:
      return None
    return summary if summary and is_end(summary, config) else None

  def read_data_fingerprint(self, name: str) -> Mapping[str, str] | None:
    """Returns what tells a run's data from others; None if it has not begun."""
    return _read_json(self.workdir(name) / 'data_fingerprint.json')

  def is_evaluated(self, name: str, config: Mapping[str, Any]) -> bool:
    """Whether launch.evaluate has scored the run's model."""
    summary = self.read_summary(name, config) or {}
    model_round = summary.get('early_stopping', {}).get(
      'model_round', config['rounds']
    )
    path = self.workdir(name) / 'evaluation' / 'summary.csv'
    try:
      with open(path, encoding='utf-8', newline='') as file:
        row = next(csv.DictReader(file), {})
    except OSError:
      return False
    return row.get('round') == str(model_round)

  def read_usage(self) -> dict[str, dict[str, float]]:
    """Returns the seconds and the peak of memory of runs, by name."""
    return _read_json(self.usage_path) or {}


def is_end(summary: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
  """Whether a summary is that of a finished run of a config."""
  stopped = summary.get('early_stopping', {}).get('stopped')
  return summary.get('rounds') == config['rounds'] or stopped is not None


def to_json(value: Any) -> Any:
  """Returns a value as it comes back from a JSON file: tuples as lists."""
  return json.loads(json.dumps(value))


def _read_json(path: pathlib.Path) -> dict[str, Any] | None:
  """Returns the object in a file; None if it is missing or damaged."""
  try:
    content = json.loads(regular_files.read_bytes(path))
    return content if isinstance(content, dict) else None
  except (FileNotFoundError, NotADirectoryError, ValueError):
    return None
  except OSError as error:
    raise errors.InputError(f'Cannot read {path}: {error.strerror}.') from error
