# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels of runs: the title of the method, and the fields in which runs differ."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import re
from typing import Any

from launch.results import text_table

import pandas as pd

# Runs that differ in nothing else are one experiment, and share a label.
POOLED = (
  'seed',
  'checkpoint_every',
  'stop_after_diverged_rounds',
  'evaluation.half_way_checkpoint',
)
RATES = ('client_learning_rate', 'server_learning_rate')
_EPOCHS, _ROUNDS = 'local_epochs', 'rounds'
# Fields that are chosen for the method and for other fields, such as local epochs.
_CHOSEN_LAST = (_ROUNDS, *RATES, 'evaluate_every', 'task.inputs')
_TASK = 'task.'
_UNSET = 'unset'
_WORDS = re.compile('[a-z]+(_[a-z]+)*')


def label_methods(
  runs: pd.DataFrame, *, besides: Collection[str] = ()
) -> list[str]:
  """Returns a label for each run: 'FedFish, per example, 8 local epochs'.

  Args:
    runs: The runs, rows of `run_reader.describe_run`.
    besides: The dotted names of fields that are told elsewhere, such as
      `'local_epochs'`; runs that differ only in these get the same label.

  Returns:
    The labels. A label is the method's title, then the task if there are
    several, then the fields in which runs of this title differ, and those
    beside the method, such as local epochs, in which runs of the task differ;
    rounds, if runs of any title of the task differ in them.
    Fields that earlier ones settle are left out.
  """
  titles = [
    title_without(*of, besides) for of in zip(runs['title'], runs['deviations'])
  ]
  in_titles = {field for of in runs['deviations'] for field in of}
  parts = _tell_apart(
    runs['fields'],
    list(zip(runs['task'], titles)),
    [in_titles.union(settled) for settled in runs['settled']],
    besides,
  )
  tells_task = runs['task'].nunique() > 1 and f'{_TASK}name' not in besides
  return [
    ', '.join([title, *([task] if tells_task else []), *part])
    for title, task, part in zip(titles, runs['task'], parts)
  ]


def label_tasks(runs: pd.DataFrame) -> list[str]:
  """Returns the task of each run, with the options in which runs differ.

  The runs are rows of `run_reader.describe_run`.
  """
  options = [
    {name: value for name, value in of.items() if name.startswith(_TASK)}
    for of in runs['fields']
  ]
  kinds = [(task, '') for task in runs['task']]
  parts = _tell_apart(options, kinds, [()] * len(runs), [f'{_TASK}name'])
  return [', '.join([task, *part]) for task, part in zip(runs['task'], parts)]


def describe_fields(
  values: Mapping[str, Any], besides: Collection[str] = ()
) -> list[str]:
  """Returns words for fields and their values: '8 local epochs', 'alpha 0.1'.

  Args:
    values: The values by dotted name.
    besides: The fields that are told elsewhere.
  """
  told = {name: value for name, value in values.items() if name not in besides}
  return [
    text_table.count(value, short.removesuffix('s'))
    if name in (_EPOCHS, _ROUNDS) and isinstance(value, int)
    else f'{short} {_format(value)}'
    for (name, value), short in zip(told.items(), shorten_fields(told))
  ]


def _format(value: Any) -> str:
  """Returns a value of a field as words; an empty text is seen by its quotes.

  Names of tensors, files and modules, such as hidden_0, stay as they are.
  """
  text = str(value)
  return text.replace('_', ' ') if _WORDS.fullmatch(text) else text or "''"


def shorten_fields(names: Collection[str]) -> list[str]:
  """Returns the last part of each field's name, if parts differ, as words."""
  last = [name.rpartition('.')[2] for name in names]
  return [
    (part if last.count(part) == 1 else name).replace('_', ' ')
    for name, part in zip(names, last)
  ]


def title_without(
  title: str, deviations: Mapping[str, str], besides: Collection[str]
) -> str:
  """Returns a method's title without deviations that are told elsewhere."""
  for field, words in deviations.items():
    if field in besides:
      title = title.replace(f', {words}', '', 1)
  return title


def _tell_apart(
  fields: Sequence[Mapping[str, Any]],
  kinds: Sequence[tuple[str, str]],
  follows: Sequence[Collection[str]],
  besides: Collection[str],
) -> list[list[str]]:
  """Returns the words that distinguish runs, beside their kinds.

  Args:
    fields: The fields of each run.
    kinds: The task and the title of each run.
    follows: The fields of each run that its title tells or settles.
    besides: The fields that are told elsewhere.
  """
  names = dict.fromkeys(name for of in fields for name in of)
  ranked = [
    name
    for name in sorted(names, key=_rank)
    if name not in POOLED and name not in besides
  ]
  of_kind: dict[tuple[str, str], dict[str, str]] = {}
  for kind, of in zip(kinds, fields):
    of_kind.setdefault(kind, {}).update(dict.fromkeys(of, _UNSET))
  runs = [{**of_kind[kind], **of} for kind, of in zip(kinds, fields)]
  own = {
    one: _find_differing(
      [of for kind, of in zip(kinds, runs) if kind == one], ranked, besides
    )
    for one in of_kind
  }
  chosen = [
    {name: value for name, value in of.items() if name not in following}
    for of, following in zip(runs, follows)
  ]
  of_task = {
    task: _find_differing(
      [of for kind, of in zip(kinds, chosen) if kind[0] == task],
      list(filter(_is_shared, ranked)),
      besides,
    )
    for task, _ in of_kind
  }
  # Beside "FedAvg, 4 rounds", a method without a number would have any.
  for (task, _), names_of in own.items():
    of_task[task] += [name for name in names_of if name == _ROUNDS]
  return [
    describe_fields(
      {
        name: run[name]
        for name in ranked
        if name in own[kind] or (name in of and name in of_task[kind[0]])
      }
    )
    for kind, run, of in zip(kinds, runs, chosen)
  ]


def _find_differing(
  runs: Sequence[Mapping[str, Any]],
  names: Sequence[str],
  besides: Collection[str],
) -> list[str]:
  """Returns the fields in which runs differ, without those that others settle.

  A field is settled if the runs that have it and agree in `besides` and in the
  fields before it agree in it, too.

  Args:
    runs: The fields of each run.
    names: The fields to look at, in the order of labels.
    besides: The fields that are told elsewhere.
  """
  told: list[str] = []
  for name in names:
    seen: dict[str, str] = {}
    for of in runs:
      if name in of:
        key = repr([of.get(n) for n in (*besides, *told)])
        if seen.setdefault(key, repr(of[name])) != repr(of[name]):
          told.append(name)
          break
  return told


def _is_shared(name: str) -> bool:
  """Returns whether runs of two titles that differ in a field both tell it.

  Fields of other blocks than the task are part of the method, and rates are
  chosen for it.
  """
  return name not in _CHOSEN_LAST and not is_of_method(name)


def is_of_method(name: str) -> bool:
  """Returns whether a field is part of the method: of a block but the task."""
  return '.' in name and not name.startswith(_TASK)


def _rank(name: str) -> int:
  """Returns the place of a field in labels; fields of one place keep theirs."""
  if name in _CHOSEN_LAST:
    return 3 + _CHOSEN_LAST.index(name)
  if name.startswith('algorithm.'):
    return 1
  return 0 if name == _EPOCHS else 2
