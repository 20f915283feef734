# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reductions of datasets by the clients of random programs.

Each takes a dataset and a small number from 0, and returns a nest of tensors.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from tests.execution.fuzzing import elements

import tensorflow as tf

_Dataset: TypeAlias = tf.data.Dataset
Reduction: TypeAlias = Callable[[_Dataset, int], Any]

digest = elements.digest
_odict = collections.OrderedDict


def _parts(parts: tuple[Any, ...]) -> Any:
  return parts if len(parts) > 1 else parts[0]


def _fold(state: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
  """Takes note of the number and of when it came."""
  return (state * 31 + number + 1) % 1_000_003


def _int(value: int) -> tf.Tensor:
  return tf.constant(value, tf.int64)


def _notes(n):
  return _odict(order=_int(n), count=tf.constant(0), mean=tf.constant(0.0))


def _take_notes(state, element):
  number = digest(element)
  return _odict(
    order=_fold(state['order'], number),
    count=state['count'] + 1,
    mean=state['mean'] + tf.cast(number, tf.float32) / 1e6,
  )


def _reduce(dataset, n):
  return dataset.reduce(
    _notes(n), lambda state, *parts: _take_notes(state, _parts(parts))
  )


def _sum(dataset, n):
  return dataset.reduce(
    (_int(n), tf.constant(0)),
    lambda s, *e: (s[0] + digest(_parts(e)), s[1] + 1),
  )


def _count(dataset, n):
  return dataset.reduce(_int(n), lambda s, *_: s + 1)


def _distribution(dataset, n):
  """Means over many draws, and whether draws repeat."""
  del n

  def add(state, draws):
    total, count, repeats, last = state
    repeats += tf.cast(tf.reduce_all(tf.equal(draws, last)), tf.int32)
    return total + tf.reduce_mean(draws), count + 1, repeats, draws

  total, count, repeats, _ = dataset.reduce(
    (tf.constant(0.0), tf.constant(0), tf.constant(0), tf.zeros([1000])), add
  )
  mean = total / tf.cast(tf.maximum(count, 1), tf.float32)
  return _odict(mean=mean, count=count, repeats=repeats)


def _in_a_function(reduction: Reduction) -> Reduction:
  """Returns a reduction that AutoGraph reads."""
  return lambda dataset, n: tf.function(lambda d: reduction(d, n))(dataset)


@_in_a_function
def _for_loop(dataset, n):
  state, seen = _int(n), tf.constant(0.0)
  for element in dataset:
    number = digest(element)
    if number % 2 == 0:
      state = _fold(state, number)
    else:
      seen += 0.25
  return state, seen


@_in_a_function
def _for_break(dataset, n):
  state = _int(0)
  for element in dataset:
    if state % 7 == n % 7 and state > 0:
      break
    state = _fold(state, digest(element))
  return state


@_in_a_function
def _iterator(dataset, n):
  state = _int(n)
  for element in iter(dataset):
    state = _fold(state, digest(element))
  return state


@_in_a_function
def _iterator_count(dataset, n):
  state = _int(n)
  for _ in iter(dataset):
    state += 1
  return state


@_in_a_function
def _iterator_break(dataset, n):
  state = _int(0)
  iterator = iter(dataset)
  for element in iterator:
    state = _fold(state, digest(element))
    if state % 3 == n % 3:
      break
  for element in iterator:
    state -= digest(element)
  return state


@_in_a_function
def _iterator_epochs(dataset, n):
  state = _int(n)
  for epoch in tf.range(2, dtype=tf.int64):
    for element in iter(dataset):
      for other in iter(dataset.skip(1)):
        state = _fold(state, digest(element) * epoch - digest(other))
  return state


def _two_passes(dataset, n):
  first = dataset.reduce(_int(n), lambda s, *e: s + digest(_parts(e)))
  return dataset.reduce(
    first, lambda s, *e: _fold(s, digest(_parts(e)) + first)
  )


@_in_a_function
def _passes_in_branches(dataset, n):
  state = _int(n)
  for epoch in tf.range(3):
    if tf.equal(epoch, n % 3):
      state = dataset.reduce(state, lambda s, *e: s - digest(_parts(e)))
    else:
      state = dataset.reduce(state, lambda s, *e: _fold(s, digest(_parts(e))))
  return state


@_in_a_function
def _nested_passes(dataset, n):
  state = _int(n)
  for element in dataset.take(3):
    for other in dataset.skip(1):
      state = _fold(state, digest(element) - digest(other))
  return state


def _cardinality(dataset, n):
  del n
  return dataset.cardinality()


@_in_a_function
def _carried(dataset, n):
  """A loop that carries a dataset."""
  state = _int(0)
  for _ in tf.range(n % 3 + 1):
    state = dataset.reduce(state, lambda s, *e: _fold(s, digest(_parts(e))))
    dataset = dataset.skip(1)
  return state


@_in_a_function
def _chosen(dataset, n):
  """A branch that returns a dataset."""
  if dataset.reduce(_int(0), lambda s, *_: s + 1) % 2 == 0:
    dataset = dataset.take(n)
  else:
    dataset = dataset.skip(1)
  return dataset.reduce(_int(0), lambda s, *e: _fold(s, digest(_parts(e))))


def _variable(dataset, n):
  state = tf.Variable(_int(n))
  count = tf.Variable(0.0)

  @tf.function
  def run(dataset):
    for element in dataset:
      number = digest(element)
      state.assign(_fold(state, number))
      if number % 3 == 0:
        count.assign_add(0.5)
    return state.read_value(), count.read_value()

  return run(dataset)


def _variable_in_map(dataset, n):
  """A map whose elements depend on those before."""
  state = tf.Variable(_int(n))

  def number(*parts):
    state.assign(_fold(state, digest(_parts(parts))))
    return state.read_value()

  @tf.function
  def run(dataset):
    return (
      dataset.map(number).filter(lambda x: x % 2 == 0).reduce(_int(0), _fold)
    )

  return run(dataset), state.read_value()


def _variables(dataset, n):
  """Branches, cases and loops that hand variables on, and stop by them."""
  first = tf.Variable(_int(n))
  second = tf.Variable(first.initial_value * 3 + 1)
  unread = tf.Variable(_int(7))

  @tf.function
  def add():
    first.assign((first + second) % 1009)

  def exchange():
    second.assign(first % 97)

  @tf.function
  def run(dataset):
    for element in dataset:
      if second > 80:
        break
      tf.switch_case(
        tf.cast(digest(element) % 3, tf.int32), [add, lambda: None, exchange]
      )
      for _ in tf.range(n % 3):
        second.assign_add(unread)
    while first < 100:
      first.assign(2 * first + 1)
    return first.read_value(), second.read_value()

  return run(dataset)


def _scatter(dataset, n):
  rows = tf.Variable(tf.zeros([3, 2]))

  @tf.function
  def run(dataset):
    for element in dataset:
      rows.scatter_update(
        tf.IndexedSlices(elements.features(element, 2), [digest(element) % 3])
      )
      rows.scatter_add(tf.IndexedSlices(rows.sparse_read([n % 3]), [1]))
      rows.scatter_sub(tf.IndexedSlices(rows.sparse_read([1, 2]), [2, 2]))
      rows.assign(rows * 0.5)
    return rows.read_value()

  return run(dataset)


def _table(dataset, n):
  """A table that the loop writes."""
  table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)

  @tf.function
  def run(dataset):
    state = _int(n)
    for element in dataset:
      key = digest(element) % 3
      state = _fold(state, table.lookup(key))
      table.insert(key, state)
    return state

  return run(dataset)


