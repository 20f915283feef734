# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Titles of columns of metrics.csv and summary.json in figures and tables."""

_ACRONYMS = ('auc', 'f1', 'mae', 'mse', 'rmse')
# The clients, by the first part of a column.
_CLIENTS = {
  'eval': 'validation',
  'test': 'test',
  'train': 'training',
  'validation': 'validation',
}
_BARRIER = 'clients against the server'
# By the second part, the model that is scored, and the data.
MODELS = {
  'clients': "clients' models",
  'global': 'global model',
  'new_fine_tuned': 'after fine-tuning',
  'new_global': 'global model',
  'own': 'own models',
  'own_fine_tuned': 'after fine-tuning',
  'own_global': 'global model',
  'personalized': 'after fine-tuning on the other',
}
_DATA = {
  'global': '{} clients',
  'new_fine_tuned': "{} clients' own test data",
  'new_global': "{} clients' own test data",
  'own': "training clients' own test data",
  'own_fine_tuned': "training clients' own test data",
  'own_global': "training clients' own test data",
  'personalized': 'one half of the data of {} clients',
}
_BEFORE = '_before'
_STATISTICS = {
  '_by_examples': ' by examples',
  '_client_mean': ', mean over clients',
  '_client_std': ', deviation over clients',
  '_high_tenth': ', 90th percentile',
  '_jain_index': ", Jain's index",
  '_low_tenth': ', 10th percentile',
  '_median': ', median',
  '_pld': ' by PLD',
  '_rdp': ' by RDP',
  '_worst_tenth': ', worst tenth',
}


def title(column: str) -> str:
  """Returns 'Validation accuracy, global model', 'Barrier in MSE' or 'Accuracy'.

  Args:
    column: A column of metrics.csv, a number of summary.json, such as
      `'test/personalized/accuracy_worst_tenth'`, or the name of a metric. The
      title tells the clients, their own test data or one half of their data, if
      it is scored on that alone, the model and the statistic over clients.
  """
  group, model, name, statistic = _parse(column)
  if group == 'csb':
    text = f'barrier in {name}'
  elif model in _DATA and 'own test' in _DATA[model]:
    whose = _DATA[model].format(_CLIENTS.get(group, group))
    text = f'{whose.removesuffix(" data")} {name}'
  else:
    text = f'{_CLIENTS[group]} {name}' if group in _CLIENTS else name
    text += ' on one half' * (model == 'personalized')
  told = [text, *([MODELS[model]] if model in MODELS else [])]
  text = ', '.join(told) + _STATISTICS.get(statistic, '')
  return _model_before(column, text[0].upper() + text[1:])


def describe(column: str) -> str:
  """Returns 'Accuracy, global model on validation clients', or the column."""
  group, model, name, statistic = _parse(column)
  told = _STATISTICS.get(statistic, '')
  text = title(name)
  if group == 'csb':
    return f'Barrier in {name}{told}, {_BARRIER}'
  if group == 'train' and not model:
    return f'{text}{told}, training clients'
  if group not in _CLIENTS or model not in _DATA:
    return column
  whose = _DATA[model].format(_CLIENTS[group])
  if MODELS[model].startswith('after'):
    text = f'{text} on {whose}, {MODELS[model]}{told}'
    return _model_before(column, text)
  return f'{text}{told}, {MODELS[model]} on {whose}'


def judges(judged_by: str, metric: str) -> str:
  """Returns a clause with the score that judges, on validation clients."""
  return describe(f'validation/{judged_by}/{metric}')


def _parse(column: str) -> tuple[str, str, str, str]:
  """Returns the group, the model, the words of the metric and its suffix."""
  prefix, _, name = column.rpartition('/')
  group, _, model = prefix.partition('/')
  name = name.removesuffix(_BEFORE)
  statistic = next((s for s in _STATISTICS if name.endswith(s)), '')
  name = name.removesuffix(statistic)
  name = name.upper() if name in _ACRONYMS else name.replace('_', ' ')
  return group, model, name, statistic


def _model_before(column: str, text: str) -> str:
  if column.endswith(_BEFORE):
    return text.replace('after fine-tuning', 'before fine-tuning')
  return text
