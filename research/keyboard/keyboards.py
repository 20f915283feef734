# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Suggestions of trained keyboards, and their recall on test users."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import math
import os
import pathlib

from fedfish_tff import errors
from fedfish_tff import trust as trust_lib
from launch.methods import config as config_lib
from launch.results import run_reader
from launch.results import text_table
from launch.runs import held_out_evaluation
from launch.runs import trained_run
from tasks import networks
from tasks.task import Task
from tasks.text import keyboard

import numpy as np
import tensorflow as tf

_NUM_SUGGESTIONS = 3
_COUNTS = (1, _NUM_SUGGESTIONS)

# The number of each user's words that were suggested, by the number of
# suggestions.
Recalled = Mapping[int, np.ndarray]


def build_suggester(
  workdir: str | os.PathLike[str],
  *,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
) -> Callable[[str], list[str]]:
  """Builds a function that suggests the next word of a text.

  Args:
    workdir: A workdir of the task keyboard with at least one checkpoint.
    data_dir: The folder of the data; None for that of training.
    trust: The trust in the workdir's config.

  Returns:
    A function from a text, of which only the last sentence counts, to the
    likeliest next words, the likeliest first.
  """
  check_is_keyboard(workdir)
  experiment, folder = trained_run.read_run(
    workdir, data_dir=data_dir, trust=trust
  )
  result = trained_run.load_result(experiment, folder)
  weights = experiment.process.get_model_weights(result.state)
  vocabulary = experiment.task.transfer_options['vocabulary']
  special = vocabulary.special_tokens

  # The signature makes one trace serve any number of words.
  @tf.function(input_signature=[tf.TensorSpec([1, None], tf.int32)])
  def predict(x: tf.Tensor) -> tf.Tensor:
    return experiment.model.predict_on_batch(weights, x, training=False)

  def suggest(text: str) -> list[str]:
    typed = vocabulary.encode(keyboard.split_sentences(text)[-1])
    logits = predict(np.array([[special.bos, *typed]], np.int32))[0, -1]
    ids = np.argsort(-logits.numpy(), kind='stable')
    words = ids[~np.isin(ids, special)][:_NUM_SUGGESTIONS]
    return [vocabulary.decode([word]) for word in words]

  return suggest


def check_is_keyboard(workdir: str | os.PathLike[str]) -> None:
  """Raises an InputError unless a workdir's task is keyboard."""
  name = run_reader.read_config(workdir)['task']['name']
  if name != keyboard.NAME:
    raise errors.InputError(
      f'The task of {workdir} must be {keyboard.NAME!r}, got {name!r}.'
    )


def compare(
  workdirs: Sequence[str],
  *,
  order: int,
  data_dir: str | None = None,
  trust: trust_lib.Trust = trust_lib.NONE,
) -> str:
  """Returns a table of the recall on test users.

  Args:
    workdirs: The workdirs of the task keyboard, with the same vocabulary.
    order: The n of the n-gram model.
    data_dir: The folder of the data; None for that of training.
    trust: The trust in the workdirs' configs.
  """
  for workdir in workdirs:
    check_is_keyboard(workdir)
  recalled, task = {}, None
  # The server's model comes first, as in the paper.
  for workdir in sorted(
    workdirs, key=lambda w: not run_reader.read_config(w)['task']['central']
  ):
    experiment, folder = trained_run.read_run(
      workdir, data_dir=data_dir, trust=trust
    )
    result = trained_run.load_result(experiment, folder)
    if task is None:
      task = experiment.task
      typed = np.array([is_typed.sum() for *_, is_typed in _test_rows(task)])
      recalled[f'{order}-gram'] = _score_ngrams(task, order)
    if _words(experiment.task) != _words(task):
      raise errors.InputError(
        f'The workdirs must have one vocabulary, got another one in {workdir}.'
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
      for k in _COUNTS
    }
  return format_table(recalled, typed)


def pool_recall(recalled: np.ndarray, typed: np.ndarray) -> tuple[float, float]:
  """Returns the recall of all words, and its standard error over users.

  The error, NaN for a single user, is that of a ratio of two means (Cochran,
  Sampling Techniques, 1977, chapter 6), because users type different numbers of
  words.

  Args:
    recalled: The number of each user's words that were suggested, [users].
    typed: The number of words that each user typed, [users].
  """
  value = recalled.sum() / typed.sum()
  users = len(typed)
  if users < 2:
    return value, math.nan
  square = ((recalled - value * typed) ** 2).sum() * users / (users - 1)
  return value, math.sqrt(square) / typed.sum()


def format_table(recalled: Mapping[str, Recalled], typed: np.ndarray) -> str:
  """Returns a table in %, as in Hard et al. (2018), with the numbers of words.

  Args:
    recalled: The number of each user's recalled words, by model and number of
      suggestions.
    typed: The number of each user's words; at least one in total.
  """
  rows = [('Model', *(f'Top-{k} recall [%]' for k in _COUNTS))]
  for model, by_count in recalled.items():
    cells = (_format(*pool_recall(by_count[k], typed)) for k in _COUNTS)
    rows.append((model, *cells))
  return (
    f'{text_table.align(rows)}\n'
    f'Of {typed.sum():,} words of {len(typed):,} test users; ± is the '
    'standard error over users.'
  )


def _format(value: float, error: float) -> str:
  spread = '' if math.isnan(error) else f' ± {100 * error:.2f}'
  return f'{100 * value:.2f}{spread}'


def _words(task: Task) -> str:
  return task.transfer_options['vocabulary'].to_json()


def _label(config: config_lib.Config) -> str:
  parts = ['Server CIFG' if config.task['central'] else 'Federated CIFG']
  if config.method.name != 'fed_avg':
    parts.append(config.method.title)
  if 'privacy' in config.blocks:
    parts.append('with DP')
  return ', '.join(parts)


def _test_rows(
  task: Task,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
  """Returns each test user's x, y, and a mask of y that is true for words."""
  pad, bos, eos, _ = task.transfer_options['vocabulary'].special_tokens
  rows = map(task.test.load_client, task.test.client_ids)
  return [(x, y, ~np.isin(y, [pad, bos, eos])) for x, y in rows]


def _score_ngrams(task: Task, order: int) -> Recalled:
  """Returns the recall of an n-gram model of the training users' texts."""
  vocabulary = task.transfer_options['vocabulary']
  clients = map(task.train.load_client, task.train.client_ids)
  model = networks.KneserNeyModel(
    *map(np.concatenate, zip(*clients)),
    order=order,
    vocabulary_size=vocabulary.size,
    special_tokens=vocabulary.special_tokens,
    num_suggestions=_NUM_SUGGESTIONS,
  )
  recalled = {k: [] for k in _COUNTS}
  for x, y, _ in _test_rows(task):
    # Words outside the vocabulary are never suggested.
    is_suggested = model.suggest(x) == y[..., np.newaxis]
    for k, counts in recalled.items():
      counts.append(is_suggested[..., :k].sum())
  return {k: np.array(counts) for k, counts in recalled.items()}
