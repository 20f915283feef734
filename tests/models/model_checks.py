# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics of functional models, and their gradients by differences."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from absl.testing import absltest
import numpy as np
import tensorflow as tf
import tensorflow_federated as tff


def draw_tokens(
  vocabulary_size: int, rows: int, length: int, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
  """Returns sentences without padding, and their next tokens."""
  rng = np.random.default_rng(seed)
  x = rng.integers(1, vocabulary_size, [rows, length + 1]).astype(np.int32)
  return x[:, :-1], x[:, 1:]


def measure(
  model: tff.learning.models.FunctionalModel,
  batches: Iterable[tuple[Any, Any]],
  *,
  predict: Callable[[Any], Any] | None = None,
) -> dict[str, np.ndarray]:
  """Returns the metrics of batches (x, y).

  Args:
    model: The model.
    batches: Inputs and labels.
    predict: The predictions of x; the model's at its start by default.
  """
  if predict is None:

    def predict(x):
      return model.predict_on_batch(model.initial_weights, x, training=False)

  state = model.initialize_metrics_state()
  for x, y in batches:
    output = predict(x)
    state = model.update_metrics_state(
      state,
      labels=y,
      batch_output=tff.learning.models.BatchOutput(
        loss=model.loss(output, y), predictions=output, num_examples=len(y)
      ),
    )
  return {k: v.numpy() for k, v in model.finalize_metrics(state).items()}


def check_gradient(
  test: absltest.TestCase,
  model: tff.learning.models.FunctionalModel,
  weights: Sequence[np.ndarray],
  batch: tuple[np.ndarray, np.ndarray],
  loss_fn: Callable[[Sequence[np.ndarray]], float],
  *,
  delta: float,
) -> None:
  """Compares each weight's gradient with differences of a reference's loss.

  Args:
    test: The test.
    model: The model.
    weights: The weights in float64.
    batch: Inputs and labels.
    loss_fn: The reference: the loss of the batch, from weights in float64.
    delta: The largest difference of derivatives.
  """
  x, y = batch
  tensors = [tf.constant(w, tf.float32) for w in weights]
  with tf.GradientTape() as tape:
    tape.watch(tensors)
    loss = model.loss(model.predict_on_batch((tensors, ()), x), y)
  rng = np.random.default_rng(2)
  step = 1e-5
  # Each weight by itself, in a direction of its own.
  for i, gradient in enumerate(tape.gradient(loss, tensors)):
    direction = rng.standard_normal(weights[i].shape)
    ends = []
    for sign in (1, -1):
      moved = list(weights)
      moved[i] = weights[i] + sign * step * direction
      ends.append(loss_fn(moved))
    expected = (ends[0] - ends[1]) / (2 * step)
    found = np.sum(tf.convert_to_tensor(gradient).numpy() * direction)
    test.assertAlmostEqual(found, expected, delta=delta, msg=str(i))
