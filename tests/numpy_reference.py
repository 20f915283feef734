# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plain NumPy versions of a small network and of what clients do with it.

The references that the TensorFlow code is tested against: written from the
papers' pseudo-code with hand-derived gradients, in float64, one example loop
at a time, and sharing nothing with the package.
"""

import collections
from collections.abc import Sequence
import itertools

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

NUM_FEATURES = 4
NUM_HIDDEN = 5
NUM_CLASSES = 3

Weights = tuple[np.ndarray, ...]
Batch = tuple[np.ndarray, np.ndarray]


def initial_weights(seed: int = 0) -> Weights:
  """Weights of the tanh network 4-5-3, float32."""
  rng = np.random.default_rng(seed)
  return tuple(
    rng.normal(scale=0.5, size=shape).astype(np.float32)
    for shape in (
      (NUM_FEATURES, NUM_HIDDEN),
      (NUM_HIDDEN,),
      (NUM_HIDDEN, NUM_CLASSES),
      (NUM_CLASSES,),
    )
  )


def make_batches(
  num_examples: int, seed: int, *, batch_size: int = 4
) -> list[Batch]:
  """One epoch of random labelled examples, the last batch ragged."""
  rng = np.random.default_rng([seed, 1])
  x = rng.normal(size=(num_examples, NUM_FEATURES)).astype(np.float32)
  y = rng.integers(0, NUM_CLASSES, num_examples).astype(np.int32)
  return [
    (x[i : i + batch_size], y[i : i + batch_size])
    for i in range(0, num_examples, batch_size)
  ]


def to_dataset(batches: Sequence[Batch], *, epochs: int = 1) -> tf.data.Dataset:
  """The batches as a `tf.data.Dataset`, `epochs` times one after another."""
  # TFF ships datasets to its runtime as graphs, so no Python generator.
  dataset = tf.data.Dataset.from_tensor_slices(
    (
      np.zeros([0, NUM_FEATURES], np.float32),
      np.zeros([0], np.int32),
    )
  ).batch(1)
  for x, y in batches:
    dataset = dataset.concatenate(
      tf.data.Dataset.from_tensor_slices((x, y)).batch(len(y))
    )
  return dataset.repeat(epochs)


def input_spec() -> tuple[tf.TensorSpec, tf.TensorSpec]:
  """Specs of a batch (x, y)."""
  return (
    tf.TensorSpec([None, NUM_FEATURES], tf.float32),
    tf.TensorSpec([None], tf.int32),
  )


def gradients(weights: Weights, x: np.ndarray, y: np.ndarray) -> Weights:
  """Gradients of the mean softmax cross-entropy, by hand, float64."""
  w1, b1, w2, b2 = (np.asarray(w, np.float64) for w in weights)
  x = np.asarray(x, np.float64)
  hidden = np.tanh(x @ w1 + b1)
  logits = hidden @ w2 + b2
  p = np.exp(logits - logits.max(axis=1, keepdims=True))
  p /= p.sum(axis=1, keepdims=True)
  d_logits = p.copy()
  d_logits[np.arange(len(y)), y] -= 1
  d_logits /= len(y)
  d_hidden = (d_logits @ w2.T) * (1 - hidden**2)
  return (
    x.T @ d_hidden,
    d_hidden.sum(axis=0),
    hidden.T @ d_logits,
    d_logits.sum(axis=0),
  )


def hessian_product(
  weights: Weights,
  x: np.ndarray,
  y: np.ndarray,
  vector: Weights,
  *,
  difference: float = 1e-5,
) -> Weights:
  """The loss' Hessian times a vector by central differences, float64.

  By the default difference exact to 9 digits or so.
  """
  ahead, behind = (
    gradients(
      tuple(
        np.float64(w) + step * np.float64(v) for w, v in zip(weights, vector)
      ),
      x,
      y,
    )
    for step in (difference, -difference)
  )
  return tuple((a - b) / (2 * difference) for a, b in zip(ahead, behind))


def maml_step(
  weights: Weights,
  batches: Sequence[Batch],
  *,
  rate: float,
  personal_rate: float,
  difference: float | None,
) -> Weights:
  """A local step of Per-FedAvg on (D, D', D'') or, of first order, (D, D').

  Without a difference the Hessian is exact.
  """
  weights = tuple(np.float64(w) for w in weights)
  adapted = tuple(
    w - personal_rate * g
    for w, g in zip(weights, gradients(weights, *batches[0]))
  )
  gradient = gradients(adapted, *batches[1])
  if len(batches) > 2:
    product = hessian_product(
      weights, *batches[2], gradient, difference=difference or 1e-5
    )
    gradient = tuple(g - personal_rate * p for g, p in zip(gradient, product))
  return tuple(w - rate * g for w, g in zip(weights, gradient))


def maml_train(
  weights: Weights, batches: Sequence[Batch], *, step_size: int, **kwargs
) -> Weights:
  """Takes `maml_step`s on so many batches each.

  A step that lacks batches goes on with the first ones.
  """
  for first in range(0, len(batches), step_size):
    cycle = itertools.cycle(batches)
    step = list(itertools.islice(cycle, first, first + step_size))
    weights = maml_step(weights, step, **kwargs)
  return weights


def probabilities(weights: Weights, x: np.ndarray) -> np.ndarray:
  """Class probabilities, float64 [n, classes]."""
  w1, b1, w2, b2 = (np.asarray(w, np.float64) for w in weights)
  logits = np.tanh(np.asarray(x, np.float64) @ w1 + b1) @ w2 + b2
  p = np.exp(logits - logits.max(axis=1, keepdims=True))
  return p / p.sum(axis=1, keepdims=True)


def train(
  weights: Weights,
  batches: Sequence[Batch],
  *,
  rate: float,
  epochs: int,
  momentum: float = 0.0,
  proximal_strength: float = 0.0,
  center: Weights | None = None,
  trained: Sequence[bool] = (True,) * 4,
) -> Weights:
  """Algorithm 2, lines 1 to 8, by SGD; on FedProx's objective if asked.

  Pulled to `center`, or to where it starts; tensors that are not trained stay.
  """
  weights = tuple(np.asarray(w, np.float64) for w in weights)
  center = weights if center is None else center
  velocity = (0.0,) * len(weights)
  for _ in range(epochs):
    for x, y in batches:
      velocity = tuple(
        momentum * v + g + proximal_strength * (w - c)
        for v, g, w, c in zip(
          velocity, gradients(weights, x, y), weights, center
        )
      )
      weights = tuple(
        w - rate * v if t else w for w, v, t in zip(weights, velocity, trained)
      )
  return weights


def fisher(
  weights: Weights, batches: Sequence[Batch], *, per_example: bool = False
) -> Weights:
  """Algorithm 2, lines 9 to 12; per example instead of per batch if asked."""
  total = [np.zeros(np.shape(w)) for w in weights]
  for x, y in batches:
    parts = (
      [(x[i : i + 1], y[i : i + 1]) for i in range(len(y))]
      if per_example
      else [(x, y)]
    )
    for part in parts:
      for t, g in zip(total, gradients(weights, *part)):
        t += g**2
  return tuple(total)


def train_with_velocity(
  weights: Weights,
  velocity: Weights,
  batches: Sequence[Batch],
  *,
  rate: float,
  momentum: float,
  epochs: int,
) -> Weights:
  """Mime Lite's local training by SGD with momentum; the velocity stays."""
  weights = tuple(np.asarray(w, np.float64) for w in weights)
  for _ in range(epochs):
    for x, y in batches:
      weights = tuple(
        w - rate * (momentum * v + g)
        for w, v, g in zip(weights, velocity, gradients(weights, x, y))
      )
  return weights


