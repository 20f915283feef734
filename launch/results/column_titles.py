# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Titles of columns of metrics.csv and summary.json in figures and tables."""

_ACRONYMS = ('auc', 'f1', 'mae', 'mse', 'rmse')
# The split of clients and data, by the prefix of a column.
_SPLITS = {
  'eval/own': 'own test',
  'eval/unseen': "new clients' test",
  'eval': 'validation',
  'test': 'test',
  'train': 'training',
  'validation': 'validation',
  'validation/own': 'own test',
}
_DESCRIPTIONS = {
  'eval/global': 'global model on validation clients',
  'eval/own': "clients' own models on test data of their own",
  'eval/personalized': 'validation clients after personalisation',
  'eval/unseen': 'new clients on test data of their own',
  'csb': 'clients against the server',
  'train': 'training clients',
}
_MODELS = {
  'clients': ", clients' models",
  'personalized': ', personalised',
  'unseen': ', new clients',
}
_STATISTICS = {
  '_before': ' before',
  '_by_examples': ' by examples',
  '_client_std': ', deviation over clients',
  '_high_tenth': ', best tenth',
  '_low_tenth': ', low tenth',
  '_median': ', median',
  '_worst_tenth': ', worst tenth',
}


def title(column: str) -> str:
  """Returns 'Validation accuracy', 'Barrier in MSE' or 'Accuracy'.

  Args:
    column: A column of metrics.csv, a number of summary.json, such as
      `'test/personalized/accuracy_worst_tenth'`, or the name of a metric. The
      title tells the split, the model, if it is not the global one, and the
      statistic over clients.
  """
  prefix, _, name = column.rpartition('/')
  group, _, model = prefix.partition('/')
  statistic = next((s for s in _STATISTICS if name.endswith(s)), '')
  name = name.removesuffix(statistic)
  text = name.upper() if name in _ACRONYMS else name.replace('_', ' ')
  if group == 'csb':
    text = f'barrier in {text}'
  if prefix in _SPLITS:
    text = f'{_SPLITS[prefix]} {text}'
  elif group in _SPLITS:
    text = f'{_SPLITS[group]} {text}{_MODELS.get(model, "")}'
  text += _STATISTICS.get(statistic, '')
  return text[0].upper() + text[1:]


def describe(column: str) -> str:
  """Returns 'Accuracy, global model on validation clients', or the column."""
  prefix, _, name = column.rpartition('/')
  what = _DESCRIPTIONS.get(prefix)
  barrier = 'csb/' if prefix == 'csb' else ''
  return f'{title(barrier + name)}, {what}' if what else column
