# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Meanings of metrics' names, such as whether a higher value is better.

Plain Python, without TensorFlow.
"""

import re

# |grad L_n|^2 of a round's clients, and the value that FLANP's criterion
# allows.
GRADIENT = 'train/gradient_norm_squared'
ALLOWED_GRADIENT = f'{GRADIENT}_allowed'
# The suffixes of a metric before personalisation, and of its standard deviation
# over clients.
_BEFORE = '_before'
_STD = '_client_std'
# The suffix of barriers weighted by the clients' examples.
_BY_EXAMPLES = '_by_examples'
SUFFIXES = (_BEFORE, '_worst_tenth', '_low_tenth', '_median', '_high_tenth')
# The numbers of examples of one class that were predicted as another.
_CONFUSION = re.compile(r'confusion_(.+)_as_(.+)')
_COUNTS = ('num_examples', 'num_tokens')
# The metrics of this package's models.
_KNOWN = re.compile(
  r'loss|mse|accuracy|accuracy_without_oov_and_eos|perplexity|num_tokens|macro_f1|'
  r'top_\d+_recall|f1_\w+|diverged_clients'
)
# The learning rate with which clients have personalised models.
PERSONALIZATION_RATE = 'personalization_learning_rate'
# The metrics from 0 to 1, and others of such a name: balanced_accuracy.
_SHARE = re.compile(r'(\w+_)?(accuracy|precision|recall|f1|auc)(_\w+)?')
_LOWER_IS_BETTER = ('loss', 'mse', 'mae', 'rmse', 'perplexity')


def higher_is_better(metric: str) -> bool:
  """Returns whether a higher value of a column is better."""
  if metric.startswith('csb/') or metric.endswith(_STD):
    return False
  return without_suffix(metric).rpartition('/')[2] not in _LOWER_IS_BETTER


def before(metric: str) -> str | None:
  """Returns the column of a metric before personalisation.

  Args:
    metric: A column, such as a metric or its median over clients.

  Returns:
    The column `_before` of the metric itself, since its statistics have none;
    None if `metric` is that column.
  """
  if metric.endswith(_BEFORE):
    return None
  return without_suffix(metric) + _BEFORE


def without_suffix(metric: str) -> str:
  """Returns a column's name without suffixes, such as those of statistics."""
  for suffix in (*SUFFIXES, _STD, _BY_EXAMPLES):
    metric = metric.removesuffix(suffix)
  return metric


def is_share(metric: str) -> bool:
  """Returns whether a column is a score from 0 to 1, such as an accuracy."""
  if metric.startswith('csb/') or metric.endswith(_STD):
    return False
  name = without_suffix(metric).rpartition('/')[2]
  return bool(_SHARE.fullmatch(name))


def confused_classes(metric: str) -> tuple[str, str] | None:
  """Returns the true and the predicted class; None for other metrics."""
  match = _CONFUSION.fullmatch(metric.rpartition('/')[2])
  return match and match.groups()


def is_known(metric: str) -> bool:
  """Returns whether a column is a metric of this package's models."""
  name = without_suffix(metric).rpartition('/')[2]
  return bool(_KNOWN.fullmatch(name) or _CONFUSION.fullmatch(name))


def is_count(metric: str) -> bool:
  """Returns whether a column is a count or a learning rate, not a score."""
  name = metric.rpartition('/')[2]
  return (
    name in (*_COUNTS, PERSONALIZATION_RATE)
    or confused_classes(name) is not None
  )
