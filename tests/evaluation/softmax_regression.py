# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Softmax regression three times: functional, Keras, and plain NumPy.

The evaluation tests compare the first two with the third, which shares no code
with them.
"""

import collections
import functools

from fedfish_tff.client_work import local_training
from fedfish_tff.models import model_functions

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

NUM_FEATURES = 3
NUM_CLASSES = 4
LEARNING_RATE = 0.3


def initial_weights() -> tuple[np.ndarray, np.ndarray]:
  rng = np.random.default_rng(11)
  return (
    rng.normal(size=(NUM_FEATURES, NUM_CLASSES)).astype(np.float32),
    rng.normal(size=NUM_CLASSES).astype(np.float32),
  )


def input_spec() -> tuple[tf.TensorSpec, tf.TensorSpec]:
  return (
    tf.TensorSpec([None, NUM_FEATURES], tf.float32),
    tf.TensorSpec([None], tf.int64),
  )


def create_functional_model() -> tff.learning.models.FunctionalModel:
  """Returns the functional model, with metrics loss and accuracy."""

  @tf.function
  def predict_on_batch(model_weights, x, training):
    del training  # Unused.
    kernel, bias = model_weights[0]
    return tf.matmul(x, kernel) + bias

  def loss_fn(output, label, sample_weight=None):
    del sample_weight  # Unused.
    return tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(label, output)
    )

  return tff.learning.models.FunctionalModel(
    initial_weights=(initial_weights(), ()),
    predict_on_batch_fn=predict_on_batch,
    loss_fn=loss_fn,
    metrics_fns=tff.learning.metrics.create_functional_metric_fns(_metrics),
    input_spec=input_spec(),
  )


def _metrics():
  return collections.OrderedDict(
    loss=tf.keras.metrics.SparseCategoricalCrossentropy(from_logits=True),
    accuracy=tf.keras.metrics.SparseCategoricalAccuracy(),
  )


def create_keras_model() -> tff.learning.models.VariableModel:
  """Returns the Keras model; TFF adds loss, num_examples and num_batches."""
  kernel, bias = initial_weights()
  keras_model = tf.keras.Sequential(
    [
      tf.keras.layers.InputLayer([NUM_FEATURES]),
      tf.keras.layers.Dense(
        NUM_CLASSES,
        kernel_initializer=tf.keras.initializers.Constant(kernel),
        bias_initializer=tf.keras.initializers.Constant(bias),
      ),
    ]
  )
  return tff.learning.models.from_keras_model(
    keras_model,
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    input_spec=input_spec(),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy('accuracy')],
  )


MODELS = {'functional': create_functional_model(), 'keras': create_keras_model}


def draw_examples(num_examples: int, seed: int) -> tuple[np.ndarray, ...]:
  """Returns (x, y) with labels that the features tell something about."""
  rng = np.random.default_rng(seed)
  x = rng.normal(size=(num_examples, NUM_FEATURES)).astype(np.float32)
  scores = x @ rng.normal(size=(NUM_FEATURES, NUM_CLASSES))
  return x, scores.argmax(axis=1).astype(np.int64)


def to_batches(examples, *, batch_size=4, epochs=1) -> list[tuple]:
  """Returns the batches of all epochs, in order, the last of each ragged."""
  x, y = examples
  starts = range(0, len(x), batch_size)
  return [
    (x[i : i + batch_size], y[i : i + batch_size]) for i in starts
  ] * epochs


def to_dataset(examples, *, batch_size=4, epochs=1) -> tf.data.Dataset:
  dataset = tf.data.Dataset.from_tensor_slices(examples)
  return dataset.batch(batch_size).repeat(epochs)


def model_weights(kernel, bias) -> tff.learning.models.ModelWeights:
  return tff.learning.models.ModelWeights((kernel, bias), ())


def start_weights(model: model_functions.ModelFn):
  """Returns the model's own initial weights, in its own structure."""
  return model_functions.build_initial_weights(model)()


def as_arrays(weights) -> list[np.ndarray]:
  return [np.asarray(w, np.float64) for w in weights.trainable]


def _softmax(x, kernel, bias):
  scores = np.asarray(x, np.float64) @ kernel + bias
  exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
  return exponentials / exponentials.sum(axis=1, keepdims=True)


def numpy_metrics(weights, examples) -> dict[str, float]:
  x, y = examples
  probabilities = _softmax(x, *weights)
  return dict(
    num_examples=len(x),
    loss=-np.log(probabilities[np.arange(len(x)), y]).mean(),
    accuracy=(probabilities.argmax(axis=1) == y).mean(),
  )


def numpy_train(
  weights, batches, *, rate: float = LEARNING_RATE
) -> list[np.ndarray]:
  """Returns the weights after one SGD step a batch."""
  kernel, bias = (np.array(w, np.float64) for w in weights)
  for x, y in batches:
    residual = _softmax(x, kernel, bias) - np.eye(NUM_CLASSES)[y]
    kernel -= rate * np.asarray(x, np.float64).T @ residual / len(x)
    bias -= rate * residual.mean(axis=0)
  return [kernel, bias]


@functools.cache
def build_local_training(name: str) -> tff.Computation:
  """Tracing takes most of a test's time, so all of a process have the same."""
  return local_training.build_local_training(
    MODELS[name], tff.learning.optimizers.build_sgdm(LEARNING_RATE)
  )
