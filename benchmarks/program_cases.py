# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The programs that `programs` times: those of TFF, and Keras models.

A case makes a program anew, and returns what runs it once in TFF's default
context.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import functools
import types
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

Case = Callable[[], Callable[[], Any]]

_NUM_CLIENTS = 8
_NUM_EXAMPLES = 50
_NUM_CLASSES = 10
_BATCH_SIZE = 10

_layers = tf.keras.layers
_learning = tff.learning.algorithms
_analytics = tff.analytics


def _datasets(make: Callable[[np.random.Generator], Any]) -> list[Any]:
  """Returns a dataset of the rows that `make` draws for each client."""
  return [
    tf.data.Dataset.from_tensor_slices(make(np.random.default_rng(i)))
    for i in range(_NUM_CLIENTS)
  ]


def _examples(shape: tuple[int, ...], tokens: int = 0) -> list[Any]:
  """Returns each client's batches of features and labels."""

  def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    size = (_NUM_EXAMPLES, *shape)
    x = rng.integers(0, tokens, size) if tokens else rng.normal(size=size)
    y = rng.integers(0, _NUM_CLASSES, _NUM_EXAMPLES)
    return x.astype(np.int32 if tokens else np.float32), y.astype(np.int32)

  return [data.batch(_BATCH_SIZE) for data in _datasets(draw)]


def _text(rng: np.random.Generator) -> np.ndarray:
  return np.array([f'word{i}' for i in rng.zipf(1.5, _NUM_EXAMPLES) % 50])


def _loss() -> tf.keras.losses.Loss:
  return tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _keras_model(
  create_layers: Callable[[], list[Any]], shape: tuple[int, ...], tokens: int
) -> tff.learning.models.VariableModel:
  dtype = tf.int32 if tokens else tf.float32
  inputs = tf.keras.Input(shape, dtype=dtype)
  outputs = inputs
  for layer in (*create_layers(), _layers.Dense(_NUM_CLASSES)):
    outputs = layer(outputs)
  return tff.learning.models.from_keras_model(
    tf.keras.Model(inputs, outputs),
    loss=_loss(),
    input_spec=(
      tf.TensorSpec([None, *shape], dtype),
      tf.TensorSpec([None], tf.int32),
    ),
    metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
  )


def _rounds(process: Any, data: list[Any]) -> Callable[[], Any]:
  """Returns a round of a process; the first one begins with its state."""
  states = []

  def run() -> Any:
    if not states:
      states.append(process.initialize())
    return process.next(states[0], data)

  return run


def _keras(
  create_layers: Callable[[], list[Any]],
  shape: tuple[int, ...],
  tokens: int = 0,
  build: Callable[[Any], Any] = lambda model: _learning.build_weighted_fed_avg(
    model, _sgd()
  ),
) -> Case:
  """Returns a round of learning with a Keras model."""
  model = functools.partial(_keras_model, create_layers, shape, tokens)
  return lambda: _rounds(build(model), _examples(shape, tokens))


def _sgd() -> Any:
  return tff.learning.optimizers.build_sgdm(0.05)


def _dense() -> list[Any]:
  return [_layers.Dense(64, 'relu')]


_algorithm = functools.partial(_keras, _dense, (100,))


def _scheduled(round_number: Any) -> Any:
  return 0.1 / (tf.cast(round_number, tf.float32) + 2.0)


def _reconstruction_model() -> tff.learning.models.ReconstructionModel:
  model = tf.keras.Sequential(
    [_layers.InputLayer((100,)), *_dense(), _layers.Dense(_NUM_CLASSES)]
  )
  return tff.learning.models.ReconstructionModel.from_keras_model_and_layers(
    model,
    global_layers=model.layers[:-1],
    local_layers=model.layers[-1:],
    input_spec=(
      tf.TensorSpec([None, 100], tf.float32),
      tf.TensorSpec([None], tf.int32),
    ),
  )