def _slices(dataset, n):
  """Datasets of what was computed."""
  total = dataset.reduce(_int(n), lambda s, *e: s + digest(_parts(e)))
  numbers = _Dataset.from_tensor_slices(total + tf.range(total % 5))
  pairs = _Dataset.from_tensor_slices(
    {'b': tf.range(3) + 1, 'a': tf.stack([total, n, total])}
  )
  return (
    numbers.concatenate(_Dataset.from_tensors(total))
    .concatenate(pairs.map(lambda p: p['a'] * tf.cast(p['b'], tf.int64)))
    .reduce(_int(0), _fold)
  )


@_in_a_function
def _array(dataset, n):
  array = tf.TensorArray(tf.int64, 0, dynamic_size=True)
  for element in dataset:
    array = array.write(array.size(), digest(element))
  numbers = array.stack()
  return tf.reduce_sum(numbers * tf.range(tf.size(numbers, tf.int64))) + n


def _joined_text(dataset, n):
  def add(state, *parts):
    text = tf.strings.as_string(digest(_parts(parts)) % 10)
    return tf.strings.join([state, text])

  return dataset.reduce(tf.constant('.' * n), add)


def _first(dataset, n):
  def run(element):
    return digest(element)

  pairs = dataset.take(1).map(lambda *e: run(_parts(e)))
  return (
    pairs.concatenate(_Dataset.from_tensors(_int(n)))
    .take(1)
    .reduce(_int(0), _fold)
  )


def _single(dataset, n):
  numbers = dataset.map(lambda *e: digest(_parts(e)))
  return tf.reduce_sum(numbers.batch(1000).get_single_element()) + n