def full_gradient(weights: Weights, batches: Sequence[Batch]) -> Weights:
  """The gradient of the mean loss over all examples."""
  x, y = (np.concatenate(parts) for parts in zip(*batches))
  return gradients(weights, x, y)


def create_functional_model(
  seed: int = 0, *, loss_scale: float = 1.0
) -> tff.learning.models.FunctionalModel:
  """The network as a functional model; `loss_scale` 0 has no gradients."""

  @tf.function
  def predict(model_weights, x, training):
    del training  # The network has no dropout and the like.
    (w1, b1, w2, b2), _ = model_weights
    return tf.tanh(x @ w1 + b1) @ w2 + b2

  def loss(output, label, sample_weight=None):
    del sample_weight
    return loss_scale * tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=label, logits=output
      )
    )

  metrics = tff.learning.metrics.create_functional_metric_fns(
    lambda: collections.OrderedDict(
      loss=tf.keras.metrics.SparseCategoricalCrossentropy(from_logits=True),
      accuracy=tf.keras.metrics.SparseCategoricalAccuracy(),
      num_examples=tff.learning.metrics.NumExamplesCounter(),
    )
  )
  return tff.learning.models.FunctionalModel(
    initial_weights=(initial_weights(seed), ()),
    predict_on_batch_fn=predict,
    loss_fn=loss,
    metrics_fns=metrics,
    input_spec=input_spec(),
  )


def create_variable_model() -> tff.learning.models.VariableModel:
  """The network as a Keras model; its own initial weights."""
  model = tf.keras.Sequential(
    [
      tf.keras.layers.InputLayer((NUM_FEATURES,)),
      tf.keras.layers.Dense(NUM_HIDDEN, 'tanh'),
      tf.keras.layers.Dense(NUM_CLASSES),
    ]
  )
  return tff.learning.models.from_keras_model(
    model,
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    input_spec=input_spec(),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name='accuracy')],
  )
