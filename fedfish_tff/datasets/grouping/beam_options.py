# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Flags and runners of Apache Beam.

Beam ignores unknown flags, and its known runners do not include the one for
Dask.
"""

import argparse
from collections.abc import Sequence
from typing import Any
from typing import NoReturn

from fedfish_tff import errors

from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner

_DASK_RUNNER = 'DaskRunner'
_OPENS_PORTS = (
  'Beam would open ports on this machine that ask for no credentials, and '
  'whoever reaches one could run code.'
)


class _Parser(argparse.ArgumentParser):
  """An argument parser that raises where argparse ends the process."""

  def add_value_provider_argument(self, *args: Any, **kwargs: Any) -> None:
    """Adds an argument that templates of Dataflow get later."""
    self.add_argument(*args, **kwargs)

  def error(self, message: str) -> NoReturn:
    raise errors.InputError(f'A flag of Beam is wrong: {message}.')


def create_beam_runner(
  beam_flags: Sequence[str],
) -> tuple[beam_runner.PipelineRunner, list[str]]:
  """Returns the runner named by flags, and its flags.

  The flags divide work among the workers of a cluster: without a size, Beam
  would give up to 128 parts to one worker of Dask. Flags that Beam does not
  know are refused, and so is a runner that would listen on this machine.

  Args:
    beam_flags: Flags, at least one, such as '--runner=DirectRunner'.
  """
  name = _parse(beam_flags)[0].runner
  # The runner's module may define flags.
  runner = _create_runner(name) if name else None
  values, unknown = _parse(beam_flags)
  if unknown:
    raise errors.InputError(
      f'Neither this binary nor Apache Beam has a flag {unknown[0]!r}; --help '
      'lists the flags of this binary.'
    )
  if runner is None:
    raise errors.InputError(
      f'{beam_flags[0]} belongs to a runner of Apache Beam, which --runner must '
      'name.'
    )
  _check_no_ports(type(runner).__name__, values)
  flags = list(beam_flags)
  if _is_dask(name):
    if values.npartitions is None and values.partition_size is None:
      flags.append('--dask_partition_size=1')
    # Beam passes all set values to Dask's client, which accepts only its own.
    _, dask_flags = _parse(flags, but='DaskOptions')
    options = pipeline_options.PipelineOptions(dask_flags)
    run = runner.run_pipeline
    runner.run_pipeline = lambda pipeline, _: run(pipeline, options)
  return runner, flags


def _create_runner(name: str) -> beam_runner.PipelineRunner:
  try:
    return beam_runner.create_runner(
      f'apache_beam.runners.dask.dask_runner.{_DASK_RUNNER}'
      if _is_dask(name)
      else name
    )
  except (ImportError, ValueError, AttributeError) as error:
    raise errors.InputError(
      f'--runner={name} cannot be used: {str(error).rstrip(".")}.'
    ) from error


def _is_dask(name: str) -> bool:
  return name.lower() in ('dask', _DASK_RUNNER.lower())


def _check_no_ports(runner: str, flags: argparse.Namespace) -> None:
  """Refuses flags with which Beam would listen on this machine."""
  for name, needed in (
    ('direct_num_workers', 1),
    ('direct_running_mode', 'in_memory'),
  ):
    if getattr(flags, name) != needed:
      raise errors.InputError(
        f'--{name} must be {needed}, got {getattr(flags, name)}: {_OPENS_PORTS}'
      )
  # Runners that start servers unless a flag names a cluster.
  starts_servers = {
    _DASK_RUNNER: lambda: not (flags.address or flags.scheduler_file),
    'FlinkRunner': lambda: flags.flink_master.startswith('['),
    'PortableRunner': lambda: not flags.job_endpoint,
    'PrismRunner': lambda: True,
    'SparkRunner': lambda: flags.spark_master_url.startswith('local'),
  }
  if (
    starts_servers.get(runner, lambda: False)()
    or flags.job_endpoint == 'embed'
    or 'LOOPBACK' in (flags.environment_type or '').upper()
  ):
    raise errors.InputError(
      f'--runner={runner} must have the address of a cluster with workers of '
      f'its own: {_OPENS_PORTS}'
    )


def _parse(
  beam_flags: Sequence[str], *, but: str = ''
) -> tuple[argparse.Namespace, list[str]]:
  """Returns (values of flags, other arguments), without the options `but`."""
  parser = _Parser(add_help=False, allow_abbrev=False)
  for options in pipeline_options.PipelineOptions.__subclasses__():
    if options.__name__ != but:
      # Beam's method, which classes of options override.
      options._add_argparse_args(parser)
  return parser.parse_known_args(list(beam_flags))
