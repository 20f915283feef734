# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A run's folder, with one config and one writer.

It holds config.json, data_fingerprint.json, data.json, metrics.csv,
checkpoints/ and tensorboard/; a finished run also has summary.json, plots/ and
model.safetensors, its model's weights by name. A run with a start has start.npz,
and start/ for a fine-tuning; a run with client states client_states.sqlite; and
a run that Weights & Biases logs wandb_id.txt and wandb/. Other files are never
touched.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
from typing import Any

from fedfish_tff import errors
from fedfish_tff import new_files
from fedfish_tff import regular_files
from fedfish_tff.simulation import checked_json
from fedfish_tff.simulation import checkpoint_manifest
from fedfish_tff.simulation import files
from fedfish_tff.simulation import metrics_rows

# The workdir of the run that a fine-tuning starts from.
_START_NAME = 'start'
# The entry that the package wandb owns: it holds links to that package's cache.
_WANDB_NAME = 'wandb'
# The entries that --overwrite removes. The checkpoints go first, since resuming
# from them needs the rest; the config goes last, since it marks the folder.
_OWN_NAMES = (
  'checkpoints',
  'client_states.sqlite',
  'client_states.sqlite-journal',
  'client_states.sqlite-wal',
  'client_states.sqlite-shm',
  'summary.json',
  'model.safetensors',
  'plots',
  'evaluation',
  'export',
  'regularization.csv',
  'start.npz',
  _START_NAME,
  'tensorboard',
  _WANDB_NAME,
  'wandb_id.txt',
  'metrics.csv',
  'data_fingerprint.json',
  'data.json',
  'config.json',
)
# A folder is a workdir if its config.json has at least these fields.
_MARKING_FIELDS = frozenset(('algorithm', 'task', 'seed', 'rounds'))
_MAX_DIFFERENCES_SHOWN = 5
# The line of config.json that a run of more rounds changes.
_ROUNDS = re.compile(rb'^  "rounds": \d+', re.MULTILINE)
# The form of data.json.
_DATA = {'data_dir': (str, None), 'synthetic': (str, None)}


def _entry(name: str) -> property:
  """Returns a property of `Workdir`: the path of an entry of the folder."""

  def path(workdir: 'Workdir') -> pathlib.Path:
    return workdir.path / name

  return property(path)


