# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The planned runs of a sweep, with configs that are checked in advance.

This is plain Python, without TensorFlow.
"""

import collections
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
from launch import cli
from launch import json_config
from launch.configs import sweeps
from launch.methods import config as config_lib
from launch.methods import config_checks

from absl import flags
from ml_collections import config_flags
from ml_collections import ConfigDict

# File names are limited to 255 bytes, and temporary names are longer.
_MAX_NAME = 160
_PREFIX, _NO = '--config.', '--noconfig.'


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedRun:
  """One run of a sweep.

  Attributes:
    name: The unique name of the run and of its folder.
    variant: The variant of the config.
    fields: The values of the fields that the sweep sets, by dotted name; those
      that arguments overrule are left out.
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


def split_arguments(argv: Sequence[str]) -> tuple[list[str], list[str]]:
  """Separates `--config.field=value` from the other arguments.

  Args:
    argv: All arguments. A value may also be the argument after its field. A
      field without a value is true, and --noconfig.field is false.

  Returns:
    The overrides, each as one argument with two dashes, and the rest.
  """
  overrides, rest = [], []
  arguments = collections.deque(argv)
  while arguments:
    argument = arguments.popleft()
    flag = '--' + argument.lstrip('-')
    if not argument.startswith('-') or not flag.startswith((_PREFIX, _NO)):
      rest.append(argument)
    elif flag.startswith(_NO):
      overrides.append(f'{_PREFIX}{flag.removeprefix(_NO)}=False')
    elif '=' in flag:
      overrides.append(flag)
    # The next argument may be a negative number, but not another flag.
    elif arguments and not arguments[0].startswith('--'):
      overrides.append(f'{flag}={arguments.popleft()}')
    else:
      overrides.append(f'{flag}=True')
  return overrides, rest


def overridden_field(argument: str) -> str:
  """Returns the dotted field that `--config.<field>=<value>` sets."""
  return argument.removeprefix(_PREFIX).partition('=')[0]


def load_runs(
  source: str,
) -> tuple[Callable[[str], ConfigDict], tuple[sweeps.Run, ...]]:
  """Loads a sweep.

  Args:
    source: The source of the runs, `<config file>:<name of the sweep>`.

  Returns:
    The file's `get_config`, and the runs.

  Raises:
    errors.InputError: If the file cannot be read or has no such sweep.
  """
  path, _, name = json_config.find(source).partition(':')
  module = json_config.load_module(path, 'sweep', 'get_config')
  try:
    found = module.sweep(name)
    runs = tuple(found) if isinstance(found, Iterable) else (None,)
  except ValueError as error:
    raise errors.InputError(
      f'--config={source}: {json_config.sentence(error)}'
    ) from error
  if not runs or not all(isinstance(run, sweeps.Run) for run in runs):
    raise errors.InputError(
      f'--config={source}: sweep({name!r}) must return one sweeps.Run or more, '
      f'got {found!r:.100}.'
    )
  return module.get_config, runs


def plan_runs(
  source: str,
  get_config: Callable[[str], ConfigDict],
  runs: Sequence[sweeps.Run],
  arguments: Sequence[str] = (),
  *,
  trust: trust_lib.Trust = trust_lib.PYTHON,
) -> list[PlannedRun]:
  """Creates and checks the config of every run.

  Args:
    source: The source of the runs, for error messages and commands.
    get_config: A function that returns the config of a variant.
    runs: The runs.
    arguments: The fields to set in all runs, each as
      `--config.<field>=<value>`.
    trust: The trust in the programs that the runs' configs name.

  Returns:
    The planned runs, in the same order.

  Raises:
    errors.InputError: If a variant or field is unknown, a value cannot be used,
      `arguments` set a field that the runs vary, or two runs are the same.
  """
  _check_overrides(source, runs, arguments)
  given = set(map(overridden_field, arguments))
  planned, seen = [], {}
  for run, name in zip(runs, name_runs(runs)):
    try:
      config = json_config.call_get_config(get_config, run.variant)
    except errors.InputError as error:
      raise errors.InputError(f'Run {name} of {source}: {error}') from error
    for field, value in run.overrides.items():
      _set_field(config, field, value, name)
    config = _apply_arguments(config, arguments, name)
    try:
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
        command=_command(source, run, arguments),
      )
    )
  return planned


def _check_overrides(
  source: str, runs: Sequence[sweeps.Run], arguments: Sequence[str]
) -> None:
  """Refuses arguments for fields that the sweep varies."""
  for argument in arguments:
    field = overridden_field(argument)
    if len({repr(run.overrides.get(field)) for run in runs}) > 1:
      raise errors.InputError(
        f'{argument} cannot hold for all runs: {source} varies {field}.'
      )


def _set_field(config: ConfigDict, field: str, value: Any, name: str) -> None:
  _check_field(config, field, f'Run {name}: its config has')
  *blocks, last = field.split('.')
  block = config
  for part in blocks:
    block = block[part]
  try:
    block[last] = value
  except (TypeError, ValueError) as error:
    raise errors.InputError(
      f'Run {name}: {field} is {value!r}, which is of another type than '
      f'{block[last]!r} of the config.'
    ) from error


def _check_field(config: ConfigDict, field: str, told: str) -> None:
  missing = json_config.describe_missing_field(config, field.split('.'))
  if missing:
    raise errors.InputError(f'{told} {missing}')


def _apply_arguments(
  config: ConfigDict, arguments: Sequence[str], name: str
) -> ConfigDict:
  """Sets fields from text, which is parsed as in launch.train."""
  for argument in arguments:
    told = f'{argument} cannot be set: the config of run {name} has'
    _check_field(config, overridden_field(argument), told)
  argv = [name, *arguments]  # The first one stands for the program.
  values = flags.FlagValues()
  try:
    holder = config_flags.DEFINE_config_dict(
      'config', config, flag_values=values, sys_argv=argv
    )
    values(argv)
  except flags.Error as error:
    raise errors.InputError(
      f'Run {name}: {cli.describe_flag_error(error)}'
    ) from error
  return holder.value


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
      value = _to_text(run.overrides.get(field, 'unset'))
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


def _command(source: str, run: sweeps.Run, arguments: Sequence[str]) -> str:
  path = source.partition(':')[0]
  fields = [f'{_PREFIX}{name}={v}' for name, v in run.overrides.items()]
  return shlex.join([f'--config={path}:{run.variant}', *fields, *arguments])
