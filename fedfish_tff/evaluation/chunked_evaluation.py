# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Evaluates weights on any number of clients, some of them at a time.

A computation over all clients has all of their data in memory at once, as
copies. Here only one group of clients is, and the metrics over all examples are
still exact, for any metric whose states add up, as TFF asks: what is added up
over the groups are the metrics' states, not their values.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from fedfish_tff import errors
from fedfish_tff.evaluation import client_evaluation
from fedfish_tff.evaluation import personalization
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


class ChunkedResult(NamedTuple):
  """What weights score.

  Attributes:
    total: `num_examples` and the metrics over all examples.
    per_client: The same of each client, in the order they were given in.
  """

  total: collections.OrderedDict[str, Any]
  per_client: list[Mapping[str, Any]]


class ChunkedEvaluation:
  """Global and per-client metrics in one pass over groups of clients."""

  def __init__(
    self,
    model: model_functions.ModelFn,
    local_training: tff.Computation | None = None,
  ) -> None:
    """Builds the computations.

    Args:
      model: A functional model, or a function that returns a variable model.
      local_training: With it, each client's data are `train` and `test`, and
        its weights are trained on the former first. The metrics over all
        examples are then those over the clients that have not diverged.
    """
    if local_training is None:
      self._totals = client_evaluation.build_metric_totals(model)
    else:
      self._totals = personalization.build_personalization_totals(
        model, local_training
      )
    self._finalize = client_evaluation.build_totals_finalizer(
      model, self._totals
    )

  def __call__(
    self,
    weights: tff.learning.models.ModelWeights,
    chunks: Iterable[Sequence[Any]],
  ) -> ChunkedResult:
    """Evaluates weights.

    Args:
      weights: The model's weights.
      chunks: Groups of clients' data, as the current context takes them; each
        is used before the next is asked for. The groups' sizes change results
        by rounding at most.

    Returns:
      The metrics, NaN where missing: see `client_evaluation`.

    Raises:
      errors.InputError: If there is no group at all.
    """
    total, per_client = None, []
    for chunk in chunks:
      result = self._totals(weights, list(chunk))
      per_client += result['clients']
      total = (
        result['total']
        if total is None
        else tf.nest.map_structure(np.add, total, result['total'])
      )
      # Or it would be in memory while the next group is made.
      del chunk
    if total is None:
      raise errors.InputError(
        'There is no client to evaluate on; at least one was expected.'
      )
    return ChunkedResult(self._finalize(weights, total), per_client)