def _reconstruction(build: Callable[..., Any], **optimizers: Any) -> Case:
  return lambda: _rounds(
    build(
      _reconstruction_model,
      loss_fn=_loss,
      metrics_fn=lambda: [tf.keras.metrics.SparseCategoricalAccuracy()],
      reconstruction_optimizer_fn=_sgd(),
      **optimizers,
    ),
    _examples((100,)),
  )


def _kmeans() -> Callable[[], Any]:
  return _rounds(
    _learning.build_fed_kmeans(5, (100,), random_seed=(1, 2)),
    _datasets(lambda rng: rng.normal(size=(50, 100)).astype(np.float32)),
  )


def _fine_tune() -> Any:
  def run(model: Any, train_data: Any, test_data: Any) -> Any:
    def step(total: Any, batch: Any) -> Any:
      with tf.GradientTape() as tape:
        loss = model.forward_pass(batch).loss
      gradients = tape.gradient(loss, model.trainable_variables)
      for variable, gradient in zip(model.trainable_variables, gradients):
        variable.assign_sub(0.05 * gradient)
      return total + loss

    train_data.batch(_BATCH_SIZE).reduce(0.0, step)
    return _evaluate(model, test_data)

  return tf.function(run)


@tf.function
def _evaluate(model: Any, data: Any) -> Any:
  def add(total: Any, batch: Any) -> Any:
    return total + model.forward_pass(batch, training=False).loss

  loss = data.batch(_BATCH_SIZE).reduce(0.0, add)
  return collections.OrderedDict(loss=loss)


def _personalization() -> Callable[[], Any]:
  model = functools.partial(_keras_model, _dense, (100,), 0)
  evaluate = _learning.build_personalization_eval_computation(
    model, collections.OrderedDict(sgd=_fine_tune), _evaluate
  )
  weights = tff.learning.models.ModelWeights.from_model(model())
  weights = weights.convert_variables_to_arrays()
  data = [data.unbatch() for data in _examples((100,))]
  data = [dict(train_data=d.take(30), test_data=d.skip(30)) for d in data]
  return lambda: evaluate(weights, data)


def _federated(work: Callable[[Any], Any], element: tff.Type) -> Any:
  """Returns a computation that adds what clients make of their data."""
  sequence = tff.SequenceType(element)
  if not isinstance(work, tff.Computation):
    work = tff.tensorflow.computation(work, sequence)

  @tff.federated_computation(tff.FederatedType(sequence, tff.CLIENTS))
  def run(data: Any) -> Any:
    return tff.federated_sum(tff.federated_map(work, data))

  return run


def _heavy_hitters(**options: Any) -> Case:
  build = _analytics.heavy_hitters.iblt.build_iblt_computation
  return lambda: functools.partial(
    build(capacity=100, **options), [d.batch(1) for d in _datasets(_text)]
  )


def _hyper_log_log() -> Callable[[], Any]:
  build = _analytics.count_distinct.create_federated_hyperloglog_computation
  return functools.partial(build(), _datasets(_text))


def _histogram(**options: Any) -> Case:
  return lambda: _rounds(
    _analytics.build_hierarchical_histogram_process(
      lower_bound=-3.0,
      upper_bound=3.0,
      num_bins=16,
      enable_secure_sum=False,
      **options,
    ),
    _datasets(lambda rng: rng.normal(size=_NUM_EXAMPLES).astype(np.float32)),
  )


def _iblt_factory() -> Callable[[], Any]:
  type_spec = tff.SequenceType(
    tff.types.to_type(
      collections.OrderedDict(
        key=tff.TensorType(np.str_), value=tff.TensorType(np.int64, (1,))
      )
    )
  )
  process = _analytics.IbltFactory(
    capacity=100, string_max_bytes=10, repetitions=3
  ).create(type_spec)
  data = _datasets(
    lambda rng: collections.OrderedDict(
      key=_text(rng), value=np.ones([_NUM_EXAMPLES, 1], np.int64)
    )
  )
  return _rounds(process, data)


