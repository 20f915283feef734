# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Options of tasks: each is declared once, as a field.

This is plain Python, without TensorFlow, so that a config has the options of
its task before anything is imported that takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import functools
import inspect
import typing
from typing import Any

from fedfish_tff import errors
from fedfish_tff import fields

import numpy as np

if typing.TYPE_CHECKING:
  from tasks.task import Task

# The prefix of the names of options in errors, as in configs.
PREFIX = 'task.'


def cache_megabytes(default: int, needed: str = '') -> fields.Field:
  """Returns the option of that name.

  Args:
    default: The budget in megabytes, unless it is set.
    needed: The megabytes that all clients take, as the end of a sentence.
  """
  return fields.Field(
    default,
    fields.integer(1),
    'The budget for keeping clients in memory, in 2^20 bytes, for each of '
    'training, validation and test clients'
    + (f'; {needed}.' if needed else '.'),
  )


def declare(
  options: Mapping[str, fields.Field],
) -> Callable[[Callable[..., Task]], Callable[..., Task]]:
  """Returns a decorator for a function that creates a task.

  The function names its options as keyword-only arguments, with types and
  without defaults. The decorated function takes keyword arguments alone, checks
  the options and fills in defaults. Its signature shows these, its docstring
  the help, and its attribute `options` is the declaration.

  Args:
    options: The declarations, by the names of the function's arguments.
  """

  def decorate(create: Callable[..., Task]) -> Callable[..., Task]:
    signature = inspect.signature(create)
    others = signature.parameters.keys() - options.keys()

    @functools.wraps(create)
    def create_checked(**arguments: Any) -> Task:
      # NumPy's numbers count as Python's.
      arguments = fields.defaults(options) | {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in arguments.items()
      }
      fields.check_block(
        PREFIX,
        {n: value for n, value in arguments.items() if n not in others},
        options,
      )
      return create(**arguments)

    create_checked.options = options
    create_checked.__signature__ = signature.replace(
      parameters=[
        parameter.replace(default=options[name].default)
        if name in options
        else parameter
        for name, parameter in signature.parameters.items()
      ]
    )
    # A partial function has the docstring of its function.
    text = inspect.getdoc(getattr(create, 'func', create)) or ''
    lines = '\n'.join(fields.describe(options))
    create_checked.__doc__ = f'{text}\n\nOptions:\n{lines}\n'
    return create_checked

  return decorate


def check_no_data_dir(task_name: str, data_dir: str | None) -> None:
  """Raises an InputError if data_dir is set for a task that reads no files."""
  if data_dir is not None:
    raise errors.InputError(
      f'data_dir must be None for task {task_name!r}, which reads no files, got '
      f'{data_dir!r}.'
    )
