# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's random numbers in a graph that XLA compiles.

XLA draws other numbers. So a stateless random operation becomes the arithmetic
of TensorFlow's CPU kernels: Philox-4x32-10 (Salmon et al., 2011, Parallel
Random Numbers: As Easy as 1, 2, 3). A block of four words is a function of a
key and the block's number. Integers and uniform numbers are the same bit for
bit; logarithms and the like are XLA's.

Other random operations are refused, and XLA does not compile their graph.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import TypeAlias

from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef

# Four tensors, uint32.
_Words: TypeAlias = Sequence[tf.Tensor]

# The numbers of algorithms in `tf.random.Algorithm`. On a CPU, TensorFlow's
# automatic choice is Philox.
_PHILOX = 1
_AUTOMATIC = 3

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_SEED_KEY = (0x3EC8F720, 0x02461E29)

# The least argument of Box-Muller's logarithm.
_LEAST_UNIFORM = 1.0e-7

# The number of probabilities that are added up one by one.
_PIECE = 32

# By type: the unsigned type of a number's bits, the bits of 1, and the number
# of the lowest bits that are random.
_ONES = {
  tf.float16: (tf.uint16, 15 << 10, 10),
  tf.bfloat16: (tf.uint16, 127 << 7, 7),
  tf.float32: (tf.uint32, 127 << 23, 23),
}


@dataclasses.dataclass(frozen=True)
class _Stream:
  """A stream of blocks of random words.

  Attributes:
    key: The key, a uint64 scalar.
    counter: The number of block 0 as two uint64 scalars, the lower part first.
  """

  key: tf.Tensor
  counter: Sequence[tf.Tensor]

  def words(self, block: tf.Tensor) -> _Words:
    """Returns the words of blocks, given their numbers, uint64 of any shape."""
    low, high = self.counter
    if tf.get_static_value(low, partial=True) == 0:
      low = block
    else:
      low += block
      # For a sum with zero XLA would forget that its size may vary.
      high += tf.cast(low < block, tf.uint64)
    return _philox((*_halves(low), *_halves(high)), _halves(self.key))


