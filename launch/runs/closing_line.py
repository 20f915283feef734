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

# By group of columns, the model in a part that names the data.
_HELD_OUT = {'global': 'global model', 'personalized': 'after fine-tuning'}
_NEW = {'new_global': 'global model', 'new_fine_tuned': 'after fine-tuning'}
_OWN = {
  'own_global': 'global model',
  'own': 'own models',
  'own_fine_tuned': 'after fine-tuning',
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
  task = experiment.task
  final = {
    name.removeprefix('eval/'): value
    for name, value in summary['final'].items()
  }
  whose = text_table.count(len(task.test.client_ids), 'test client')
  if task.synthetic:
    whose += f' of {task.synthetic}'
  parts = [_tell(experiment, _HELD_OUT, summary['test'], whose, task.test)]
  if task.own_test is not None:
    for groups, values, split in (
      (_NEW, summary['test'], 'test'),
      (_OWN, final, 'train'),
    ):
      scored = _with_own_test(task, getattr(task, split))
      name = 'training' if split == 'train' else split
      clients = text_table.count(len(scored), f'{name} client')
      whose = f'own test data of {clients}'
      parts.append(_tell(experiment, groups, values, whose, scored))
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


def _with_own_test(task: Any, clients: datasets.ClientData) -> list[str]:
  known = set(task.own_test.client_ids)
  return [client for client in clients.client_ids if client in known]


def _tell(
  experiment: experiment_lib.Experiment,
  groups: Mapping[str, str],
  values: Mapping[str, float | None],
  whose: str,
  clients: Any,
) -> str:
  """Returns 'on 8 test clients: global model 0.83, ...'."""
  told = []
  for group, model in groups.items():
    column = f'{group}/{experiment.task.metric}'
    if column not in values:
      continue
    value = values[column]
    score = _format(value)
    if value is None and (count := values.get(f'{group}/diverged_clients')):
      score += f' for {int(count)} of {_count(group, clients)} clients'
    told.append(f'{model} {score}')
  return f'on {whose}: {", ".join(told)}'


def _count(group: str, clients: Any) -> int:
  """Returns the number of clients that are scored."""
  if group != 'personalized':
    return len(getattr(clients, 'client_ids', clients))
  # The others have no half to be scored on.
  return sum(
    datasets.count_examples(clients.load_client(client_id)) > 1
    for client_id in clients.client_ids
  )