@dataclasses.dataclass(frozen=True)
class Workdir:
  """The paths of a run's folder."""

  path: pathlib.Path

  config_path = _entry('config.json')
  data_fingerprint_path = _entry('data_fingerprint.json')
  data_path = _entry('data.json')
  metrics_path = _entry('metrics.csv')
  checkpoints_path = _entry('checkpoints')
  client_states_path = _entry('client_states.sqlite')
  tensorboard_path = _entry('tensorboard')
  summary_path = _entry('summary.json')
  model_path = _entry('model.safetensors')
  plots_path = _entry('plots')
  wandb_path = _entry(_WANDB_NAME)
  wandb_id_path = _entry('wandb_id.txt')
  start_path = _entry('start.npz')

  @staticmethod
  def is_read(path: pathlib.PurePath) -> bool:
    """Returns whether runs read or write a path in their workdir."""
    name = path.parts[0]
    return name == files.LOCK_NAME or name in _OWN_NAMES and name != _WANDB_NAME

  def check_entries(self) -> None:
    """Checks the entries that runs read or write by `files.check_entries`."""
    files.check_entries(self.path, is_read=self.is_read)

  def read_config(self) -> dict[str, Any]:
    """Returns the config of the run that the folder must hold."""
    config = _read_config(self.config_path)
    if config is None:
      raise errors.InputError(
        f'{self.path} is not a workdir: it has no readable config.json of a '
        'run.'
      )
    return config

  def read_data(self, form: Mapping[Any, Any] | None = None) -> dict[str, Any]:
    """Returns the notes on the data, such as its folder; {} without notes.

    Args:
      form: The form of what else is noted, which `regular_files.read_json`
        compares; None for any.
    """
    try:
      return checked_json.read(self.data_path, {**_DATA, **(form or {})})
    except regular_files.MissingFileError:
      return {}

  def read_data_fingerprint(self) -> dict[str, str] | None:
    """Returns the fingerprint of the run's data; None if there is none."""
    try:
      return regular_files.read_json(self.data_fingerprint_path, {...: str})
    except regular_files.MissingFileError:
      return None

  def digests(
    self,
    round_number: int | None = None,
    metrics_digest: Callable[[int], str | None] | None = None,
    *,
    with_times: bool = True,
  ) -> dict[str, str]:
    """Returns digests of the files that identify a run, and of its rows.

    The digest of config.json leaves out `rounds`, since a run may go on.

    Args:
      round_number: The round up to which rows count; None to leave out the
        rows.
      metrics_digest: The function from a round to the digest of metrics.csv up
        to it, such as `CsvMetricsManager.digest`; None to read the file.
      with_times: Whether times count: the columns of times in metrics.csv, and
        start.npz, which has the seconds that the start took.

    Returns:
      The SHA-256 digests in hexadecimal, by the names of existing files.
    """
    digests = {
      path.name: regular_files.digest(path, **limit)
      for path, limit in (
        (self.data_fingerprint_path, {}),
        # The tensors of a model of any size.
        *([(self.start_path, {'most_bytes': math.inf})] if with_times else ()),
      )
      if path.exists()
    }
    if self.config_path.exists():
      config = regular_files.read_bytes(self.config_path)
      digests[self.config_path.name] = hashlib.sha256(
        _ROUNDS.sub(b'', config, count=1)
      ).hexdigest()
    if round_number is None:
      return digests
    if metrics_digest is None and self.metrics_path.exists():
      cells = metrics_rows.read_cells(self.metrics_path)
      metrics_digest = metrics_rows.chain_digests(
        cells.columns, cells.rows, with_times=with_times
      ).get
    digest = metrics_digest and metrics_digest(round_number)
    return digests | ({self.metrics_path.name: digest} if digest else {})

  def check_files(self) -> None:
    """Checks that no file has changed since the last checkpoint was saved."""
    versions = checkpoint_manifest.read_manifests(self.checkpoints_path)
    if not versions:
      return
    last = max(versions)
    changed = checkpoint_manifest.changed_file(
      versions[last]['run'], self.digests(last)
    )
    if changed is None:
      return
    path = self.path / changed
    what = 'not what it was' if path.exists() else 'missing, but was there'
    advice = 'restore it, or start afresh with --overwrite'
    if path == self.metrics_path and path.exists():
      advice = (
        'restore it, or train again: launch.train goes on from the checkpoint '
        'before, if it belongs to that'
      )
    raise errors.InputError(
      f'{path} is {what} when the checkpoint of round {last} was saved; '
      f'{advice}.'
    )

  def write_summary(self, summary: Mapping[str, Any]) -> None:
    """Writes summary.json atomically, with the run's digests and a checksum.

    Args:
      summary: The content, with the last round as `rounds`.
    """
    run = self._digests_of_summary(summary['rounds'])
    files.write_atomically(
      self.summary_path,
      _to_json(checked_json.add_checksum({**summary, 'run': run})),
    )

  def read_summary(
    self, form: Mapping[Any, Any] | None = None
  ) -> dict[str, Any]:
    """Returns the content of summary.json; {} before the run is finished.

    A summary that was changed, or is of another run or other rows of
    metrics.csv, is an error.

    Args:
      form: The form that it must have, which `regular_files.read_json`
        compares; None for any form.
    """
    path = self.summary_path
    try:
      summary = checked_json.read(
        path, {'rounds': int, **(form or {}), 'run': {...: str}}
      )
    except regular_files.MissingFileError:
      return {}
    rounds = summary['rounds']
    changed = checkpoint_manifest.changed_file(
      summary.pop('run'), self._digests_of_summary(rounds)
    )
    if changed is not None:
      raise errors.InputError(
        f'{path} is that of another run, or {changed} is not what it was after '
        f'round {rounds}, the last; restore what was changed, or train again: '
        'launch.train writes it anew.'
      )
    return summary

  def _digests_of_summary(self, rounds: int) -> dict[str, str]:
    # Without times, so that runs of one config have the same digests.
    digests = self.digests(rounds, with_times=False)
    # A summary is that of a number of rounds.
    if self.config_path.exists():
      digests[self.config_path.name] = regular_files.digest(self.config_path)
    return digests

  def check(
    self,
    config: Mapping[str, Any],
    data_fingerprint: Mapping[str, str] | None = None,
    *,
    length_field: str = '',
  ) -> None:
    """Checks that a run may use the folder, as `open_workdir` does.

    The arguments are those of `open_workdir`.
    """
    if not self.path.exists():
      return
    _check_is_ours(self.path)
    existing = _read_config(self.config_path)
    if existing is not None:
      config = json.loads(_to_json(config))
      _check_same_config(self.path, existing, config, length_field)
    if data_fingerprint is not None:
      _check_same_data(self, data_fingerprint)

  def checkpoint_rounds(self) -> list[int]:
    """Returns the rounds of the checkpoints, damaged ones included."""
    return checkpoint_manifest.versions_in(self.checkpoints_path)

  def lengthen(self, rounds: int, *, go_back_to: int) -> None:
    """Makes the run one of more rounds, which is not finished.

    Args:
      rounds: The number of all rounds.
      go_back_to: The round whose later checkpoints are removed.
    """
    folder = self.checkpoints_path
    try:
      for later in self.checkpoint_rounds():
        if later > go_back_to:
          checkpoint_manifest.checkpoint_path(folder, later).unlink()
    except OSError as error:
      raise files.unwritable_error(folder, error) from error
    # A run killed here is one of fewer rounds without a summary.
    for path in (self.summary_path, self.model_path):
      try:
        path.unlink(missing_ok=True)
      except OSError as error:
        raise files.unwritable_error(path, error) from error
    files.write_atomically(
      self.config_path, _to_json({**self.read_config(), 'rounds': rounds})
    )


