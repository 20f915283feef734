# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Client data of a random program, and what programs ask of an element."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import functools
from typing import Any
import zlib

import fedfish_tff  # noqa: F401  First: quiets TensorFlow.

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

_odict = collections.OrderedDict
_spec = tf.TensorSpec

# Element specs. Names out of order and parts of one dtype can be swapped.
ELEMENTS: Mapping[str, Any] = {
  'int': _spec([], tf.int32),
  'float': _spec([], tf.float32),
  'half': _spec([3], tf.float16),
  'text': _spec([], tf.string),
  'flag': _spec([], tf.bool),
  'bytes': _spec([2], tf.uint8),
  'names': _odict(b=_spec([], tf.int32), a=_spec([], tf.int32)),
  'mixed': _odict(x=_spec([3], tf.float32), y=_spec([], tf.int32)),
  'pair': (_spec([2], tf.float32), _spec([], tf.int64)),
  'nested': _odict(
    z=(_spec([], tf.int32), _spec([], tf.string)),
    m=_odict(q=_spec([2], tf.float64), c=_spec([], tf.int16)),
  ),
  'row': _spec([None], tf.int64),
  'rows': _odict(t=_spec([None], tf.string), k=_spec([None], tf.int32)),
  'grid': _spec([None, None], tf.float32),
  'open': _spec([2, None], tf.int32),
  'tokens': (_spec([None, 4], tf.int64), _spec([None], tf.int32)),
}

# How a client's data is passed. Rows of open length have one length in a call,
# or any if ragged. Beside these there is 'reshuffled', whose second reading in
# a call is in an order that is nobody's to say.
FORMS = (
  'list',
  'tensors',
  'ragged_tensors',
  'slices',
  'batches',
  'shuffled',
  'filtered',
  'stepped',
)

_TEXTS = (b'', b'a', b'bc', 'ü'.encode(), b'nul\0', b'a longer text 12')
_SIZES = (0, 0, 1, 2, 3, 5, 8, 13)


def element_spec(element: str, form: str) -> Any:
  """Returns the spec of the elements that client work sees."""
  spec = ELEMENTS[element]
  if form == 'batches':
    return tf.nest.map_structure(
      lambda s: _spec([None, *s.shape], s.dtype), spec
    )
  return spec


def client_data(element: str, form: str, data_seed: int) -> list[Any]:
  """Returns the data of a cohort's clients, all of it decided by the seed."""
  rng = np.random.default_rng(data_seed)
  sizes = rng.choice(_SIZES, rng.integers(1, 4))
  shared = rng.integers(0, 4, 2)
  return [_client(element, form, int(size), shared, rng) for size in sizes]


def _client(element, form, size, shared, rng) -> Any:
  spec = ELEMENTS[element]
  elements = []
  for _ in range(size):
    lengths = iter(rng.integers(0, 4, 2) if 'ragged' in form else shared)
    lengths = list(lengths)
    elements.append(
      tf.nest.map_structure(lambda s: _leaf(s, lengths, rng), spec)  # noqa: B023
    )
  if form.endswith('list'):
    return elements
  if form.endswith('tensors'):
    return _joined(spec, elements)
  dataset = tf.data.Dataset.from_tensor_slices(_stacked(spec, elements))
  if form == 'batches':
    return dataset.batch(3)
  if form == 'shuffled':
    return dataset.shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(2)
  if form == 'stepped':
    return dataset.skip(1).repeat(2).prefetch(1).take(5)
  if form == 'reshuffled':
    return dataset.shuffle(4, seed=3).repeat(2)
  if form == 'filtered':
    return (
      dataset.enumerate().filter(lambda i, _: i % 3 != 1).map(lambda _, e: e)
    )
  return dataset