def _stateful_draws(dataset, n):
  """Draws outside of a dataset."""
  count = dataset.reduce(tf.constant(n), lambda s, *_: s + 1)
  draws = tf.random.normal([1000])
  return _odict(mean=tf.reduce_mean(draws), count=count)


@_in_a_function
def _unbounded(dataset, n):
  """A loop with a break after one over tensors of growing shape."""
  numbers = tf.zeros([0], tf.int64)
  for element in dataset:
    tf.autograph.experimental.set_loop_options(
      shape_invariants=[(numbers, tf.TensorShape([None]))]
    )
    numbers = tf.concat([numbers, [digest(element)]], 0)
  i = tf.constant(0)
  while i < tf.size(numbers):
    if numbers[i] % 5 == n % 5:
      break
    i += 1
  return i


def _gradient(dataset, n):
  """A gradient through a loop."""
  number = dataset.reduce(_int(n), lambda s, *e: _fold(s, digest(_parts(e))))

  @tf.function
  def run(number):
    weights = tf.constant([0.1, 0.2, 0.4, 0.8])
    with tf.GradientTape() as tape:
      tape.watch(weights)
      x = elements.features(number)
      for _ in tf.range(number % 4 + 1):
        x = tf.tanh(x * weights + 0.1)
      loss = tf.reduce_sum(x)
    return tape.gradient(loss, weights)

  return run(number)


def _gradient_of_branches(dataset, n):
  """Values that branches and scans keep for their gradients."""
  number = dataset.reduce(_int(n), lambda s, *e: _fold(s, digest(_parts(e))))

  @tf.function
  def run(number):
    x = elements.features(number)[0]
    with tf.GradientTape() as tape:
      tape.watch(x)
      scanned = tf.scan(lambda h, a: tf.tanh(a + h), x, tf.constant(0.1))
      y = tf.cond(number % 2 > 0, lambda: tf.sin(x) ** 2, lambda: tf.exp(x))
      y += tf.switch_case(
        tf.cast(number % 3, tf.int32), [lambda: tf.cos(x), lambda: x**3]
      )
      loss = tf.reduce_sum(y * scanned)
    return tape.gradient(loss, x)

  return run(number)


def _constant(value: float) -> tf.keras.initializers.Initializer:
  return tf.keras.initializers.Constant(value)


_keras = tf.keras.layers
_LAYERS: Mapping[str, Callable[[], Any]] = {
  'dense': lambda: _keras.Dense(3, kernel_initializer=_constant(0.1)),
  'batch_norm': lambda: _keras.BatchNormalization(momentum=0.5),
  'layer_norm': lambda: _keras.LayerNormalization(),
  'dropout': lambda: _keras.Dropout(0.5, seed=3),
  'lstm': lambda: tf.keras.Sequential(
    [
      _keras.Reshape([2, 2]),
      _keras.LSTM(
        2, kernel_initializer='ones', recurrent_initializer=_constant(0.3)
      ),
    ]
  ),
  'gru': lambda: tf.keras.Sequential(
    [
      _keras.Reshape([2, 2]),
      _keras.GRU(
        2, kernel_initializer='ones', recurrent_initializer=_constant(0.3)
      ),
    ]
  ),
  'embedding': lambda: tf.keras.Sequential(
    [
      _keras.Lambda(lambda x: tf.cast(x * 9, tf.int32)),
      _keras.Embedding(10, 2, embeddings_initializer=_constant(0.2)),
    ]
  ),
  'conv': lambda: tf.keras.Sequential(
    [
      _keras.Reshape([2, 2, 1]),
      _keras.Conv2D(2, 2, kernel_initializer=_constant(0.2)),
      _keras.Flatten(),
    ]
  ),
  'rescaling': lambda: tf.keras.Sequential(
    [
      _keras.Normalization(mean=0.2, variance=0.5),
      _keras.Rescaling(2.0, 1.0),
      _keras.Discretization([0.2, 1.2]),
      _keras.Lambda(lambda x: tf.cast(x, tf.float32)),
    ]
  ),
}


def _trained(layer_name: str) -> Reduction:
  """Steps of gradient descent on one layer."""

  def reduction(dataset, n):
    layer = _LAYERS[layer_name]()
    layer.build([1, 4])

    @tf.function
    def run(dataset):
      total = tf.constant(0.1 * n)
      for element in dataset:
        with tf.GradientTape() as tape:
          output = layer(elements.features(element), training=True)
          loss = tf.reduce_mean((output - 0.5) ** 2)
        variables = layer.trainable_variables
        for variable, gradient in zip(
          variables, tape.gradient(loss, variables), strict=True
        ):
          if isinstance(gradient, tf.IndexedSlices):
            gradient = tf.convert_to_tensor(gradient)
          variable.assign_sub(0.1 * gradient)
        total += loss
      return total, [tf.identity(v) for v in layer.variables]

    return run(dataset)

  return reduction


