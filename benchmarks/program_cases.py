# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs of TFF and Keras models, which `programs` times.

A case makes a new program, and returns a function that runs it once in TFF's
default context.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
import functools
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

Run = Callable[[], Any]
Case = Callable[[], Run]

_NUM_CLIENTS = 8
_NUM_EXAMPLES = 50
_NUM_CLASSES = 10
_BATCH_SIZE = 10
_VECTORS = tf.TensorSpec([None, 100], tf.float32)
_IMAGES = tf.TensorSpec([None, 16, 16, 3], tf.float32)
_TOKENS = tf.TensorSpec([None, 20], tf.int32)
_LABELS = tf.TensorSpec([None], tf.int32)
_FLOAT = tff.TensorType(np.float32)

_layers = tf.keras.layers
_learning = tff.learning.algorithms
_dict = collections.OrderedDict
_partial = functools.partial
_slices = tf.data.Dataset.from_tensor_slices
_sgdm = tff.learning.optimizers.build_sgdm
_sgd = _sgdm(0.05)
_adagrad = tff.learning.optimizers.build_adagrad(0.1)


def _clients(draw: Callable[[np.random.Generator], Any]) -> list[Any]:
  """Returns a dataset of the rows by `draw` for each client."""
  return [_slices(draw(np.random.default_rng(i))) for i in range(_NUM_CLIENTS)]


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
  return rng.normal(size=(_NUM_EXAMPLES, *shape)).astype(np.float32)


def _integers(rng: np.random.Generator, limit: int, *shape: int) -> np.ndarray:
  return rng.integers(0, limit, (_NUM_EXAMPLES, *shape)).astype(np.int32)


def _words(rng: np.random.Generator) -> np.ndarray:
  return np.array([f'word{i}' for i in rng.zipf(1.5, _NUM_EXAMPLES) % 50])


def _rounds(process: Any, data: list[Any]) -> Run:
  """Returns a round of a process; the first round also initialises it."""
  state = functools.cache(process.initialize)
  return lambda: process.next(state(), data)


_loss = _partial(
  tf.keras.losses.SparseCategoricalCrossentropy, from_logits=True
)


def _metrics() -> list[tf.keras.metrics.Metric]:
  return [tf.keras.metrics.SparseCategoricalAccuracy()]


def _network(features: tf.TensorSpec, *layers: Callable[[], Any]) -> Any:
  inputs = tf.keras.Input(features.shape[1:], dtype=features.dtype)
  outputs = _layers.Dense(_NUM_CLASSES)
  return tf.keras.Sequential([inputs, *(make() for make in layers), outputs])


def _model(features: tf.TensorSpec, *layers: Callable[[], Any]) -> Any:
  return tff.learning.models.from_keras_model(
    _network(features, *layers),
    loss=_loss(),
    input_spec=(features, _LABELS),
    metrics=_metrics(),
  )


def _examples(features: tf.TensorSpec) -> list[Any]:
  """Returns each client's batches of features and labels."""
  shape = features.shape[1:]

  def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    is_tokens = features.dtype == tf.int32
    x = _integers(rng, 100, *shape) if is_tokens else _floats(rng, *shape)
    return x, _integers(rng, _NUM_CLASSES)

  return [data.batch(_BATCH_SIZE) for data in _clients(draw)]


_dense = _partial(_layers.Dense, 64, 'relu')
_dense_model = _partial(_model, _VECTORS, _dense)


def _algorithm(name: str, *arguments: Any, **options: Any) -> Case:
  """Returns a round of an algorithm of TFF."""
  build = getattr(_learning, name)
  return lambda: _rounds(build(*arguments, **options), _examples(_VECTORS))


def _fed_avg(features: tf.TensorSpec, *layers: Callable[[], Any]) -> Case:
  """Returns a round of FedAvg with a Keras model."""
  model = _partial(_model, features, *layers)
  build = _learning.build_weighted_fed_avg
  return lambda: _rounds(build(model, _sgd), _examples(features))


def _schedule(round_number: Any) -> Any:
  return 0.1 / (tf.cast(round_number, tf.float32) + 2.0)


def _reconstruction_model() -> tff.learning.models.ReconstructionModel:
  model = _network(_VECTORS, _dense)
  *shared, own = model.layers
  return tff.learning.models.ReconstructionModel.from_keras_model_and_layers(
    model,
    global_layers=shared,
    local_layers=[own],
    input_spec=(_VECTORS, _LABELS),
  )


_reconstruct = _partial(
  _algorithm,
  model_fn=_reconstruction_model,
  loss_fn=_loss,
  metrics_fn=_metrics,
  reconstruction_optimizer_fn=_sgd,
)


