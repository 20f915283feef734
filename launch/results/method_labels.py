# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Short labels that distinguish the methods of a set of runs."""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import pandas as pd

_METHOD = 'algorithm.name'
_TASK = 'task.name'
_UNSET = 'unset'
# Fields in which runs of one experiment may differ. No label tells them.
POOLED = (
  'seed',
  'checkpoint_every',
  'stop_after_diverged_rounds',
  'evaluation.half_way_checkpoint',
)
# Labels name fields in this order; all other fields stand between the two
# lists. A field that earlier ones settle is left out.
_FIRST = ('local_epochs',)
_LAST = (
  'rounds',
  'client_learning_rate',
  'server_learning_rate',
  'evaluate_every',
)
# Fields that may have other values for each method: rates are tuned, and rounds
# follow from the epochs.
_OF_THE_METHOD = (
  *_LAST,
  'algorithm.regularization',
  'evaluation.',
  'fine_tuning.',
  'participation.',
  # The point of a pretrained network from which it is trained.
  'task.inputs',
)


def label_methods(
  runs: pd.DataFrame, *, besides: Sequence[str] = ()
) -> list[str]:
  """Returns a label for each run: 'FedFish, per example, 8 local epochs'.

  Args:
    runs: The runs; see `run_reader.describe_run`.
    besides: The dotted names of fields that are told elsewhere, such as
      `'local_epochs'`; runs that differ only in these get the same label.

  Returns:
    The labels. A label is the method's name with its differences from the
    published form, then the task if there are several, then the other fields in
    which the runs differ, except those with the usual value and those that
    other fields settle.
  """
  titles = [
    title_without(*of, besides) for of in zip(runs['title'], runs['deviations'])
  ]
  values = [
    {
      n: repr(v)
      for n, v in fields.items()
      if n not in (*untold, *deviations, *POOLED)
    }
    | {_METHOD: title, _TASK: task}
    for fields, untold, deviations, title, task in zip(
      *(runs[of] for of in ('fields', 'untold', 'deviations')),
      titles,
      runs['task'],
    )
  ]
  words = [
    {n: text for n, text in told.items() if n not in deviations}
    for told, deviations in zip(runs['told'], runs['deviations'])
  ]
  parts = _tell_in_tasks(values, words, besides)
  tells_task = runs['task'].nunique() > 1 and _TASK not in besides
  return [
    ', '.join([title, *([task] if tells_task else []), *part])
    for title, task, part in zip(titles, runs['task'], parts)
  ]


def label_tasks(runs: pd.DataFrame) -> list[str]:
  """Returns the task of each run, with the options in which runs differ.

  Args:
    runs: The runs; see `run_reader.describe_run`.
  """
  options = [
    {n: repr(v) for n, v in fields.items() if n.startswith('task.')}
    | {_METHOD: '', _TASK: task}
    for fields, task in zip(runs['fields'], runs['task'])
  ]
  words = [
    {n: f'{_shorten(n)} {_plain(v)}' for n, v in of.items()} for of in options
  ]
  parts = _tell_in_tasks(options, words, ())
  return [', '.join([task, *part]) for task, part in zip(runs['task'], parts)]


def title_without(
  title: str, deviations: Mapping[str, str], besides: Collection[str]
) -> str:
  """Returns a method's title without deviations that are told elsewhere.

  Args:
    title: The title.
    deviations: Its words, by field, for differences from the published form.
    besides: The fields that are told elsewhere.
  """
  for field, words in deviations.items():
    if field in besides:
      title = title.replace(f', {words}', '', 1)
  return title


def _tell_in_tasks(
  fields: Sequence[Mapping[str, str]],
  words: Sequence[Mapping[str, str]],
  besides: Sequence[str],
) -> list[list[str]]:
  """Returns the words of `_tell_apart` for runs of several tasks."""
  found = {}
  for task in {of[_TASK] for of in fields}:
    members = [i for i, of in enumerate(fields) if of[_TASK] == task]
    told = [[of[i] for i in members] for of in (fields, words)]
    found |= zip(members, _tell_apart(*told, besides))
  return [found[i] for i in range(len(fields))]


def _tell_apart(
  fields: Sequence[Mapping[str, str]],
  words: Sequence[Mapping[str, str]],
  besides: Sequence[str],
) -> list[list[str]]:
  """Returns the words that distinguish runs of one task, beside the method.

  Args:
    fields: The values of each run, by the name of the field.
    words: The words of each run for its unusual values.
    besides: The fields that are told elsewhere.
  """
  values = [_with_absent(f, fields) for f in fields]
  told = []
  for name in sorted(dict.fromkeys(n for f in fields for n in f), key=_rank):
    if name in (_METHOD, _TASK, *besides):
      continue
    constant = len({v[name] for v in values if name in v}) < 2
    if constant:
      continue
    settling = [*told, *besides]
    if name.startswith(_OF_THE_METHOD):
      settling.append(_METHOD)
    if not _settle(values, settling, name):
      told.append(name)
  texts = [
    {
      n: of.get(n, f'{_shorten(n)} {_UNSET}')
      for n in told
      if n in of or v.get(n) == _UNSET
    }
    for v, of in zip(values, words)
  ]
  keys = {(v[_METHOD], *(v.get(n) for n in told)) for v in values}
  if len({(v[_METHOD], *t.values()) for v, t in zip(values, texts)}) < len(
    keys
  ):
    # Two fields share a short name: only whole names distinguish them.
    texts = [{n: f'{n} {v[n]}' for n in t} for v, t in zip(values, texts)]
  return [list(t.values()) for t in texts]


def _with_absent(
  one: Mapping[str, str], fields: Sequence[Mapping[str, str]]
) -> dict[str, str]:
  """Adds, as 'unset', the fields that only other runs of the method have."""
  return {
    name: one.get(name, _UNSET)
    for f in fields
    if f[_METHOD] == one[_METHOD]
    for name in f
  }


def _settle(
  values: Sequence[Mapping[str, str]], settling: Sequence[str], name: str
) -> bool:
  """Returns whether runs that agree in the settling fields agree in this one.

  A field that only some methods have, such as an estimator, does not settle
  fields that others have, too. The exception is fields with values of each
  method's own: rates are tuned for each estimator.
  """
  concerned = [v for v in values if name in v]
  if not name.startswith(_OF_THE_METHOD):
    settling = [n for n in settling if all(n in v for v in concerned)]
  seen = {}
  return all(
    seen.setdefault(tuple(v.get(n) for n in settling), v[name]) == v[name]
    for v in concerned
  )


def _rank(name: str) -> tuple[int, int]:
  """Returns the place of a field in labels, the most telling fields first."""
  if name in _FIRST:
    return 0, _FIRST.index(name)
  if name in _LAST:
    return 3, _LAST.index(name)
  return (1 if name.startswith('algorithm.') else 2), 0


def _shorten(name: str) -> str:
  short = name.rpartition('.')[2].removesuffix('_optimizer')
  return short.removeprefix('fisher_').replace('_', ' ')


def _plain(value: Any) -> str:
  return value.strip("'").replace('_', ' ')