def _quantile() -> Callable[[], Any]:
  process = tff.aggregators.PrivateQuantileEstimationProcess.no_noise(
    initial_estimate=1.0, target_quantile=0.5, learning_rate=1.0
  )
  return _rounds(process, np.arange(8, dtype=np.float32).tolist())


_PAIR = tff.types.to_type(collections.OrderedDict(a=np.float32, b=np.int32))


def _sequences(operate: Callable[[Any], Any]) -> Case:
  def make() -> Callable[[], Any]:
    work = tff.federated_computation(operate, tff.SequenceType(_PAIR))
    data = _datasets(
      lambda rng: collections.OrderedDict(
        a=rng.normal(size=_NUM_EXAMPLES).astype(np.float32),
        b=np.arange(_NUM_EXAMPLES, dtype=np.int32),
      )
    )
    return functools.partial(_federated(work, _PAIR), data)

  return make


@tff.tensorflow.computation(_PAIR, _PAIR)
def _add_pairs(x: Any, y: Any) -> Any:
  return collections.OrderedDict(a=x['a'] + y['a'], b=x['b'] + y['b'])


@tff.tensorflow.computation(_PAIR)
def _double(x: Any) -> Any:
  return collections.OrderedDict(a=2.0 * x['a'], b=2 * x['b'])


@tff.tensorflow.computation
def _zero() -> Any:
  return collections.OrderedDict(a=0.0, b=0)


def _in_graph(make_dataset: Callable[[Any], Any]) -> Case:
  """Returns a sum over a dataset that the graph makes of client data."""

  def work(data: Any) -> Any:
    total = data.reduce(0.0, lambda total, x: total + x)
    return make_dataset(total).reduce(
      0.0, lambda total, x: total + tf.cast(x, tf.float32)
    )

  return lambda: functools.partial(
    _federated(work, tff.TensorType(np.float32)),
    _datasets(lambda rng: rng.normal(size=_NUM_EXAMPLES).astype(np.float32)),
  )


def warm_up() -> None:
  """Runs a little client work, for what a context does once."""
  work = _federated(
    lambda data: data.reduce(0.0, lambda total, x: total + x),
    tff.TensorType(np.float32),
  )
  work([_slices([1.0])])


_slices = tf.data.Dataset.from_tensor_slices


def _conv(*args: Any, **options: Any) -> _layers.Layer:
  return _layers.Conv2D(*args, padding='same', activation='relu', **options)


class _Block(_layers.Layer):
  """Self-attention and a feed-forward part, each with its skip."""

  def __init__(self) -> None:
    super().__init__()
    self._attention = _layers.MultiHeadAttention(2, 16)
    self._norms = _layers.LayerNormalization(), _layers.LayerNormalization()
    self._expand, self._reduce = _layers.Dense(64, 'relu'), _layers.Dense(32)

  def call(self, x: Any) -> Any:
    x = self._norms[0](x + self._attention(x, x))
    return self._norms[1](x + self._reduce(self._expand(x)))


_image = functools.partial(_keras, shape=(16, 16, 3))
_tokens = functools.partial(_keras, shape=(20,), tokens=100)