@contextlib.contextmanager
def open_workdir(
  path: str | os.PathLike[str],
  config: Mapping[str, Any],
  *,
  data_fingerprint: Mapping[str, str] | None = None,
  data: Mapping[str, Any] | None = None,
  overwrite: bool = False,
  length_field: str = '',
) -> Iterator[Workdir]:
  """Opens a new or existing workdir for the only process that writes to it.

  Args:
    path: The folder; created if need be.
    config: The run's config, of JSON values; written before anything else. A
      run of fewer rounds keeps its config until `Workdir.lengthen`.
    data_fingerprint: The fingerprint of each part of the run's data by name,
      made by `datasets.fingerprint`; None to skip the check. Written if the
      workdir has none yet.
    data: The new notes on the data, such as its folder, which may have moved;
      None to keep the earlier notes.
    overwrite: Whether to remove an earlier run first.
    length_field: The dotted name of a field by which rounds depend on the
      number of all rounds, so that none can follow; '' without one.

  Yields:
    The workdir. The kernel frees its lock however the process ends.

  Raises:
    errors.InputError: If the folder holds a run of another config or on other
      data, or anything but a run; is in use by another process; or cannot be
      read or written.
  """
  path = pathlib.Path(path)
  config = json.loads(_to_json(config))
  try:
    path.mkdir(parents=True, exist_ok=True)
    _check_is_ours(path)
    Workdir(path).check_entries()
  except OSError as error:
    raise files.unwritable_error(path, error) from error
  in_use = (
    f'{path} is in use by another process; wait until it ends, or choose '
    'another --workdir.'
  )
  with files.locked_folder(path, in_use=in_use):
    workdir = Workdir(path)
    if overwrite:
      try:
        _remove_run(path)
      except OSError as error:
        raise files.unwritable_error(error.filename or path, error) from error
    else:
      workdir.check(config, data_fingerprint, length_field=length_field)
    if not workdir.config_path.exists():
      files.write_atomically(workdir.config_path, _to_json(config))
    if data_fingerprint is not None:
      if not workdir.data_fingerprint_path.exists():
        files.write_atomically(
          workdir.data_fingerprint_path, _to_json(data_fingerprint)
        )
    if data is not None:
      note = _to_json(checked_json.add_checksum(data))
      files.write_atomically(workdir.data_path, note)
    yield workdir


