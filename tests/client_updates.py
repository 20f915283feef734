# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's computation, in a graph but without a process around it."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from fedfish_tff import client_work
from fedfish_tff import models
from tests import numpy_reference as ref

import tensorflow as tf


def trace(
  compute: Callable[..., Any],
  *,
  model: models.ModelFn | None = None,
  weights: ref.Weights | None = None,
) -> Callable[[tf.data.Dataset], Any]:
  """Returns compute(bound model, flat weights, dataset) as a function.

  Args:
    compute: Builds the computation in the graph.
    model: A functional model; the reference's by default.
    weights: The trainable weights; those of the model by default.
  """
  model = model or ref.create_functional_model()
  bound = models.bind_model(model)
  weights = model.initial_weights[0] if weights is None else weights
  flat = models.FlatWeights(tuple(map(tf.constant, weights)), ())
  return tf.function(lambda dataset: compute(bound, flat, dataset))


def run(
  compute: Callable[..., Any],
  batches: Sequence[ref.Batch] | tf.data.Dataset,
  *,
  epochs: int = 1,
  **kwargs: Any,
) -> Any:
  """Runs what `trace` returns on batches, `epochs` times, or on a dataset."""
  if not isinstance(batches, tf.data.Dataset):
    batches = ref.to_dataset(batches, epochs=epochs)
  return trace(compute, **kwargs)(batches)


def run_update(
  update_fn: Callable[..., Any], batches: Sequence[ref.Batch], **kwargs: Any
) -> Any:
  """Returns what `run` does of an update function, in round 1."""
  return run(in_first_round(update_fn), batches, **kwargs)


def in_first_round(update_fn: Callable[..., Any]) -> Callable[..., Any]:
  """Returns (bound model, flat weights, dataset) -> update, in round 1."""
  return lambda bound, flat, dataset: update_fn(
    bound, client_work.Server(flat, tf.constant(1)), (), dataset
  )
