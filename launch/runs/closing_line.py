# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The last line of a run: its scores, each with its model and data."""

from collections.abc import Mapping
from typing import Any

from fedfish_tff import datasets
from launch.results import column_titles
from launch.results import run_reader
from launch.results import text_table
from launch.runs import experiment as experiment_lib
from launch.runs import run_summary

# By column of a metric, the model in a part that names the data.
_HELD_OUT = {'global/{}': 'global model'}
# Both on the same examples, so that the difference is that of fine-tuning.
_HALVES = {
  'personalized/{}_before': 'before fine-tuning',
  'personalized/{}': 'after fine-tuning',
}
_NEW = {
  'new_global/{}': 'global model',
  'new_fine_tuned/{}': 'after fine-tuning',
}
_OWN = {
  'own_global/{}': 'global model',
  'own/{}': 'own models',
  'own_fine_tuned/{}': 'after fine-tuning',
}


def format_line(
  experiment: experiment_lib.Experiment, summary: Mapping[str, Any]
) -> str:
  """Returns the line, from the content of summary.json, without paths."""
  told = f'Done: {_rounds(experiment, summary)}.{_tell_problems(summary)}'
  if summary['status'] == run_summary.DIVERGED:
    told = run_summary.tell_divergence(summary)
    if run_reader.has_diverged_model(summary):
      return f'{told}.'
    told += f'; the model is that of round {summary["model_round"]}:'
  return f'{told} {_scores(experiment, summary)}.{_judge(experiment, summary)}'


def _scores(
  experiment: experiment_lib.Experiment, summary: Mapping[str, Any]
) -> str:
  """Returns 'Accuracy on 8 test clients: global model 0.83, ...'."""
  task, test = experiment.task, summary['test']
  final = {
    name.removeprefix('eval/'): value
    for name, value in summary['final'].items()
  }
  num_clients = len(task.test.client_ids)
  whose = text_table.count(num_clients, 'test client')
  if task.synthetic:
    whose += f' of {task.synthetic}'
  parts = [_tell(experiment, _HELD_OUT, test, whose, num_clients)]
  if f'personalized/{task.metric}' in test:
    scored = int(test.get('personalized/scored_clients', num_clients))
    clients = text_table.count(scored, 'test client')
    whose = f'a held-out half of the data of {clients}'
    parts.append(_tell(experiment, _HALVES, test, whose, scored))
  if task.own_test is not None:
    for columns, values, split in (
      (_NEW, test, 'test'),
      (_OWN, final, 'train'),
    ):
      scored = _count_own_test(task, getattr(task, split))
      name = 'training' if split == 'train' else split
      clients = text_table.count(scored, f'{name} client')
      whose = f'own test data of {clients}'
      parts.append(_tell(experiment, columns, values, whose, scored))
  title = column_titles.title(task.metric)
  return f'{title} {"; ".join(parts)}'


def _judge(
  experiment: experiment_lib.Experiment, summary: Mapping[str, Any]
) -> str:
  """Returns ' Judged by validation accuracy, global model: 0.81.'."""
  column = experiment.judged_column
  if column not in summary['final']:
    return ''
  score = _format(summary['final'][column])
  told = f' Judged by {_name(column)}: {score}'
  deciding = experiment.config.deciding
  if deciding is not None:
    (stopping,) = deciding.hooks(experiment)
    if stopping.column != column:
      name = deciding.name.replace('_', ' ')
      told += f'; {name} by {_name(stopping.column)}'
  return f'{told}.'


def _name(column: str) -> str:
  title = column_titles.title(column)
  return title[0].lower() + title[1:]


def _format(score: float | None) -> str:
  if score is None:
    return 'diverged'
  # A loss may be small, which is not 0.
  return f'{score:.4f}' if score == 0 or abs(score) >= 1e-3 else f'{score:.4g}'


def _rounds(
  experiment: experiment_lib.Experiment, summary: Mapping[str, Any]
) -> str:
  number = text_table.count(summary['rounds'], 'round')
  rounds = f'{number} of {experiment.config.label}'
  if reason := summary.get('stopped'):
    rounds += f', not {experiment.config.rounds}, since {reason}'
  if summary['model_round'] != summary['rounds']:
    rounds += f', with the model of round {summary["model_round"]}'
  for block in experiment.config.declared:
    rounds += block.tell(experiment.config, summary)
  return rounds


def _tell_problems(summary: Mapping[str, Any]) -> str:
  """Returns ' 2 rounds have diverged, the last is round 9.', or ''.

  So do updates that were left out since they were not finite.
  """
  told = ''
  if rounds := summary['diverged_rounds']:
    verb = 'have' if rounds[1:] else 'has'
    told = (
      f' {text_table.count(len(rounds), "round")} {verb} diverged, the last is '
      f'round {rounds[-1]}.'
    )
  if number := summary['totals'].get('excluded_clients'):
    verb = 'were' if number > 1 else 'was'
    told += (
      f' {text_table.count(number, "update")} of clients {verb} left out, since '
      'not finite.'
    )
  return told


def _count_own_test(task: Any, clients: datasets.ClientData) -> int:
  """Returns the number of clients with test data of their own."""
  known = set(task.own_test.client_ids)
  return sum(client in known for client in clients.client_ids)


def _tell(
  experiment: experiment_lib.Experiment,
  columns: Mapping[str, str],
  values: Mapping[str, float | None],
  whose: str,
  num_clients: int,
) -> str:
  """Returns 'on 8 test clients: global model 0.83, ...'."""
  told = []
  for template, model in columns.items():
    column = template.format(experiment.task.metric)
    if column not in values:
      continue
    value = values[column]
    score = _format(value)
    group = column.rpartition('/')[0]
    if value is None and (count := values.get(f'{group}/diverged_clients')):
      score += f' for {int(count)} of {num_clients} clients'
    told.append(f'{model} {score}')
  return f'on {whose}: {", ".join(told)}'
