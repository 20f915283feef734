# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tasks by name.

A task is a module with a docstring, a function `create_task(*, seed, data_dir,
...)` whose further keyword arguments are the task's options, and `DEFAULTS`,
the recommended values of config fields. To add one, import it here.
"""

from collections.abc import Mapping
import inspect
import types
from typing import Any

from fedfish_tff import errors
from tasks import ag_news
from tasks import arrays
from tasks import c4
from tasks import cc_news
from tasks import cifar10_features
from tasks import cifar100
from tasks import cifar100_features
from tasks import digits
from tasks import emnist
from tasks import generated_features
from tasks import inaturalist
from tasks import landmarks
from tasks import stackoverflow
from tasks import toy_regression
from tasks.task import Task

_TASKS: Mapping[str, types.ModuleType] = {
  'ag_news': ag_news,
  'arrays': arrays,
  'c4': c4,
  'cc_news': cc_news,
  'cifar100': cifar100,
  'cifar100_features': cifar100_features,
  'cifar10_features': cifar10_features,
  'digits': digits,
  'emnist': emnist,
  'generated_features': generated_features,
  'inaturalist': inaturalist,
  'landmarks': landmarks,
  'stackoverflow': stackoverflow,
  'toy_regression': toy_regression,
}
_NOT_OPTIONS = ('seed', 'data_dir')


def task_names() -> tuple[str, ...]:
  """Returns the names of all tasks, sorted."""
  return tuple(sorted(_TASKS))


def task_defaults(name: str) -> Mapping[str, Any]:
  """Returns the recommended config fields of a task.

  Args:
    name: One of `task_names()`.

  Returns:
    A mapping from names of config fields to values.

  Raises:
    errors.InputError: If there is no such task.
  """
  return dict(_find(name).DEFAULTS)


def task_options(name: str) -> Mapping[str, Any]:
  """Returns a task's own options with their default values.

  Args:
    name: One of `task_names()`.

  Returns:
    A mapping from names of options to values.

  Raises:
    errors.InputError: If there is no such task.
  """
  parameters = inspect.signature(_find(name).create_task).parameters
  return {
    option: parameter.default
    for option, parameter in parameters.items()
    if option not in _NOT_OPTIONS
  }


def create_task(
  name: str, *, seed: int, data_dir: str | None = None, **options: Any
) -> Task:
  """Creates a task.

  Args:
    name: One of `task_names()`.
    seed: Decides partitions, held-out clients and initial weights.
    data_dir: Where tasks that read files find them.
    **options: The task's own options, see `task_options`.

  Returns:
    The task.

  Raises:
    errors.InputError: If there is no such task or option, or the data cannot
      be used.
  """
  module = _find(name)
  known = task_options(name)
  for option in options:
    if option not in known:
      raise errors.InputError(
        f'Task {name!r} has no option {option!r}; its options are '
        f'{", ".join(sorted(known))}.'
      )
  return module.create_task(seed=seed, data_dir=data_dir, **options)


def create_transfer_task(
  source: Task, name: str, *, seed: int, data_dir: str | None = None
) -> Task:
  """Creates a task whose clients the model of another task can be applied to.

  Args:
    source: The task of the model.
    name: One of `task_names()`.
    seed: As in `create_task`.
    data_dir: Where the task finds its files.

  Returns:
    The task, its clients as the source's model takes them.

  Raises:
    errors.InputError: If there is no such task, the model cannot be applied to
      its clients, or the data cannot be used.
  """
  known = task_options(name)
  shared = source.transfer_options
  if shared is None:
    raise errors.InputError(
      f'The model of task {source.name!r} cannot be applied to task {name!r}: '
      'only those of language tasks can be applied to other tasks.'
    )
  missing = [option for option in shared if option not in known]
  if missing:
    raise errors.InputError(
      f'The model of task {source.name!r} cannot be applied to task {name!r}, '
      f'which has no option {" and no ".join(missing)}; a language task was '
      'expected.'
    )
  return create_task(name, seed=seed, data_dir=data_dir, **shared)


def _find(name: str) -> types.ModuleType:
  if name not in _TASKS:
    raise errors.InputError(
      f'There is no task {name!r}; expected one of {", ".join(task_names())}.'
    )
  return _TASKS[name]