def _to_json(value: Mapping[str, Any]) -> bytes:
  return (json.dumps(value, indent=2) + '\n').encode()


def _read_config(path: pathlib.Path) -> dict[str, Any] | None:
  """Returns the run's config in a file; None if it holds none."""
  try:
    content = regular_files.read_bytes(path)
  except regular_files.MissingFileError:
    return None
  try:
    config = regular_files.parse_json(content, dict)
  except ValueError:  # Some other file.
    return None
  return config if _MARKING_FIELDS <= config.keys() else None


def _check_is_ours(path: pathlib.Path) -> None:
  """Refuses a folder that holds anything but a run."""
  if _read_config(path / 'config.json') is not None:
    return
  foreign = sorted(
    entry.name
    for entry in path.iterdir()
    if entry.name != files.LOCK_NAME and not new_files.is_temporary(entry)
  )
  if foreign:
    raise errors.InputError(
      f'{path} is not empty and not the workdir of a run (it holds '
      f'{foreign[0]!r}, but no config.json of a run); choose another '
      '--workdir. Nothing was changed.'
    )


def _remove_run(path: pathlib.Path) -> None:
  """Removes an earlier run's files but no others."""
  for name in _OWN_NAMES:
    entry = path / name
    if entry.is_dir() and not entry.is_symlink():
      if name == _START_NAME:
        # It is a workdir itself, so the file that marks it goes last.
        _remove_run(entry)
      shutil.rmtree(entry)
    else:
      entry.unlink(missing_ok=True)


def _check_same_config(
  path: pathlib.Path,
  existing: Mapping[str, Any],
  config: Mapping[str, Any],
  length_field: str,
) -> None:
  """Refuses another config, naming the fields that differ."""
  there, asked = dict(_flatten(existing)), dict(_flatten(config))
  differences = {
    name: f'{name} ({there.get(name, "absent")} there, '
    f'{asked.get(name, "absent")} asked for)'
    for name in {**asked, **there}
    if there.get(name) != asked.get(name)
  }
  if not differences:
    return
  trained = existing.get('rounds')
  if list(differences) == ['rounds'] and isinstance(trained, int):
    rounds = config['rounds']
    if rounds > trained and not length_field:
      return
    reason = f'rounds must be at least {trained}, got {rounds}'
    if length_field:
      reason = (
        f'{length_field} is {asked[length_field]}, which depends on rounds, so '
        f'that rounds must be {trained}, got {rounds}'
      )
    raise errors.InputError(
      f'{path} holds a run of {trained} rounds; {reason}. Choose another '
      '--workdir, or start afresh with --overwrite.'
    )
  shown = ', '.join(list(differences.values())[:_MAX_DIFFERENCES_SHOWN])
  more = len(differences) - _MAX_DIFFERENCES_SHOWN
  raise errors.InputError(
    f'{path} holds a run of another config; it differs in {shown}'
    + (f' and {more} more fields' if more > 0 else '')
    + '. Choose another --workdir, or start afresh with --overwrite.'
  )


def _check_same_data(
  workdir: Workdir, data_fingerprint: Mapping[str, str]
) -> None:
  """Refuses other data, naming the parts that differ.

  The data's path does not count, since the data may be moved.
  """
  asked = dict(data_fingerprint)
  there = workdir.read_data_fingerprint()
  if there is None or there == asked:
    return
  differing = [
    name for name in {**asked, **there} if there.get(name) != asked.get(name)
  ]
  raise errors.InputError(
    f'{workdir.path} holds a run on other data: data_fingerprint of '
    f'{", ".join(differing)} differs; another --data_dir? Give the data of '
    'that run, choose another --workdir, or start afresh with --overwrite.'
  )


def _flatten(
  config: Mapping[str, Any], prefix: str = ''
) -> Iterator[tuple[str, str]]:
  """Yields the dotted name and the JSON text of every field."""
  for name, value in config.items():
    if isinstance(value, dict) and value:
      yield from _flatten(value, f'{prefix}{name}.')
    else:
      yield f'{prefix}{name}', json.dumps(value)
