# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tasks by name: those of this package, and those of other packages.

A task is a function `create_task(*, seed, data_dir, ...)`; its further keyword
arguments are the task's options, except `trust_saved_models`, which says
whether it may load models from files that options name. `options.declare` gives
the options defaults, checks and help. Every module in this package's folders
that defines this function is a task, and is imported when its name is
requested; a module of `_SHARED` has several tasks instead, in its mapping
TASKS. A task of another package is named package.module:NAME, or is declared by
an installed package as an entry point of the group fedfish_tff.tasks.

The package's tasks import TensorFlow when they are created.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import importlib
import inspect
import json
import pathlib
from typing import Any

from fedfish_tff import datasets
from fedfish_tff import errors
from fedfish_tff import fields
from fedfish_tff import plug_ins
from fedfish_tff import trust as trust_lib
from tasks import options as options_lib
from tasks.task import SPLITS
from tasks.task import Task

ENTRY_POINTS = 'fedfish_tff.tasks'

CreateTask = Callable[..., Task]

_TRUST = 'trust_saved_models'
_NOT_OPTIONS = ('seed', 'data_dir', _TRUST)
_FILES = '*/[!_]*.py'
# The modules of tasks that share one.
_SHARED = {
  'c4': 'language',
  'cc_news': 'language',
  'cifar10': 'cifar_shards',
  'cifar100_shards': 'cifar_shards',
  'cifar10_features': 'image_features',
  'cifar100_features': 'image_features',
  'inaturalist': 'photographs',
  'landmarks': 'photographs',
}


@functools.cache
def task_names() -> tuple[str, ...]:
  """Returns the names of all tasks of this package, sorted; imports none."""
  files = pathlib.Path(__file__).parent.glob(_FILES)
  own = (
    file.stem
    for file in files
    if '\ndef create_task(' in file.read_text(encoding='utf-8')
  )
  return tuple(sorted((*_SHARED, *own)))


@functools.cache
def _modules() -> Mapping[str, str]:
  """Returns the dotted names of the modules in all folders, by module name."""
  files = pathlib.Path(__file__).parent.glob(_FILES)
  return {file.stem: f'tasks.{file.parent.name}.{file.stem}' for file in files}


def _find_own(name: str) -> CreateTask | None:
  """Returns a task of this package; None if it has none of this name."""
  module_name = _modules().get(_SHARED.get(name, name))
  if module_name is None:
    return None
  module = importlib.import_module(module_name)
  if name in _SHARED:
    return module.TASKS[name]
  return getattr(module, 'create_task', None)


def task_options(
  name: str, *, trust: trust_lib.Trust = trust_lib.PYTHON
) -> Mapping[str, fields.Field]:
  """Returns a task's own options.

  Args:
    name: One of `task_names()`, or the name of another package's task.
    trust: The trust in the config that names the task.

  Returns:
    A mapping from names of options to their default, check and help. A task
    that declares no options has the defaults of its signature.
  """
  create = _find(name, trust)
  declared = getattr(create, 'options', None)
  if declared is not None:
    return declared
  return {
    option: fields.Field(parameter.default, fields.anything, '')
    for option, parameter in inspect.signature(create).parameters.items()
    if option not in _NOT_OPTIONS
  }


def own_options(name: str) -> Mapping[str, fields.Field]:
  """Returns the options of a task of this package; none for another name."""
  create = _find_own(name)
  return getattr(create, 'options', {})


def check_options(
  name: str, options: Mapping[str, Any], known: Mapping[str, fields.Field]
) -> None:
  """Checks the values of a task's options.

  Args:
    name: The task's name, for the message.
    options: The values by name, some or all.
    known: The task's options.
  """
  fields.check_block(
    options_lib.PREFIX,
    {**fields.defaults(known), **options},
    known,
    owner=f'task {name}',
  )


def create_task(
  name: str,
  *,
  seed: int,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.PYTHON,
  **options: Any,
) -> Task:
  """Creates a task.

  Args:
    name: One of `task_names()`, or the name of another package's task.
    seed: The seed of partitions, held-out clients and initial weights.
    data_dir: The folder of the files, for tasks that read files.
    trust: The trust in the config that names the task and its options.
    **options: The task's own options, those of `task_options`.

  Returns:
    The task.
  """
  create = _find(name, trust)
  # A function with declared options checks them itself.
  if not hasattr(create, 'options'):
    check_options(name, options, task_options(name, trust=trust))
  if _TRUST in inspect.signature(create).parameters:
    options[_TRUST] = trust.saved_models
  return create(seed=seed, data_dir=data_dir, **options)


def set_sources(
  task: Task,
  *,
  name: str,
  seed: int,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.PYTHON,
  **options: Any,
) -> None:
  """Records in a task's clients how other processes can load them.

  The other arguments are those with which `create_task` made the task. A
  `data_dir` must be valid wherever clients are read.
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
        trust=dataclasses.asdict(trust),
        options=options,
      )


def load_clients(
  *, split: str, options: Mapping[str, Any], **arguments: Any
) -> datasets.ClientData:
  """Returns the clients of a split of a task; creates the task only once.

  The split is one of `SPLITS`; the other arguments are those of `create_task`.
  """
  description = json.dumps([arguments, options], sort_keys=True)
  return getattr(_create_described(description), split)


@functools.lru_cache(maxsize=2)
def _create_described(description: str) -> Task:
  arguments, options = json.loads(description)
  trust = trust_lib.Trust(**arguments.pop('trust'))
  return create_task(**arguments, trust=trust, **options)


def create_transfer_task(
  source: Task, name: str, *, seed: int, data_dir: str | None = None
) -> Task:
  """Creates a task for applying the model of another task to its clients.

  Args:
    source: The task whose model is applied.
    name: One of `task_names()`, or the name of another package's task.
    seed: The seed of partitions and held-out clients.
    data_dir: The folder of the task's files.

  Returns:
    The task; its clients have the form that the source's model takes.
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
      f'The model of task {source.name!r} must be that of a language task to '
      f'be applied to task {name!r}: it has no option '
      f'{" and no ".join(missing)}.'
    )
  return create_task(name, seed=seed, data_dir=data_dir, **shared)


def _find(name: str, trust: trust_lib.Trust) -> CreateTask:
  return _find_own(name) or plug_ins.load(
    name,
    field='task.name',
    trust=trust,
    group=ENTRY_POINTS,
    known=task_names,
    is_one=callable,
    expected='a function that creates a tasks.Task',
  )
