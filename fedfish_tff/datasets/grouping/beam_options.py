# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Flags of Apache Beam, which leaves those out that it does not know.

And its runners, of which that for Dask is not among those that it knows.
"""

import argparse
from collections.abc import Sequence
from typing import Any
from typing import NoReturn

from fedfish_tff import errors

from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner

_DASK_RUNNER = 'DaskRunner'


class _Parser(argparse.ArgumentParser):
  """Raises where argparse ends the process."""

  def __init__(self) -> None:
    super().__init__(add_help=False, allow_abbrev=False)

  def add_value_provider_argument(self, *args: Any, **kwargs: Any) -> None:
    """What templates of Dataflow call arguments that come later."""
    self.add_argument(*args, **kwargs)

  def error(self, message: str) -> NoReturn:
    raise errors.InputError(f'A flag of Beam is wrong: {message}.')


def complete_beam_flags(beam_flags: Sequence[str]) -> list[str]:
  """Returns the flags, with the work divided where workers are asked for.

  Without a mode, Beam would do the work of all of them in this process; and
  without a size, it would hand up to 128 elements to one worker of Dask.

  Args:
    beam_flags: Such as '--runner=DirectRunner'.

  Raises:
    errors.InputError: If Beam does not know a flag or the runner, or what the
      runner needs is not installed.
  """
  runner = create_beam_runner(beam_flags)  # First: its module may define flags.
  flags, unknown = _parse(
    beam_flags, pipeline_options.PipelineOptions.__subclasses__()
  )
  if unknown:
    raise errors.InputError(
      f'Neither this binary nor Apache Beam has a flag {unknown[0]!r}; --help '
      'lists the flags of this binary.'
    )
  given = {flag.partition('=')[0] for flag in beam_flags}
  if type(runner).__name__ == _DASK_RUNNER:
    if given.isdisjoint(('--dask_partition_size', '--dask_npartitions')):
      return [*beam_flags, '--dask_partition_size=1']
  elif flags.direct_num_workers != 1 and '--direct_running_mode' not in given:
    return [*beam_flags, '--direct_running_mode=multi_processing']
  return list(beam_flags)


def create_beam_runner(
  beam_flags: Sequence[str],
) -> beam_runner.PipelineRunner | None:
  """Returns the runner that flags name; None for Beam's own choice.

  Args:
    beam_flags: Such as '--runner=DirectRunner'.

  Raises:
    errors.InputError: If Beam does not know it, or what it needs is not
      installed.
  """
  name = _parse(beam_flags, [pipeline_options.StandardOptions])[0].runner
  if not name:
    return None
  is_dask = name.lower() in ('dask', _DASK_RUNNER.lower())
  try:
    runner = beam_runner.create_runner(
      f'apache_beam.runners.dask.dask_runner.{_DASK_RUNNER}'
      if is_dask
      else name
    )
  except (ImportError, ValueError, AttributeError) as error:
    raise errors.InputError(
      f'--runner={name} cannot be used: {str(error).rstrip(".")}.'
    ) from error
  if is_dask:
    # Beam hands whatever is set to Dask's client, which takes its own alone.
    _, dask_flags = _parse(
      beam_flags,
      [
        options
        for options in pipeline_options.PipelineOptions.__subclasses__()
        if options.__name__ != 'DaskOptions'
      ],
    )
    options = pipeline_options.PipelineOptions(dask_flags)
    run = runner.run_pipeline
    runner.run_pipeline = lambda pipeline, _: run(pipeline, options)
  return runner


def _parse(
  beam_flags: Sequence[str],
  options: Sequence[type[pipeline_options.PipelineOptions]],
) -> tuple[argparse.Namespace, list[str]]:
  """Returns the values of flags, and the arguments that are not among them."""
  parser = _Parser()
  for some in options:
    # The method that Beam has those override who define options.
    some._add_argparse_args(parser)
  return parser.parse_known_args(list(beam_flags))