def _leaf(spec: tf.TensorSpec, lengths: list[int], rng) -> Any:
  open_lengths = iter(lengths)
  shape = [
    int(next(open_lengths)) if size is None else size for size in spec.shape
  ]
  if spec.dtype == tf.string:
    return rng.choice(np.array(_TEXTS, object), shape)
  if spec.dtype == tf.bool:
    return rng.random(shape) < 0.5
  if spec.dtype.is_floating:
    # Few digits, so that sums are exact in any order.
    return np.asarray(
      rng.integers(-20, 20, shape) / 4, spec.dtype.as_numpy_dtype
    )
  low = 0 if spec.dtype.is_unsigned else -9
  return np.asarray(rng.integers(low, 10, shape), spec.dtype.as_numpy_dtype)


def _stacked(spec: Any, elements: list[Any]) -> Any:
  def stack(s: tf.TensorSpec, *rows: Any) -> tf.Tensor:
    if not rows:
      return tf.zeros([0, *s.shape], s.dtype)
    return tf.stack([tf.constant(row, s.dtype) for row in rows])

  return tf.nest.map_structure(stack, spec, *elements)


def _joined(spec: Any, elements: list[Any]) -> tf.data.Dataset:
  if not elements:
    # An element to leave out, since the worker knows no generators.
    rng = np.random.default_rng(0)
    row = tf.nest.map_structure(lambda s: _leaf(s, [1, 1], rng), spec)
    return _joined(spec, [row]).take(0)
  return functools.reduce(
    lambda a, b: a.concatenate(b),
    [
      tf.data.Dataset.from_tensors(
        tf.nest.map_structure(lambda s, v: tf.constant(v, s.dtype), spec, e)
      )
      for e in elements
    ],
  )


def empty_dataset(spec: Any) -> tf.data.Dataset:
  """Returns a dataset of given elements that has none."""
  return tf.data.Dataset.from_generator(lambda: iter(()), output_signature=spec)


def sequence_type(element: str, form: str) -> tff.SequenceType:
  """Returns the type of a client's data."""
  spec = element_spec(element, form)
  return tff.SequenceType(tff.types.tensorflow_to_type(spec))


def named_leaves(
  element: Any, path: str = ''
) -> Iterator[tuple[str, tf.Tensor]]:
  """Yields the tensors of an element with what the programmer calls them."""
  if hasattr(element, '_asdict'):
    element = element._asdict()
  if isinstance(element, Mapping):
    for name in sorted(element):
      yield from named_leaves(element[name], f'{path}/{name}')
  elif isinstance(element, (tuple, list)):
    for i, part in enumerate(element):
      yield from named_leaves(part, f'{path}/{i}')
  else:
    yield path, element


@tf.autograph.experimental.do_not_convert
def digest(element: Any) -> tf.Tensor:
  """Returns a number, int64, that tells an element from most others.

  Each tensor counts by its name, and each of its numbers by its place.
  """
  total = tf.constant(0, tf.int64)
  for path, leaf in named_leaves(element):
    if leaf.dtype == tf.string:
      numbers = tf.strings.to_hash_bucket_fast(leaf, 1009)
    elif leaf.dtype.is_floating:
      numbers = tf.cast(tf.round(tf.cast(leaf, tf.float64) * 4), tf.int64)
    else:
      numbers = tf.cast(leaf, tf.int64)
    numbers = tf.reshape(numbers, [-1])
    places = tf.range(tf.size(numbers, tf.int64)) % 97 + 1
    weight = zlib.crc32(path.encode()) % 1000 + 1
    total += weight * tf.reduce_sum(numbers * places)
    total += tf.size(numbers, tf.int64)
  return tf.math.floormod(total, 1_000_003)


@tf.autograph.experimental.do_not_convert
def features(element: Any, size: int = 4) -> tf.Tensor:
  """Returns numbers between 0 and 1 that stand for an element, [1, size]."""
  number = digest(element)
  primes = tf.constant([7, 5, 11, 13, 3, 17, 19, 23][:size], tf.int64)
  return tf.cast(number % primes, tf.float32)[tf.newaxis] / 32.0