@tf.function
def _evaluate(model: Any, data: Any) -> Any:
  def add(total: Any, batch: Any) -> Any:
    return total + model.forward_pass(batch, training=False).loss

  return _dict(loss=data.batch(_BATCH_SIZE).reduce(0.0, add))


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


def _personalization() -> Run:
  evaluate = _learning.build_personalization_eval_computation(
    _dense_model, _dict(sgd=_fine_tune), _evaluate
  )
  weights = tff.learning.models.ModelWeights.from_model(_dense_model())
  weights = weights.convert_variables_to_arrays()
  data = [data.unbatch() for data in _examples(_VECTORS)]
  data = [dict(train_data=d.take(30), test_data=d.skip(30)) for d in data]
  return _partial(evaluate, weights, data)


def _heavy_hitters(**options: Any) -> Case:
  build = tff.analytics.heavy_hitters.iblt.build_iblt_computation
  return lambda: _partial(
    build(capacity=100, **options), [d.batch(1) for d in _clients(_words)]
  )


def _iblt_factory() -> Run:
  def draw(rng: np.random.Generator) -> Any:
    return _dict(key=_words(rng), value=np.ones([_NUM_EXAMPLES, 1], np.int64))

  element = tff.types.to_type(_dict(key=np.str_, value=(np.int64, (1,))))
  factory = tff.analytics.IbltFactory(
    capacity=100, string_max_bytes=10, repetitions=3
  )
  return _rounds(factory.create(tff.SequenceType(element)), _clients(draw))


def _histogram(**options: Any) -> Case:
  build = tff.analytics.build_hierarchical_histogram_process
  options |= dict(lower_bound=-3.0, upper_bound=3.0, num_bins=16)
  return lambda: _rounds(
    build(enable_secure_sum=False, **options), _clients(_floats)
  )


def _quantile() -> Run:
  process = tff.aggregators.PrivateQuantileEstimationProcess.no_noise(
    initial_estimate=1.0, target_quantile=0.5, learning_rate=1.0
  )
  return _rounds(process, np.arange(8, dtype=np.float32).tolist())


def _federated(work: Any, element: tff.Type) -> Any:
  """Returns a computation of the sum of clients' results of `work`."""
  sequence = tff.SequenceType(element)
  if not isinstance(work, tff.Computation):
    work = tff.tensorflow.computation(work, sequence)

  @tff.federated_computation(tff.FederatedType(sequence, tff.CLIENTS))
  def run(data: Any) -> Any:
    return tff.federated_sum(tff.federated_map(work, data))

  return run


def _sequence_reduce(mapped: bool) -> Run:
  """Returns a sum of pairs, which are doubled by a function if `mapped`."""
  pair = tff.types.to_type(_dict(a=np.float32, b=np.int32))
  compute = tff.tensorflow.computation
  zero = compute(lambda: _dict(a=0.0, b=0))
  add = compute(
    lambda x, y: _dict(a=x['a'] + y['a'], b=x['b'] + y['b']), pair, pair
  )
  double = compute(lambda x: _dict(a=2.0 * x['a'], b=2 * x['b']), pair)

  @tff.federated_computation(tff.SequenceType(pair))
  def work(data: Any) -> Any:
    data = tff.sequence_map(double, data) if mapped else data
    return tff.sequence_reduce(data, zero(), add)

  def draw(rng: np.random.Generator) -> Any:
    return _dict(a=_floats(rng), b=_integers(rng, 100))

  return _partial(_federated(work, pair), _clients(draw))


def _sum(data: Any) -> Any:
  return data.reduce(0.0, lambda total, x: total + tf.cast(x, tf.float32))


def _in_graph(make_dataset: Callable[[Any], Any]) -> Case:
  """Returns a sum over a dataset that the graph makes from slices."""

  def work(data: Any) -> Any:
    return _sum(make_dataset(_slices(tf.range(50.0) * _sum(data))))

  return lambda: _partial(_federated(work, _FLOAT), _clients(_floats))


def warm_up() -> None:
  """Runs a little client work, for one-time work of a context."""
  _federated(_sum, _FLOAT)([_slices([1.0])])


class _Block(_layers.Layer):
  """Self-attention and a feed-forward part, each with a skip connection."""

  def __init__(self) -> None:
    super().__init__()
    self._attention = _layers.MultiHeadAttention(2, 16)
    self._norms = _layers.LayerNormalization(), _layers.LayerNormalization()
    self._expand, self._reduce = _layers.Dense(64, 'relu'), _layers.Dense(32)

  def call(self, x: Any) -> Any:
    x = self._norms[0](x + self._attention(x, x))
    return self._norms[1](x + self._reduce(self._expand(x)))


