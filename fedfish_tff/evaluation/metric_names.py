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
# and mean over clients.
_BEFORE = '_before'
_STD = '_client_std'
_CLIENT_MEAN = '_client_mean'
_JAIN = '_jain_index'
# The ends of the groups of columns of a model.
_PERSONALIZED = 'personalized'
_FINE_TUNED = '_fine_tuned'
_GLOBAL = '_global'
# The groups of columns of the server's model on all data of clients, and on a half.
_OF_SERVER = ('global', 'before')
# The suffix of barriers weighted by the clients' examples.
_BY_EXAMPLES = '_by_examples'
SUFFIXES = (_BEFORE, '_worst_tenth', '_low_tenth', '_median', '_high_tenth')
# The numbers of examples of one class that were predicted as another.
_CONFUSION = re.compile(r'confusion_(.+)_as_(.+)')
_COUNTS = ('num_examples', 'num_tokens', 'diverged_clients', 'scored_clients')
# The metrics of this package's models.
_KNOWN = re.compile(
  r'loss|mse|accuracy|accuracy_without_oov_and_eos|perplexity|num_tokens|macro_f1|'
  r'top_\d+_recall|f1_\w+|diverged_clients|scored_clients'
)
# The learning rate with which clients have personalised models.
PERSONALIZATION_RATE = 'personalization_learning_rate'
# The metrics from 0 to 1, and others of such a name: balanced_accuracy.
_SHARE = re.compile(r'(\w+_)?(accuracy|precision|recall|f1|auc)(_\w+)?')
# Names of errors, also as a word of a longer name, such as those of Keras.
_ERROR = re.compile(
  r'(\w+_)?(loss|errors?|r?mse|r?msle|mae|mape|perplexity|cross_?entropy|'
  r'hinge|huber|divergence|log_?cosh|poisson|false_(negatives|positives))'
  r'(_\w+)?'
)


def higher_is_better(metric: str, declared: bool | None = None) -> bool:
  """Returns whether a higher value of a column is better.

  Args:
    metric: The column, such as `eval/global/accuracy`.
    declared: Whether a higher value of its metric is better, as a task declares
      it; None if its name decides.
  """
  if metric.startswith('csb/') or metric.endswith(_STD):
    return False
  if metric.endswith(_JAIN):
    return True
  if declared is not None:
    return declared
  name = without_suffix(metric).rpartition('/')[2]
  # f1_error is the score of the class error.
  return bool(_SHARE.fullmatch(name)) or not _ERROR.fullmatch(name)


def before(metric: str) -> str | None:
  """Returns the column of the model that is fine-tuned, before that.

  Args:
    metric: A column after fine-tuning, such as a metric or its median over
      clients.

  Returns:
    `own_global/<metric>` for `own_fine_tuned/<metric>`, and
    `personalized/<metric>_before` for `personalized/<metric>`; None for other
    columns, such as statistics of `personalized`, which have none before it.
  """
  prefix, _, name = metric.rpartition('/')
  if prefix.endswith(_FINE_TUNED):
    return f'{prefix.removesuffix(_FINE_TUNED)}{_GLOBAL}/{name}'
  if prefix.endswith(_PERSONALIZED) and name == without_suffix(name):
    return metric + _BEFORE
  return None


def is_fine_tuned(metric: str) -> bool:
  """Returns whether a column scores models after fine-tuning."""
  prefix = metric.rpartition('/')[0]
  return prefix.endswith((_PERSONALIZED, _FINE_TUNED)) and not metric.endswith(
    _BEFORE
  )


def is_of_server(metric: str) -> bool:
  """Returns whether a column scores the server's model before fine-tuning."""
  prefix, _, name = metric.rpartition('/')
  group = prefix.rpartition('/')[2]
  return (
    group in _OF_SERVER or group.endswith(_GLOBAL) or name.endswith(_BEFORE)
  )


def without_suffix(metric: str) -> str:
  """Returns a column's name without suffixes, such as those of statistics."""
  for suffix in (*SUFFIXES, _STD, _CLIENT_MEAN, _JAIN, _BY_EXAMPLES):
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
