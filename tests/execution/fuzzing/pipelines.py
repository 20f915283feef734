# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Steps of tf.data that random programs are made of.

Each takes a dataset and a small number from 0, which is how far to go.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from tests.execution.fuzzing import elements

import tensorflow as tf

# With names in their order: others are refused in what contexts pass on.
_Point = collections.namedtuple('_Point', 'x y')
_Dataset: TypeAlias = tf.data.Dataset
Step: TypeAlias = Callable[[_Dataset, int], _Dataset]

digest = elements.digest


def _one(function: Callable[[Any], Any]) -> Callable[..., Any]:
  """Takes an element as one, where tf.data passes the parts of a tuple."""
  return lambda *parts: function(parts if len(parts) > 1 else parts[0])


def _map_leaves(element: Any) -> Any:
  def change(leaf: tf.Tensor) -> tf.Tensor:
    if leaf.dtype == tf.string:
      return tf.strings.join([leaf, '+'])
    if leaf.dtype == tf.bool:
      return tf.logical_not(leaf)
    return leaf + tf.ones([], leaf.dtype)

  return tf.nest.map_structure(change, element)


def _names(element: Any) -> Any:
  number = digest(element)
  return collections.OrderedDict(z=number, k=number // 3, a=number % 7)


def _nested_names(element: Any) -> Any:
  return collections.OrderedDict(z=(digest(element), element), b=element)


def _point(element: Any) -> Any:
  return _Point(digest(element), digest(element) % 7)


def _text(element: Any) -> Any:
  return tf.strings.as_string(digest(element))


def _unbatched(dataset: _Dataset, n: int) -> _Dataset:
  """The rows of elements, but for rows of numbers that have none.

  Those end the process, as in any program of TensorFlow 2.14 or 2.21.
  """
  del n  # Rows are rows.

  def has_numbers(*parts: Any) -> tf.Tensor:
    return tf.reduce_all(
      [
        tf.reduce_prod(tf.shape(leaf)[1:]) > 0
        for leaf in tf.nest.flatten(parts)
      ]
    )

  return dataset.filter(has_numbers).unbatch()


def _open_row(element: Any) -> Any:
  return tf.range(digest(element) % 4)


def _parts(element: Any) -> Any:
  """Operations of several outputs, and calls of calls, in pipelines."""
  numbers = digest(element) * tf.constant([3, 5, 7, 4], tf.int64) % 11
  largest, places = tf.math.top_k(numbers, 2)
  first, second = tf.split(numbers, 2)
  square = tf.function(lambda x: (x * x, x + 1))

  @tf.function
  def twice(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    a, b = square(x)
    c, d = square(b)
    return d, a + c

  return places, second[::-1], largest, twice(first)


def _looped(element: Any) -> Any:
  return tf.while_loop(
    lambda i, _: i < digest(element) % 5,
    lambda i, x: (i + 1, x * 3 + i),
    (tf.constant(0, tf.int64), tf.constant(1, tf.int64)),
  )


def _branched(element: Any) -> Any:
  number = digest(element)
  if number % 2 == 0:
    number += 1
  else:
    number *= 2
  return number


def _switched(element: Any) -> Any:
  number = digest(element)
  return tf.switch_case(
    tf.cast(number % 4, tf.int32),
    [lambda: number, lambda: -number, lambda: number * number],
  )


def _looked_up(dataset: _Dataset, n: int) -> _Dataset:
  table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(
      tf.range(4, dtype=tf.int64), tf.constant([5, 6, 7, 8], tf.int64)
    ),
    -1,
  )
  return dataset.map(_one(lambda e: table.lookup(digest(e) % 6 + n % 2)))


def _window(dataset: _Dataset, n: int) -> _Dataset:
  windows = dataset.map(_one(digest)).window(n % 3 + 2, shift=1)
  return windows.flat_map(lambda w: w.batch(n % 2 + 1))


def _group(dataset: _Dataset, n: int) -> _Dataset:
  return dataset.map(_one(digest)).group_by_window(
    key_func=lambda x: x % 2,
    reduce_func=lambda _, group: group.batch(n + 1),
    window_size=2,
  )


def _inner_reduce(element: Any) -> Any:
  numbers = tf.data.Dataset.range(digest(element) % 4)
  return numbers.reduce(digest(element), lambda s, x: 2 * s + x)


def _assert_not(rest: int) -> Callable[[Any], Any]:
  def check(element: Any) -> Any:
    assertion = tf.debugging.assert_none_equal(
      digest(element) % 5, tf.constant(rest, tf.int64)
    )
    with tf.control_dependencies([assertion]):
      return tf.nest.map_structure(tf.identity, element)

  return check


def _fail_silently(rest: int) -> Callable[[Any], Any]:
  """Operations that TensorFlow may leave out, though they can fail."""

  def check(element: Any) -> Any:
    number = tf.cast(digest(element) % 5, tf.int32)
    return tf.maximum(10 // (number - rest), number)

  return check


def _fail_in_text(element: Any) -> Any:
  text = tf.where(tf.equal(digest(element) % 5, 0), 'none', '7')
  return tf.strings.to_number(text, tf.int32)


def _drawn(element: Any) -> Any:
  return tf.random.uniform([1000]) + 0.0 * tf.cast(digest(element), tf.float32)


def _stateless(element: Any) -> Any:
  seed = tf.stack([digest(element), 7])
  return tf.random.stateless_uniform([2], seed, maxval=100, dtype=tf.int32)


def _seeded(element: Any) -> Any:
  drawn = tf.random.uniform([], maxval=100, dtype=tf.int64, seed=5)
  return digest(element) + drawn


def _map(function: Callable[[Any], Any]) -> Step:
  return lambda dataset, n: dataset.map(_one(function))


_range = tf.data.Dataset.range

STEPS: Mapping[str, Step] = {
  'take': lambda d, n: d.take(n),
  'take_all': lambda d, n: d.take(-1),
  'skip': lambda d, n: d.skip(n),
  'skip_all': lambda d, n: (d.repeat() if n % 2 else d).skip(-1),
  'skip_late': lambda d, n: d.skip(d.cardinality() // 2),
  'repeat': lambda d, n: d.repeat(n % 4),
  'repeat_take': lambda d, n: d.repeat().take(3 * n),
  'repeat_most': lambda d, n: d.repeat(2**62).skip(n).take(4),
  'repeat_batch': lambda d, n: d.repeat().batch(n % 3 + 1, n > 2).take(3),
  'repeat_filter_take': lambda d, n: (
    d.concatenate(d)
    .repeat(10**3)
    .filter(_one(lambda e: digest(e) % 3 != 1))
    .take(n)
  ),
  'map_leaves': _map(_map_leaves),
  'map_names': _map(_names),
  'map_nested_names': _map(_nested_names),
  'map_point': _map(_point),
  'map_text': _map(_text),
  'map_open_row': _map(_open_row),
  'map_digest': _map(digest),
  'map_loop': _map(_looped),
  'map_parts': _map(_parts),
  'map_branch': _map(_branched),
  'map_switch': _map(_switched),
  'map_table': _looked_up,
  'map_inner_reduce': _map(_inner_reduce),
  'map_stateless': _map(_stateless),
  'map_seeded': _map(_seeded),
  'map_parallel': lambda d, n: d.map(
    _one(_map_leaves), num_parallel_calls=2, deterministic=True
  ),
  'map_cardinality': lambda d, n: d.map(
    _one(lambda e: digest(e) + d.cardinality())
  ),
  'map_whole': lambda d, n: d.take(3).map(
    _one(lambda e: d.reduce(digest(e), lambda s, *x: 3 * s + digest(x) % 100))
  ),
  'filter': lambda d, n: d.filter(_one(lambda e: digest(e) % 3 != n % 3)),
  'filter_none': lambda d, n: d.filter(_one(lambda e: digest(e) < 0)),
  'batch': lambda d, n: d.batch(n % 3 + 1),
  'batch_drop': lambda d, n: d.batch(n % 3 + 1, drop_remainder=True),
  'batch_parallel': lambda d, n: d.batch(n % 3 + 1, num_parallel_calls=2),
  'padded_batch': lambda d, n: d.padded_batch(n % 3 + 1),
  'ragged_batch': lambda d, n: d.ragged_batch(n % 3 + 1).map(
    lambda r: r.to_tensor()
  ),
  'unbatch': _unbatched,
  'rebatch': lambda d, n: d.rebatch(n % 3 + 1),
  'window': _window,
  'group': _group,
  'enumerate': lambda d, n: d.enumerate(n),
  'zip_self': lambda d, n: _Dataset.zip((d, d.skip(n % 3))),
  'zip_range': lambda d, n: _Dataset.zip((_range(n, 50, 3), d)),
  'zip_down': lambda d, n: _Dataset.zip(
    {'b': _range(n, -9, -2, output_type=tf.int32), 'a': d}
  ),
  'range_zip': lambda d, n: _Dataset.zip((d, _range(n))),
  'concatenate': lambda d, n: d.take(n).concatenate(d),
  'concatenate_endless': lambda d, n: (
    d.concatenate(d.repeat()).concatenate(d).repeat(2).skip(n).take(8)
  ),
  'flat_map': lambda d, n: d.flat_map(
    _one(lambda e: _Dataset.from_tensors(e).repeat(n % 3))
  ),
  'interleave': lambda d, n: d.interleave(
    _one(lambda e: _range(digest(e) % 3)),
    cycle_length=2,
    block_length=n % 2 + 1,
  ),
  'scan': lambda d, n: d.scan(
    tf.constant(n, tf.int64),
    lambda s, *e: ((s * 3 + digest(e)) % 1009, s + digest(e)),
  ),
  'take_while': lambda d, n: d.take_while(
    _one(lambda e: digest(e) % 5 != n % 5)
  ),
  'prefetch': lambda d, n: d.prefetch(n).with_options(tf.data.Options()),
  'cache': lambda d, n: d.cache(),
  'unique': lambda d, n: d.map(_one(digest)).unique(),
  'shard': lambda d, n: d.shard(2, n % 2),
  'shuffle_seeded': lambda d, n: d.shuffle(n + 1, seed=n),
  'shuffle_fixed': lambda d, n: d.shuffle(
    n + 1, seed=n, reshuffle_each_iteration=False
  ).repeat(2),
  'sample': lambda d, n: _Dataset.sample_from_datasets(
    [d, d.take(n)], [0.5, 0.5], seed=n
  ),
  'choose': lambda d, n: _Dataset.choose_from_datasets(
    [d, d.skip(1)], _range(n).map(lambda i: i % 2)
  ),
  'fail_assert': lambda d, n: d.map(_one(_assert_not(n % 5))),
  'fail_division': lambda d, n: d.map(_one(_fail_silently(n % 5))),
  'fail_text': _map(_fail_in_text),
  'fail_skip': lambda d, n: d.map(_one(_assert_not(n % 5))).skip(1),
}

# Those that a graph of the cohort does, for most of the steps.
REPLAYED = tuple(
  name
  for name in STEPS
  if name.startswith(('map_', 'filter', 'batch', 'zip', 'range', 'fail_'))
  and name not in ('map_table', 'map_seeded', 'map_cardinality')
) + (
  'take',
  'take_all',
  'skip',
  'skip_all',
  'repeat',
  'repeat_take',
  'repeat_most',
  'repeat_batch',
  'enumerate',
  'concatenate',
  'concatenate_endless',
  'prefetch',
  'scan',
  'take_while',
)

# They come last, before a reduction that does not look at the order.
UNORDERED: Mapping[str, Step] = {
  'shuffle': lambda d, n: d.shuffle(n + 1),
  'shuffle_repeat': lambda d, n: d.shuffle(n + 1).repeat(2),
}

# They come last, before a reduction that looks at the distribution.
DRAWN: Mapping[str, Step] = {'draw': _map(_drawn)}

# Functions of an element, for `tff.sequence_map`.
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
  'leaves': _map_leaves,
  'digest': digest,
  'text': _text,
  'sorted_names': lambda e: collections.OrderedDict(k=digest(e), z=e),
  'nested_names': _nested_names,
  'open_row': _open_row,
  'loop': _looped,
  'stateless': _stateless,
  'fail_division': _fail_silently(1),
  'fail_assert': _assert_not(2),
}

# Of these, what tf.data does in their place.
INTRINSICS: Mapping[str, Step] = {
  f'sequence_map_{name}': _map(f) for name, f in FUNCTIONS.items()
}

ALL: Mapping[str, Step] = {**STEPS, **UNORDERED, **DRAWN, **INTRINSICS}