_conv = _partial(_layers.Conv2D, 16, 3, padding='same', activation='relu')
_separable = _partial(_layers.SeparableConv2D, 16, 3, activation='relu')
_batch_norm = _layers.BatchNormalization
_group_norm = _partial(_layers.GroupNormalization, 4)
_pool = _layers.GlobalAveragePooling2D
_embed = _partial(_layers.Embedding, 100, 32)
_embed_small = _partial(_layers.Embedding, 100, 16)
_pool_tokens = _layers.GlobalAveragePooling1D

# The arguments of each builder besides the model.
_ALGORITHMS = {
  'build_weighted_fed_avg': [_sgd],
  'build_unweighted_fed_avg': [_sgd],
  'build_weighted_fed_avg_with_optimizer_schedule': [_schedule, _sgdm],
  'build_fed_sgd': [_sgd],
  'build_weighted_fed_prox': [0.5, _sgd],
  'build_unweighted_fed_prox': [0.5, _sgd],
  'build_weighted_mime_lite': [_sgd],
  'build_unweighted_mime_lite': [_sgd],
  'build_mime_lite_with_optimizer_schedule': [_schedule, _adagrad],
  'build_fed_eval': [],
}
CASES: Mapping[str, Mapping[str, Case]] = {
  'tff.learning.algorithms': {
    **{
      name: _algorithm(name, _dense_model, *arguments)
      for name, arguments in _ALGORITHMS.items()
    },
    'build_fed_recon': _reconstruct(
      'build_fed_recon', client_optimizer_fn=_sgd
    ),
    'build_fed_recon_eval': _reconstruct('build_fed_recon_eval'),
    'build_fed_kmeans': lambda: _rounds(
      _learning.build_fed_kmeans(5, (100,), random_seed=(1, 2)),
      _clients(lambda rng: _floats(rng, 100)),
    ),
    'build_personalization_eval_computation': _personalization,
  },
  'tff.analytics': {
    'heavy hitters, IBLT': _heavy_hitters(),
    'heavy hitters, IBLT, capped': _heavy_hitters(max_words_per_user=5),
    'heavy hitters, IBLT, single': _heavy_hitters(
      max_words_per_user=5, multi_contribution=False
    ),
    'IbltFactory': _iblt_factory,
    'HyperLogLog': lambda: _partial(
      tff.analytics.count_distinct.create_federated_hyperloglog_computation(),
      _clients(_words),
    ),
    'hierarchical histogram': _histogram(),
    'hierarchical histogram, noise': _histogram(
      dp_mechanism='central-gaussian', noise_multiplier=0.1
    ),
    'quantile': _quantile,
  },
  'sequences of structures': {
    'sequence_reduce': lambda: _sequence_reduce(mapped=False),
    'sequence_map': lambda: _sequence_reduce(mapped=True),
  },
  'datasets made in the graph': {
    'range': _in_graph(lambda _: tf.data.Dataset.range(50)),
    'slices of a tensor, batches': _in_graph(
      lambda slices: slices.batch(10).map(tf.reduce_sum)
    ),
    'shuffle': _in_graph(lambda slices: slices.shuffle(50, seed=1)),
    'zip, filter': _in_graph(
      lambda slices: (
        tf.data.Dataset.zip((tf.data.Dataset.range(50), slices))
        .filter(lambda i, _: i % 2 == 0)
        .map(lambda _, x: x)
      )
    ),
  },
  'Keras models, FedAvg': {
    'dense': _fed_avg(_VECTORS, _dense),
    'dropout': _fed_avg(_VECTORS, _dense, lambda: _layers.Dropout(0.2)),
    'convolutions': _fed_avg(
      _IMAGES, _conv, _layers.MaxPool2D, _layers.Flatten
    ),
    'separable convolutions': _fed_avg(_IMAGES, _separable, _pool),
    'batch normalisation': _fed_avg(_IMAGES, _conv, _batch_norm, _pool),
    'group normalisation': _fed_avg(_IMAGES, _conv, _group_norm, _pool),
    'embedding': _fed_avg(_TOKENS, _embed, _pool_tokens),
    'LSTM': _fed_avg(_TOKENS, _embed_small, lambda: _layers.LSTM(32)),
    'GRU': _fed_avg(_TOKENS, _embed_small, lambda: _layers.GRU(32)),
    'attention': _fed_avg(_TOKENS, _embed, _Block, _pool_tokens),
  },
}
