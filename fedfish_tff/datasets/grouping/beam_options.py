# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Flags of Apache Beam, which leaves those out that it does not know."""

import argparse
from collections.abc import Sequence
from typing import Any
from typing import NoReturn

from fedfish_tff import errors

from apache_beam.options import pipeline_options
from apache_beam.runners import runner as beam_runner


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
  """Returns the flags, with worker processes where workers are asked for.

  Without a mode, Beam would do the work of all of them in this process.

  Args:
    beam_flags: Such as '--runner=DirectRunner'.

  Raises:
    errors.InputError: If Beam does not know a flag or the runner.
  """
  parser = _Parser()
  for options in pipeline_options.PipelineOptions.__subclasses__():
    # The method that Beam has those override who define options.
    options._add_argparse_args(parser)
  _, unknown = parser.parse_known_args(list(beam_flags))
  if unknown:
    raise errors.InputError(
      f'Neither this binary nor Apache Beam has a flag {unknown[0]!r}; --help '
      'lists the flags of this binary.'
    )
  options = pipeline_options.PipelineOptions(list(beam_flags))
  name = options.view_as(pipeline_options.StandardOptions).runner
  try:
    if name:
      beam_runner.create_runner(name)
  except (ImportError, ValueError, AttributeError) as error:
    raise errors.InputError(
      f'--runner={name} cannot be used: {str(error).rstrip(".")}.'
    ) from error
  direct = options.view_as(pipeline_options.DirectOptions)
  if direct.direct_num_workers == 1 or any(
    flag.startswith('--direct_running_mode') for flag in beam_flags
  ):
    return list(beam_flags)
  return [*beam_flags, '--direct_running_mode=multi_processing']