CASES: Mapping[str, Mapping[str, Case]] = types.MappingProxyType(
  {
    'tff.learning.algorithms': {
      **{
        name: _algorithm(
          build=lambda model, name=name, options=options: getattr(
            _learning, name
          )(model, *options)
        )
        for name, options in {
          'build_weighted_fed_avg': [_sgd()],
          'build_unweighted_fed_avg': [_sgd()],
          'build_weighted_fed_avg_with_optimizer_schedule': [
            _scheduled,
            tff.learning.optimizers.build_sgdm,
          ],
          'build_fed_sgd': [_sgd()],
          'build_weighted_fed_prox': [0.5, _sgd()],
          'build_unweighted_fed_prox': [0.5, _sgd()],
          'build_weighted_mime_lite': [_sgd()],
          'build_unweighted_mime_lite': [_sgd()],
          'build_mime_lite_with_optimizer_schedule': [
            _scheduled,
            tff.learning.optimizers.build_adagrad(0.1),
          ],
          'build_fed_eval': [],
        }.items()
      },
      'build_fed_recon': _reconstruction(
        _learning.build_fed_recon, client_optimizer_fn=_sgd()
      ),
      'build_fed_recon_eval': _reconstruction(_learning.build_fed_recon_eval),
      'build_fed_kmeans': _kmeans,
      'build_personalization_eval_computation': _personalization,
    },
    'tff.analytics': {
      'heavy hitters, IBLT': _heavy_hitters(),
      'heavy hitters, IBLT, capped': _heavy_hitters(max_words_per_user=5),
      'heavy hitters, IBLT, single': _heavy_hitters(
        max_words_per_user=5, multi_contribution=False
      ),
      'IbltFactory': _iblt_factory,
      'HyperLogLog': _hyper_log_log,
      'hierarchical histogram': _histogram(),
      'hierarchical histogram, noise': _histogram(
        dp_mechanism='central-gaussian', noise_multiplier=0.1
      ),
      'quantile': _quantile,
    },
    'sequences of structures': {
      'sequence_reduce': _sequences(
        lambda data: tff.sequence_reduce(data, _zero(), _add_pairs)
      ),
      'sequence_map': _sequences(
        lambda data: tff.sequence_reduce(
          tff.sequence_map(_double, data), _zero(), _add_pairs
        )
      ),
    },
    'datasets made in the graph': {
      'range': _in_graph(lambda _: tf.data.Dataset.range(50)),
      'slices of a tensor, batches': _in_graph(
        lambda total: (
          _slices(tf.range(50.0) * total).batch(10).map(tf.reduce_sum)
        )
      ),
      'shuffle': _in_graph(
        lambda total: _slices(tf.range(50.0) * total).shuffle(50, seed=1)
      ),
      'zip, filter': _in_graph(
        lambda total: (
          tf.data.Dataset.zip(
            (tf.data.Dataset.range(50), _slices(tf.range(50.0) * total))
          )
          .filter(lambda i, _: i % 2 == 0)
          .map(lambda _, x: x)
        )
      ),
    },
    'Keras models, FedAvg': {
      'dense': _keras(_dense, (100,)),
      'dropout': _keras(lambda: [*_dense(), _layers.Dropout(0.2)], (100,)),
      'convolutions': _image(
        lambda: [_conv(16, 3), _layers.MaxPool2D(), _layers.Flatten()]
      ),
      'separable convolutions': _image(
        lambda: [
          _layers.SeparableConv2D(16, 3, activation='relu'),
          _layers.GlobalAveragePooling2D(),
        ]
      ),
      'batch normalisation': _image(
        lambda: [
          _conv(16, 3),
          _layers.BatchNormalization(),
          _layers.GlobalAveragePooling2D(),
        ]
      ),
      'group normalisation': _image(
        lambda: [
          _conv(16, 3),
          _layers.GroupNormalization(4),
          _layers.GlobalAveragePooling2D(),
        ]
      ),
      'embedding': _tokens(
        lambda: [
          _layers.Embedding(100, 32),
          _layers.GlobalAveragePooling1D(),
        ]
      ),
      'LSTM': _tokens(lambda: [_layers.Embedding(100, 16), _layers.LSTM(32)]),
      'GRU': _tokens(lambda: [_layers.Embedding(100, 16), _layers.GRU(32)]),
      'attention': _tokens(
        lambda: [
          _layers.Embedding(100, 32),
          _Block(),
          _layers.GlobalAveragePooling1D(),
        ]
      ),
    },
  }
)
