# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The planned runs of a sweep, with configs that are checked in advance.

This is plain Python, without TensorFlow.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import re
import shlex
from typing import Any

from fedfish_tff import errors
from fedfish_tff import trust as trust_lib
from launch import json_config
from launch.configs import sweeps
from launch.methods import config as config_lib
from launch.methods import config_checks
from launch.results import text_table

from ml_collections import ConfigDict

# File names are limited to 255 bytes, and temporary names are longer.
_MAX_NAME = 160


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedRun:
  """One run of a sweep.

  Attributes:
    name: The unique name of the run and of its folder.
    variant: The variant of the config.
    fields: The values of the fields that the sweep sets, by dotted name; those
      that the command overrules are left out.
    config: The whole config.
    command: The arguments of launch.train for the run, without --workdir.
  """

  name: str
  variant: str
  fields: Mapping[str, Any]
  config: config_lib.Config
  command: str

  @property
  def work(self) -> int:
    """The estimated duration of the run, in passes over a client's data."""
    return self.config.rounds * (self.config.local_epochs + 1)


def load_sweep(
  source: str,
) -> tuple[Callable[[str], ConfigDict], sweeps.Experiment]:
  """Loads the sweep of a source, `<config file>:<name of the sweep>`.

  Returns:
    The file's `get_config`, and the runs.
  """
  path, _, name = json_config.find(source).partition(':')
  module = json_config.load_module(path, 'sweep', 'get_config')
  return module.get_config, _read_sweep(source, module.sweep, name)


def _read_sweep(
  source: str, sweep: Callable[[str], Any], name: str
) -> sweeps.Experiment:
  """Returns the runs of a sweep by the function of a config file."""
  try:
    found = sweep(name)
    made = found
    if not isinstance(found, sweeps.Experiment):
      runs = tuple(found) if isinstance(found, Iterable) else (None,)
      made = sweeps.Experiment(runs=runs)
  except ValueError as error:
    raise errors.InputError(
      f'--config={source}: {json_config.sentence(error)}'
    ) from error
  every = (*made.runs, *made.tuning)
  if not made.runs or not all(isinstance(run, sweeps.Run) for run in every):
    raise errors.InputError(
      f'--config={source}: sweep({name!r}) must return one sweeps.Run or more, '
      f'got {found!r:.100}.'
    )
  return made


def load_first(source: str) -> ConfigDict:
  """Returns the config of a sweep's first run, without the sweep's values."""
  get_config, experiment = load_sweep(source)
  return json_config.call_get_config(get_config, experiment.runs[0].variant)


def list_sweeps(source: str) -> list[str]:
  """Returns a line for each sweep of a config file, with its number of runs.

  The source may have the name of a sweep.
  """
  path = json_config.find(source).partition(':')[0]
  sweep = json_config.load_module(path, 'sweep', 'get_config').sweep
  if not isinstance(sweep, sweeps.Sweeps):
    raise errors.InputError(
      f'The function sweep of {path} must be one of sweeps.choice, which lists '
      'its sweeps.'
    )
  counts = {name: _read_sweep(source, sweep, name) for name in sweep.names()}
  rows = [
    (
      name,
      str(len(of.runs) + len(of.tuning)),
      f'{len(of.tuning)} of them tune {", ".join(of.tuned)}'
      if of.tuning
      else '',
    )
    for name, of in counts.items()
  ]
  return text_table.align([('Sweep', 'Runs', ''), *rows]).splitlines()


def plan_runs(
  source: str,
  get_config: Callable[[str], ConfigDict],
  runs: Sequence[sweeps.Run],
  *,
  given: Mapping[str, Any] | None = None,
  trust: trust_lib.Trust = trust_lib.PYTHON,
) -> list[PlannedRun]:
  """Creates and checks the config of every run, no two of which are the same.

  Args:
    source: The source of the runs, for error messages and commands.
    get_config: A function that returns the config of a variant.
    runs: The runs to plan, in order.
    given: The values of fields to set in all runs, by dotted name, none of them
      one that the runs vary.
    trust: The trust in the programs that the runs' configs name.
  """
  given = given or {}
  for field, value in given.items():
    if len({repr(run.overrides.get(field)) for run in runs}) > 1:
      raise errors.InputError(
        f'--config.{field}={value} cannot hold for all runs: {source} varies '
        f'{field}.'
      )
  planned, seen = [], {}
  for run, name in zip(runs, name_runs(runs)):
    values = {**run.overrides, **given}
    try:
      config = json_config.call_get_config(get_config, run.variant)
    except errors.InputError as error:
      raise errors.InputError(f'Run {name} of {source}: {error}') from error
    try:
      json_config.set_fields(config, values)
      read = config_checks.read(config.to_dict(), trust=trust)
    except errors.InputError as error:
      raise errors.InputError(f'Run {name}: {error}') from error
    if read.key in seen:
      raise errors.InputError(
        f'{source}: the runs of a sweep must differ, got the same config in '
        f'{seen[read.key]} and {name}.'
      )
    seen[read.key] = name
    planned.append(
      PlannedRun(
        name=name,
        variant=run.variant,
        fields={f: v for f, v in run.overrides.items() if f not in given},
        config=read,
        command=_command(source, run.variant, values),
      )
    )
  return planned


def name_runs(runs: Sequence[sweeps.Run]) -> list[str]:
  """Returns a readable name for each run.

  A name has the variant and the fields in which runs differ, except those that
  the variant and earlier fields settle.
  """
  told = [[_to_text(run.variant)] for run in runs]
  for field in dict.fromkeys(field for run in runs for field in run.overrides):
    values = [repr(run.overrides.get(field)) for run in runs]
    known = {tuple(parts) for parts in told}
    if len({(*parts, v) for parts, v in zip(told, values)}) == len(known):
      continue
    for run, parts in zip(runs, told):
      if field in run.overrides:
        value = _to_text(run.overrides[field])
        parts.append(f'{field.rpartition(".")[2]}_{value}')
  names = ['-'.join(parts) for parts in told]
  # Fields with the same last name may give equal names, and names may be long.
  return [
    name if len(name) <= _MAX_NAME and names.count(name) == 1 else _cut(name, r)
    for name, r in zip(names, runs)
  ]


def _cut(name: str, run: sweeps.Run) -> str:
  digest = hashlib.sha256(repr(run).encode()).hexdigest()[:8]
  return f'{name[:_MAX_NAME]}-{digest}'


def _to_text(value: Any) -> str:
  if isinstance(value, (list, tuple)):
    return '_'.join(map(_to_text, value))
  text = f'{value:g}' if isinstance(value, float) else str(value)
  return re.sub(r'[^A-Za-z0-9_.+]', '_', text).strip('.') or '_'


def _command(source: str, variant: str, values: Mapping[str, Any]) -> str:
  path = source.partition(':')[0]
  fields = [f'--config.{name}={value}' for name, value in values.items()]
  return shlex.join([f'--config={path}:{variant}', *fields])