def _string_lookup(dataset, n):
  lookup = _keras.StringLookup(vocabulary=['1', '2', '3'])

  def add(state, *parts):
    text = tf.strings.as_string(digest(_parts(parts)) % 5)
    return _fold(state, lookup(text))

  return dataset.reduce(_int(n), add)


def _keras_optimizer(dataset, n):
  weights = tf.Variable([0.5, -0.5, 0.25, 1.0])
  optimizers = (
    lambda: tf.keras.optimizers.SGD(0.1, momentum=0.5),
    lambda: tf.keras.optimizers.SGD(0.1, momentum=0.5, nesterov=True),
    lambda: tf.keras.optimizers.Adam(0.1),
    lambda: tf.keras.optimizers.Adagrad(0.1),
    lambda: tf.keras.optimizers.RMSprop(0.1),
    lambda: tf.keras.optimizers.legacy.SGD(0.1),
    lambda: tf.keras.optimizers.legacy.SGD(0.1, momentum=0.5, nesterov=True),
    lambda: tf.keras.optimizers.legacy.SGD(0.1, momentum=0.5),
  )
  optimizer = optimizers[n % len(optimizers)]()
  if hasattr(optimizer, 'build'):
    optimizer.build([weights])

  @tf.function
  def run(dataset):
    for element in dataset:
      gradient = elements.features(element)[0] - weights
      optimizer.apply_gradients([(gradient, weights)])
    return weights.read_value()

  return run(dataset)


REDUCTIONS: Mapping[str, Reduction] = {
  'reduce': _reduce,
  'sum': _sum,
  'count': _count,
  'for_loop': _for_loop,
  'for_break': _for_break,
  'iterator': _iterator,
  'iterator_count': _iterator_count,
  'iterator_break': _iterator_break,
  'iterator_epochs': _iterator_epochs,
  'two_passes': _two_passes,
  'passes_in_branches': _passes_in_branches,
  'nested_passes': _nested_passes,
  'cardinality': _cardinality,
  'carried': _carried,
  'chosen': _chosen,
  'variable': _variable,
  'variables': _variables,
  'variable_in_map': _variable_in_map,
  'scatter': _scatter,
  'table': _table,
  'slices': _slices,
  'array': _array,
  'joined_text': _joined_text,
  'first': _first,
  'single': _single,
  'unbounded': _unbounded,
  'gradient': _gradient,
  'gradient_of_branches': _gradient_of_branches,
  'string_lookup': _string_lookup,
  'keras_optimizer': _keras_optimizer,
  **{f'keras_{name}': _trained(name) for name in _LAYERS},
}

# Those that a graph of the cohort does not.
GENERAL = frozenset(
  ('cardinality', 'carried', 'chosen', 'table', 'first', 'single')
)

ORDER_FREE: Mapping[str, Reduction] = {'sum': _sum, 'count': _count}
DISTRIBUTIONS: Mapping[str, Reduction] = {'distribution': _distribution}
DRAWING: Mapping[str, Reduction] = {'stateful_draws': _stateful_draws}


def _any_length(n):
  numbers = tf.range(_int(n))
  return tf.compat.v1.placeholder_with_default(numbers, [None])


# For `tff.sequence_reduce`: the state at first, and a step.
FOLDS: Mapping[str, tuple[Callable[[int], Any], Callable[[Any, Any], Any]]] = {
  'fold_notes': (_notes, _take_notes),
  'fold_text': (
    lambda n: tf.constant('.' * n),
    lambda s, e: s + tf.strings.as_string(digest(e) % 10),
  ),
  'fold_list': (_any_length, lambda s, e: tf.concat([s, [digest(e)]], 0)),
  'fold_last': (_int, lambda _, e: digest(e)),
  'fold_unread': (_int, lambda s, _: s + 1),
}


# For `tff.sequence_sum`, of numbers.
SUMS: Mapping[str, Reduction] = {
  'sequence_sum': lambda dataset, n: dataset.reduce(_int(0), lambda s, x: s + x)
}


def _folding(name: str) -> Reduction:
  zero, step = FOLDS[name]

  def fold(dataset, n):
    return dataset.reduce(zero(n), lambda s, *e: step(s, _parts(e)))

  return fold


ALL: Mapping[str, Reduction] = {
  **REDUCTIONS,
  **DISTRIBUTIONS,
  **DRAWING,
  'dataset': lambda dataset, n: dataset,
  **SUMS,
  **{name: _folding(name) for name in FOLDS},
}
