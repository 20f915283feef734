# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the names of metrics say: whether more is better, for example.

Plain Python, without TensorFlow.
"""

# Of a metric before personalisation, and over the worst tenth of clients.
SUFFIXES = ('_before', '_worst_tenth')
_LOWER_IS_BETTER = ('loss', 'mse', 'mae', 'rmse', 'perplexity')


def higher_is_better(metric: str) -> bool:
  """Whether a column is better when higher; barriers and losses are not."""
  if metric.startswith('csb/'):
    return False
  name = metric.rpartition('/')[2]
  for suffix in SUFFIXES:
    name = name.removesuffix(suffix)
  return name not in _LOWER_IS_BETTER
