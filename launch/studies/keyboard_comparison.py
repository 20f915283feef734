# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trained keyboards, and an n-gram model of the same texts, on held-out users."""

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
from typing import Any

from fedfish_tff import errors
from fedfish_tff import models
from launch.methods import registry
from launch.results import run_reader
from launch.runs import held_out_evaluation
from launch.runs import trained_run
from launch.studies import recall_table
from launch.studies import word_suggestions
from tasks.task import Task

import numpy as np

NUM_SUGGESTIONS = (1, 3)

# By number of suggestions, how many of each user's words were among them.
_Recalled = Mapping[int, np.ndarray]


def compare(workdirs: Sequence[str], *, order: int, **options: Any) -> str:
  """Returns a table of the recall on test users.

  Args:
    workdirs: Workdirs of the task keyboard, with one vocabulary.
    order: Of the n-gram model.
    **options: Of `trained_run.open_run`.

  Raises:
    errors.InputError: If something cannot be used or read.
  """
  for workdir in workdirs:
    word_suggestions.check_is_keyboard(workdir)
  recalled, task = {}, None
  # The server's model comes first, as in the paper.
  for workdir in sorted(workdirs, key=lambda w: not _is_central(w)):
    with trained_run.open_run(workdir, **options) as (experiment, folder):
      result = trained_run.load_result(experiment, folder)
      if task is None:
        task = experiment.task
        typed = np.array([is_typed.sum() for *_, is_typed in _test_rows(task)])
        recalled[f'{order}-gram'] = _score_ngrams(task, order)
      if _words(experiment.task) != _words(task):
        raise errors.InputError(
          f'The vocabulary of {workdir} is not that of the others; workdirs '
          'with one vocabulary were expected.'
        )
      label = _label(experiment.config)
      if label in recalled:
        label += f' ({pathlib.Path(workdir).name})'
      scores = held_out_evaluation.score_all_examples(
        experiment,
        experiment.process.get_model_weights(result.state),
        experiment.task.test,
      )
    recalled[label] = {
      k: typed * [row[f'global/top_{k}_recall'] for row in scores.rows.values()]
      for k in NUM_SUGGESTIONS
    }
  return recall_table.format_table(recalled, typed)


def _is_central(workdir: str) -> bool:
  return run_reader.read_config(workdir)['task']['central']


def _words(task: Task) -> str:
  return task.transfer_options['vocabulary'].to_json()


def _label(config: Mapping[str, Any]) -> str:
  parts = ['Server CIFG' if config['task']['central'] else 'Federated CIFG']
  if config['algorithm']['name'] != 'fed_avg':
    parts.append(registry.method_of(config).title)
  if 'privacy' in config:
    parts.append('with DP')
  return ', '.join(parts)


def _test_rows(
  task: Task,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
  """Returns each test user's x, y, and which of y are words to be typed."""
  pad, bos, eos, _ = task.transfer_options['vocabulary'].special_tokens
  rows = map(task.test.load_client, task.test.client_ids)
  return [(x, y, ~np.isin(y, [pad, bos, eos])) for x, y in rows]


def _score_ngrams(task: Task, order: int) -> _Recalled:
  """Returns what an n-gram model of the training users' texts recalls."""
  vocabulary = task.transfer_options['vocabulary']
  clients = map(task.train.load_client, task.train.client_ids)
  model = models.KneserNeyModel(
    *map(np.concatenate, zip(*clients)),
    order=order,
    vocabulary_size=vocabulary.size,
    special_tokens=vocabulary.special_tokens,
    num_suggestions=max(NUM_SUGGESTIONS),
  )
  recalled = {k: [] for k in NUM_SUGGESTIONS}
  for x, y, _ in _test_rows(task):
    # Words that are out of vocabulary are never suggested.
    is_suggested = model.suggest(x) == y[..., np.newaxis]
    for k, counts in recalled.items():
      counts.append(is_suggested[..., :k].sum())
  return {k: np.array(counts) for k, counts in recalled.items()}