def _halves(value: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
  """Returns the lower and the upper half of uint64 values, as uint32."""
  high = tf.bitwise.right_shift(value, tf.constant(32, tf.uint64))
  return tf.cast(value, tf.uint32), tf.cast(high, tf.uint32)


def _joined(low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
  """Returns the uint64 values with the given halves."""
  high = tf.cast(high, tf.uint64)
  high = tf.bitwise.left_shift(high, tf.constant(32, tf.uint64))
  return tf.bitwise.bitwise_or(high, tf.cast(low, tf.uint64))


def _philox(counter: _Words, key: Sequence[tf.Tensor]) -> _Words:
  """Returns the words of blocks, given the words of their numbers."""
  a, b, c, d = counter
  xor = tf.bitwise.bitwise_xor
  for number in range(_ROUNDS):
    first, second = (
      k + tf.constant(number * step & 0xFFFFFFFF, tf.uint32)
      for k, step in zip(key, _KEY_STEPS, strict=True)
    )
    (low_a, high_a), (low_c, high_c) = (
      _halves(tf.cast(word, tf.uint64) * tf.constant(multiplier, tf.uint64))
      for word, multiplier in zip((a, c), _MULTIPLIERS, strict=True)
    )
    a, b, c, d = (
      xor(xor(high_c, b), first),
      low_c,
      xor(xor(high_a, d), second),
      low_a,
    )
  return a, b, c, d


def _stream_of_seed(seed: tf.Tensor) -> _Stream:
  """Returns the stream of an operation with a seed, int [2]."""
  # Negative seeds are sign-extended.
  seed = tf.cast(tf.cast(seed, tf.int64), tf.uint64)
  key = [tf.constant(word, tf.uint32) for word in _SEED_KEY]
  a, b, c, d = _philox((*_halves(seed[0]), *_halves(seed[1])), key)
  return _Stream(_joined(a, b), (tf.zeros([], tf.uint64), _joined(c, d)))


def _draw(
  stream: _Stream,
  shape: tf.Tensor,
  dtype: tf.DType,
  of_words: Callable[[_Words, tf.DType], Sequence[tf.Tensor]],
) -> tf.Tensor:
  """Returns random numbers, the first of them from a stream's first block.

  Args:
    stream: The blocks of random words.
    shape: The shape, int [rank]. A size with only a bound counts as unknown.
    dtype: The dtype of the numbers.
    of_words: A function from the words of blocks to their random numbers.

  Raises:
    NotReplayableError: If the rank is unknown.
  """
  if shape.shape.rank != 1 or shape.shape[0] is None:
    raise replayer.NotReplayableError('random numbers of unknown rank')
  per_block = 2 if dtype.size == 8 else 4
  known = tf.get_static_value(shape, partial=True)
  sizes = [
    tf.cast(shape[i], tf.int64) if known is None or n is None else int(n)
    for i, n in enumerate([None] * shape.shape[0] if known is None else known)
  ]
  # A block's numbers are adjacent in the axes after the last unknown one.
  num_outer = max(
    (i + 1 for i, n in enumerate(sizes) if not isinstance(n, int)), default=0
  )
  outer, num_inner = sizes[:num_outer], math.prod(sizes[num_outer:])
  if num_outer and num_inner % per_block:
    place = _places([*outer, num_inner])
    size = tf.constant(per_block, tf.uint64)
    drawn, *others = of_words(stream.words(place // size), dtype)
    for i, other in enumerate(others, 1):
      is_other = tf.equal(place % size, tf.constant(i, tf.uint64))
      drawn = tf.where(is_other, other, drawn)
  else:
    blocks = _places([*outer, -(-num_inner // per_block)])
    drawn = tf.stack(of_words(stream.words(blocks), dtype), axis=-1)
    if not num_outer:
      drawn = tf.reshape(drawn, [-1])[:num_inner]
  return tf.reshape(drawn, shape)


def _places(sizes: Sequence[int | tf.Tensor]) -> tf.Tensor:
  """Returns each element's number in row-major order, uint64."""
  places = tf.zeros([], tf.int64)
  for size in sizes:
    along = tf.range(tf.cast(size, tf.int64))
    places = tf.expand_dims(places, -1) * size + along
  return tf.cast(places, tf.uint64)


def _unit(words: _Words, dtype: tf.DType) -> list[tf.Tensor]:
  """Returns the uniform numbers in [0, 1) of blocks."""
  if dtype == tf.float64:
    mantissas = (
      _joined(
        low, tf.bitwise.bitwise_and(high, tf.constant(0xFFFFF, tf.uint32))
      )
      for high, low in (words[:2], words[2:])
    )
    bits_of, one = mantissas, tf.constant(1023 << 52, tf.uint64)
  else:
    of_bits, one, num_bits = _ONES[dtype]
    mask = tf.constant((1 << num_bits) - 1, of_bits)
    one = tf.constant(one, of_bits)
    bits_of = (tf.bitwise.bitwise_and(tf.cast(w, of_bits), mask) for w in words)
  return [
    tf.bitcast(tf.bitwise.bitwise_or(bits, one), dtype) - tf.constant(1, dtype)
    for bits in bits_of
  ]


def _normal(words: _Words, dtype: tf.DType) -> list[tf.Tensor]:
  """Returns the normal numbers of blocks, by the Box-Muller transform."""
  computed = tf.float64 if dtype == tf.float64 else tf.float32
  uniform = _unit(words, computed)
  numbers = []
  for first, second in zip(uniform[::2], uniform[1::2], strict=True):
    radius = tf.sqrt(-2 * tf.math.log(tf.maximum(first, _LEAST_UNIFORM)))
    angle = tf.cast(2 * math.pi * tf.cast(second, tf.float64), computed)
    numbers += [radius * tf.sin(angle), radius * tf.cos(angle)]
  return [tf.cast(number, dtype) for number in numbers]


def _integers(words: _Words, dtype: tf.DType) -> list[tf.Tensor]:
  """Returns the unsigned integers of blocks, with all their bits random."""
  if dtype.size == 8:
    return [_joined(*words[:2]), _joined(*words[2:])]
  return list(words)


def _of_seed(draw: Callable[..., tf.Tensor]) -> replayer.Handler:
  """Returns the handler of an operation that takes a seed."""

  def handle(replay, node, inputs):
    shape, seed, *others = inputs
    _check_ends(replay, others)
    return [draw(_stream_of_seed(seed), shape, node, *others)]

  return handle


def _of_key(draw: Callable[..., tf.Tensor]) -> replayer.Handler:
  """Returns the handler of an operation that takes a key and a counter."""

  def handle(replay, node, inputs):
    shape, key, counter, algorithm, *others = inputs
    _check_ends(replay, others)
    if tf.get_static_value(algorithm) not in (_PHILOX, _AUTOMATIC):
      raise replayer.NotReplayableError(
        f'{node.op} by an algorithm that is not known to be Philox'
      )
    stream = _Stream(key[0], tf.unstack(counter, 2))
    return [draw(stream, shape, node, *others)]

  return handle


def _check_ends(replay: replayer.Replay, ends: Sequence[tf.Tensor]) -> None:
  """Notes a failure if there is no number between two ends, if any."""
  if ends:
    least, end = ends
    replay.note_failure(least >= end)


def _numbers(
  stream: _Stream,
  shape: tf.Tensor,
  node: _NodeDef,
  *,
  of_words: Callable[[_Words, tf.DType], Sequence[tf.Tensor]],
) -> tf.Tensor:
  dtype = tf.as_dtype(node.attr['dtype'].type)
  return tf.cast(_draw(stream, shape, dtype, of_words), dtype)


_uniform_numbers = functools.partial(_numbers, of_words=_unit)
_normal_numbers = functools.partial(_numbers, of_words=_normal)
_all_integers = functools.partial(_numbers, of_words=_integers)


def _integers_between(
  stream: _Stream,
  shape: tf.Tensor,
  node: _NodeDef,
  least: tf.Tensor,
  end: tf.Tensor,
) -> tf.Tensor:
  del node
  dtype = least.dtype
  unsigned = tf.uint64 if dtype.size == 8 else tf.uint32
  drawn = _draw(stream, shape, dtype, _integers)
  least, end = tf.cast(least, unsigned), tf.cast(end, unsigned)
  return tf.cast(least + drawn % (end - least), dtype)


def _cumulative(rows: tf.Tensor) -> tf.Tensor:
  """Returns the cumulative sums of rows [rows, length].

  XLA computes each sum by itself, so a long row is cut into pieces.
  """
  length = rows.shape[1]
  if length is None or length <= 2 * _PIECE:
    return tf.cumsum(rows, axis=1)
  num_rows, num_pieces = tf.shape(rows)[0], -(-length // _PIECE)
  sums = tf.cumsum(
    tf.reshape(
      _columns(rows, range(num_pieces * _PIECE)),
      tf.stack([num_rows, num_pieces, _PIECE]),
    ),
    axis=2,
  )
  ends = _cumulative(tf.gather(sums, _PIECE - 1, axis=2))
  sums += tf.expand_dims(_columns(ends, range(-1, num_pieces - 1)), 2)
  return _columns(
    tf.reshape(sums, tf.stack([num_rows, num_pieces * _PIECE])), range(length)
  )


def _columns(rows: tf.Tensor, numbers: Sequence[int]) -> tf.Tensor:
  """Returns some columns of rows, with zeros for those that do not exist.

  With padding, XLA would not know that the number of rows stays the same.
  """
  last = rows.shape[1] - 1
  return tf.where(
    [0 <= n <= last for n in numbers],
    tf.gather(rows, [min(max(n, 0), last) for n in numbers], axis=1),
    tf.zeros([], rows.dtype),
  )


def _multinomial(replay, node, inputs):
  """Draws classes by sums of probabilities in float64, as TensorFlow does."""
  del replay
  logits, num_samples, seed = inputs
  is_finite = tf.math.is_finite(logits)
  largest = tf.reduce_max(
    tf.where(is_finite, logits, logits.dtype.min), axis=1, keepdims=True
  )
  weights = tf.exp(tf.cast(logits, tf.float64) - tf.cast(largest, tf.float64))
  sums = _cumulative(tf.where(is_finite, weights, tf.zeros_like(weights)))
  shape = tf.stack([tf.shape(logits)[0], num_samples])
  drawn = _draw(_stream_of_seed(seed), shape, tf.float64, _unit)
  # XLA would not know that a slice has as many rows as the sums.
  places = drawn * tf.reduce_max(sums, axis=1, keepdims=True)
  is_below = tf.expand_dims(sums, 1) <= tf.expand_dims(places, 2)
  classes = tf.reduce_sum(tf.cast(is_below, tf.int32), axis=2)
  return [tf.cast(classes, tf.as_dtype(node.attr['output_dtype'].type))]


def _key_and_counter(replay, node, inputs):
  del replay
  stream = _stream_of_seed(inputs[0])
  results = [stream.key[tf.newaxis], tf.stack(stream.counter)]
  if node.op == 'StatelessRandomGetKeyCounterAlg':
    results.append(tf.constant(_PHILOX))
  return results


def _algorithm(replay, node, inputs):
  del replay, node, inputs
  return [tf.constant(_PHILOX)]


def _refuse(replay, node, inputs):
  del replay, inputs
  raise replayer.NotReplayableError(
    f'{node.op}, for which XLA draws other random numbers than TensorFlow'
  )


# The handlers for graphs that XLA compiles.
HANDLERS: Mapping[str, replayer.Handler] = {
  **dict.fromkeys(
    (
      'Multinomial',
      'ParameterizedTruncatedNormal',
      'RandomShuffle',
      'RandomStandardNormal',
      'RandomUniform',
      'RandomUniformInt',
      'RngReadAndSkip',
      'RngSkip',
      'StatefulStandardNormalV2',
      'StatefulTruncatedNormal',
      'StatefulUniform',
      'StatefulUniformFullInt',
      'StatefulUniformInt',
      'StatelessParameterizedTruncatedNormal',
      'StatelessTruncatedNormal',
      'StatelessTruncatedNormalV2',
      'TruncatedNormal',
      'XlaRngBitGenerator',
    ),
    _refuse,
  ),
  'StatelessMultinomial': _multinomial,
  'StatelessRandomGetAlg': _algorithm,
  'StatelessRandomGetKeyCounter': _key_and_counter,
  'StatelessRandomGetKeyCounterAlg': _key_and_counter,
  'StatelessRandomNormal': _of_seed(_normal_numbers),
  'StatelessRandomNormalV2': _of_key(_normal_numbers),
  'StatelessRandomUniform': _of_seed(_uniform_numbers),
  'StatelessRandomUniformFullInt': _of_seed(_all_integers),
  'StatelessRandomUniformFullIntV2': _of_key(_all_integers),
  'StatelessRandomUniformInt': _of_seed(_integers_between),
  'StatelessRandomUniformIntV2': _of_key(_integers_between),
  'StatelessRandomUniformV2': _of_key(_uniform_numbers),
}
