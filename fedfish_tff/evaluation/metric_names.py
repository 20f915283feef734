# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the names of metrics say: whether more is better, for example.

Plain Python, without TensorFlow.
"""

import re

# |grad L_n|^2 of a round's clients, and how much of it FLANP's criterion allows.
GRADIENT = 'train/gradient_norm_squared'
ALLOWED_GRADIENT = f'{GRADIENT}_allowed'
# Of a metric before personalisation, and of its values over clients.
_BEFORE = '_before'
_STD = '_client_std'
# Of barriers over clients by their examples.
_BY_EXAMPLES = '_by_examples'
SUFFIXES = (_BEFORE, '_worst_tenth', '_low_tenth', '_median', '_high_tenth')
# How often examples of one class were taken for those of another.
_CONFUSION = re.compile(r'confusion_(.+)_as_(.+)')
_COUNTS = ('num_examples', 'num_tokens')
# What models of this package measure.
_KNOWN = re.compile(
  r'loss|mse|accuracy|accuracy_without_oov_and_eos|perplexity|num_tokens|macro_f1|'
  r'top_\d+_recall|f1_\w+|diverged_clients'
)
# With which learning rate clients have made models their own.
PERSONALIZATION_RATE = 'personalization_learning_rate'
_LOWER_IS_BETTER = ('loss', 'mse', 'mae', 'rmse', 'perplexity')


def higher_is_better(metric: str) -> bool:
  """Whether a column is better when higher; barriers and losses are not."""
  if metric.startswith('csb/') or metric.endswith(_STD):
    return False
  return without_suffix(metric).rpartition('/')[2] not in _LOWER_IS_BETTER


def before(metric: str) -> str | None:
  """Returns the column of a metric before personalisation.

  Args:
    metric: A column, such as a metric or its median over clients.

  Returns:
    The metric's, since there is no other; None if it is that column.
  """
  if metric.endswith(_BEFORE):
    return None
  return without_suffix(metric) + _BEFORE


def without_suffix(metric: str) -> str:
  """Returns a column's name without what is said of its values over clients."""
  for suffix in (*SUFFIXES, _STD, _BY_EXAMPLES):
    metric = metric.removesuffix(suffix)
  return metric


def confused_classes(metric: str) -> tuple[str, str] | None:
  """Returns the class and what it was taken for; None for other metrics."""
  match = _CONFUSION.fullmatch(metric.rpartition('/')[2])
  return match and match.groups()


def is_known(metric: str) -> bool:
  """Whether it is a column of a metric that models of this package have."""
  name = without_suffix(metric).rpartition('/')[2]
  return bool(_KNOWN.fullmatch(name) or _CONFUSION.fullmatch(name))


def is_count(metric: str) -> bool:
  """Whether a column counts examples, tokens: it is no score of a model.

  Nor is a learning rate.
  """
  name = metric.rpartition('/')[2]
  return (
    name in (*_COUNTS, PERSONALIZATION_RATE)
    or confused_classes(name) is not None
  )
