# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Chooses among weights on held-out clients, such as those of many lambdas."""

from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

from fedfish_tff import errors
from fedfish_tff.evaluation import client_scorer
from fedfish_tff.evaluation import ranking
from fedfish_tff.models import model_functions

_Key = TypeVar('_Key', bound=Hashable)


def select_weights(
  model: model_functions.ModelFn,
  candidates: Mapping[_Key, Any],
  client_data: Sequence[Any],
  *,
  metric: str = 'accuracy',
  higher_is_better: bool = True,
) -> ranking.Selection:
  """Evaluates weights on clients and chooses the best.

  Args:
    model: A functional model, or a function that returns a variable model.
    candidates: Weights of the model by what tells them apart, such as the
      lambdas of `models.solve_ridge_path`.
    client_data: Batches of each held-out client, as the context takes them.
    metric: The metric, over all clients' examples together.
    higher_is_better: Whether larger values of the metric are better.

  Returns:
    The best and the metric of all.

  Raises:
    errors.InputError: If there are no candidates, the model has no such metric,
      or it is a number for none of them.
  """
  evaluate = client_scorer.ClientScorer(model)
  chunks = [[{'test': client} for client in client_data]]
  values = {}
  for key, weights in candidates.items():
    metrics = evaluate(weights, chunks).total
    if metric not in metrics:
      raise errors.InputError(
        f'The model has no metric {metric!r}; one of {", ".join(metrics)} was '
        'expected.'
      )
    values[key] = float(metrics[metric])
  selection = ranking.select_best(values, higher_is_better=higher_is_better)
  if selection is None:
    raise errors.InputError(
      f'The {metric} on held-out clients is a number for none of '
      f'{len(values)} candidates; candidates with finite weights and clients '
      'with examples were expected.'
    )
  return selection
