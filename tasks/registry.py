# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tasks by name: those of this package, and those of others.

A task is a function `create_task(*, seed, data_dir, ...)` whose further keyword
arguments are the task's options. A module of this package's folders that has
one is found by being there, and is imported when its name is asked for. Others
are named as package.module:NAME, or announced by an installed package as an
entry point of the group fedfish_tff.tasks.
"""

from collections.abc import Callable
from collections.abc import Mapping
import functools
import importlib
import inspect
import json
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import plug_ins
from tasks.task import SPLITS
from tasks.task import Task

ENTRY_POINTS = 'fedfish_tff.tasks'

CreateTask = Callable[..., Task]

_NOT_OPTIONS = ('seed', 'data_dir')


@functools.cache
def task_names() -> tuple[str, ...]:
  """Returns the names of all tasks of this package, sorted."""
  return tuple(sorted(filter(_find_own, _modules())))


@functools.cache
def _modules() -> Mapping[str, str]:
  """Returns the dotted names of the modules in all folders, by their own."""
  files = pathlib.Path(__file__).parent.glob('*/[!_]*.py')
  return {file.stem: f'tasks.{file.parent.name}.{file.stem}' for file in files}


def _find_own(name: str) -> CreateTask | None:
  """Returns the task of a module of this package; None if it has none."""
  if name not in _modules():
    return None
  return getattr(importlib.import_module(_modules()[name]), 'create_task', None)


def task_options(name: str) -> Mapping[str, Any]:
  """Returns a task's own options with their default values.

  Args:
    name: One of `task_names()`, or somebody else's.

  Returns:
    A mapping from names of options to values.

  Raises:
    errors.InputError: If there is no such task.
  """
  parameters = inspect.signature(_find(name)).parameters
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
    name: One of `task_names()`, or somebody else's.
    seed: Decides partitions, held-out clients and initial weights.
    data_dir: Where tasks that read files find them.
    **options: The task's own options, see `task_options`.

  Returns:
    The task.

  Raises:
    errors.InputError: If there is no such task or option, or the data cannot
      be used.
  """
  create = _find(name)
  known = task_options(name)
  for option in options:
    if option not in known:
      raise errors.InputError(
        f'Task {name!r} has no option {option!r}; its options are '
        f'{", ".join(sorted(known))}.'
      )
  return create(seed=seed, data_dir=data_dir, **options)


def set_sources(
  task: Task,
  *,
  name: str,
  seed: int,
  data_dir: str | None = None,
  **options: Any,
) -> None:
  """Tells a task's clients where processes elsewhere find them.

  Args:
    task: What `create_task` returns for these arguments.
    name: See `create_task`.
    seed: See `create_task`.
    data_dir: See the same; reached under this name wherever clients are read.
    **options: See the same.

  Raises:
    errors.InputError: If a client cannot be read.
  """
  for split in SPLITS:
    clients = getattr(task, split)
    if clients is not None:
      datasets.set_source(
        clients,
        f'{__name__}:load_clients',
        split=split,
        name=name,
        seed=seed,
        data_dir=data_dir,
        options=options,
      )


def load_clients(
  *, split: str, options: Mapping[str, Any], **arguments: Any
) -> datasets.ClientData:
  """Returns the clients of a split of a task, which is created once.

  Args:
    split: One of `SPLITS`.
    options: The task's own.
    **arguments: The others of `create_task`.
  """
  description = json.dumps({**arguments, **options}, sort_keys=True)
  return getattr(_create_described(description), split)


@functools.lru_cache(maxsize=2)
def _create_described(description: str) -> Task:
  return create_task(**json.loads(description))


def create_transfer_task(
  source: Task, name: str, *, seed: int, data_dir: str | None = None
) -> Task:
  """Creates a task whose clients the model of another task can be applied to.

  Args:
    source: The task of the model.
    name: One of `task_names()`, or somebody else's.
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


def _find(name: str) -> CreateTask:
  return _find_own(name) or plug_ins.load(
    name,
    field='task.name',
    group=ENTRY_POINTS,
    known=task_names,
    is_one=callable,
    expected='a function that creates a tasks.Task',
  )
