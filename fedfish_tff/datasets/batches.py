# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's batches of one round: its arrays plus a plan of indices.

Which examples a client uses in a round, and in which order, is a pure function
of (seed, round, client, epoch). The plan is made in NumPy, so every execution
context sees the same batches, whether it iterates over them, reads them
through tf.data or gathers them on a device.
"""

from collections.abc import Iterator
import dataclasses

from fedfish_tff import errors
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import random_streams

import numpy as np
import tensorflow as tf

Examples = examples_lib.Examples

# The smallest client of which a quarter is at least one example.
MIN_FEW_SHOT_EXAMPLES = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchSpec:
  """How a client's examples become a round's batches.

  Attributes:
    batch_size: Examples a batch; the last batch of an epoch may have fewer.
    epochs: Passes over the client's examples.
    max_examples: Cap on the examples a client uses in one round, a fresh random
      subset each round; None for no cap.
    shuffle: Whether each epoch has its own random order.
  """

  batch_size: int
  epochs: int = 1
  max_examples: int | None = None
  shuffle: bool = True

  def __post_init__(self) -> None:
    _check_positive('batch_size', self.batch_size)
    _check_positive('epochs', self.epochs)
    if self.max_examples is not None:
      _check_positive('max_examples', self.max_examples)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ClientBatches:
  """One client's batches of one round.

  Iterating yields NumPy batches, nests of arrays [b, ...] with
  b <= `batch_size`; batches never straddle epochs.

  Attributes:
    client_id: The client.
    examples: The client's nest of arrays, as loaded (before the cap).
    indices: int64 [epochs * num_examples], the examples of one epoch after the
      other.
    epochs: Number of epochs.
    batch_size: Examples a batch.
  """

  client_id: str
  examples: Examples
  indices: np.ndarray
  epochs: int
  batch_size: int

  @property
  def num_examples(self) -> int:
    """|D_i|: the examples of an epoch, counted after the cap."""
    return len(self.indices) // self.epochs

  @property
  def batches_per_epoch(self) -> int:
    return -(-self.num_examples // self.batch_size)

  @property
  def num_batches(self) -> int:
    """The batches of all epochs."""
    return self.epochs * self.batches_per_epoch

  def __len__(self) -> int:
    return self.num_batches

  def __iter__(self) -> Iterator[Examples]:
    for epoch in np.split(self.indices, self.epochs):
      for start in range(0, self.num_examples, self.batch_size):
        yield examples_lib.take_examples(
          self.examples, epoch[start : start + self.batch_size]
        )

  def to_dataset(self) -> tf.data.Dataset:
    """Returns the batches as a dataset that can be sent to another process.

    Its graph holds the arrays once (only the rows in use), whatever the number
    of epochs, and gathers each batch from them by its part of the plan.

    Returns:
      A `tf.data.Dataset` of nests of tensors [None, ...], in a fixed order.
    """
    rows, plan = self.used_rows()
    starts, sizes = (bound[:, np.newaxis] for bound in self.bounds())
    rows = tf.nest.map_structure(tf.constant, rows)
    plan = tf.constant(plan, tf.int64)

    # Traced anew for every client and round, so kept small and off AutoGraph.
    @tf.autograph.experimental.do_not_convert
    def gather(start: tf.Tensor, size: tf.Tensor) -> Examples:
      batch_indices = tf.slice(plan, start, size)
      return tf.nest.map_structure(
        lambda row: tf.gather(row, batch_indices), rows
      )

    return tf.data.Dataset.from_tensor_slices((starts, sizes)).map(gather)

  def used_rows(self) -> tuple[Examples, np.ndarray]:
    """Returns the rows in use, and the plan by their numbers.

    Returns:
      (rows, plan): a nest of arrays, copied only if a cap leaves some of the
      client's examples out, and int64 [epochs * num_examples], such that the
      examples of one epoch after the other are rows[plan].
    """
    if self.num_examples >= examples_lib.count_examples(self.examples):
      return self.examples, self.indices
    used, plan = np.unique(self.indices, return_inverse=True)
    return examples_lib.take_examples(self.examples, used), plan

  def bounds(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns each batch's start in the plan and its size, int64 [batches]."""
    numbers = np.arange(self.num_batches)
    epoch, in_epoch = np.divmod(numbers, max(1, self.batches_per_epoch))
    offset = in_epoch * self.batch_size
    sizes = np.minimum(self.batch_size, self.num_examples - offset)
    return epoch * self.num_examples + offset, sizes


def plan_batches(
  examples: Examples,
  spec: BatchSpec,
  *,
  client_id: str,
  seed: int,
  round_number: int,
) -> ClientBatches:
  """Plans a client's batches of one training round.

  The examples in use are a function of (seed, round, client) alone and their
  order of (seed, round, client, epoch), so algorithms with one seed see the
  same batches and the first epochs do not depend on how many follow.

  Args:
    examples: The client's nest of arrays [n, ...].
    spec: Batch size, epochs and cap.
    client_id: The client.
    seed: The run's seed.
    round_number: The round.

  Returns:
    The batches; min(n, `spec.max_examples`) examples in every epoch.
  """
  total = examples_lib.count_examples(examples)
  keys = (seed, round_number, client_id)
  subset = np.arange(total)
  if spec.max_examples is not None and spec.max_examples < total:
    stream = random_streams.random_generator('example cap', *keys)
    subset = np.sort(stream.permutation(total)[: spec.max_examples])
  if spec.shuffle:
    orders = [
      random_streams.random_generator('epoch order', *keys, e).permutation(
        subset
      )
      for e in range(spec.epochs)
    ]
  else:
    orders = [subset] * spec.epochs
  return ClientBatches(
    client_id=client_id,
    examples=examples,
    indices=np.concatenate(orders).astype(np.int64),
    epochs=spec.epochs,
    batch_size=spec.batch_size,
  )


def sequential_batches(
  examples: Examples, *, client_id: str, batch_size: int
) -> ClientBatches:
  """Returns all examples once and in order, as evaluation reads them.

  Args:
    examples: The client's nest of arrays [n, ...].
    client_id: The client.
    batch_size: Examples a batch.

  Returns:
    One epoch of batches.

  Raises:
    errors.InputError: If `batch_size` is not positive.
  """
  return plan_batches(
    examples,
    BatchSpec(batch_size=batch_size, shuffle=False),
    client_id=client_id,
    seed=0,
    round_number=0,
  )


def split_examples(
  examples: Examples, *, fraction: float, client_id: str, seed: int
) -> tuple[Examples, Examples]:
  """Splits a client's examples at random for personalisation.

  Args:
    examples: The client's nest of arrays [n, ...], n >= 2.
    fraction: See `split_rows`.
    client_id: See the same.
    seed: See the same.

  Returns:
    (fine_tune, unseen): disjoint nests of arrays that hold all examples.

  Raises:
    errors.InputError: If the fraction is outside (0, 1) or n < 2.
  """
  fine_tune, unseen = split_rows(
    examples_lib.count_examples(examples),
    fraction=fraction,
    client_id=client_id,
    seed=seed,
  )
  return (
    examples_lib.take_examples(examples, fine_tune),
    examples_lib.take_examples(examples, unseen),
  )


def split_rows(
  total: int, *, fraction: float, client_id: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Splits the numbers of a client's examples at random for personalisation.

  Args:
    total: How many examples the client has, n >= 2.
    fraction: Share of the fine-tuning part, in (0, 1). Both parts get at least
      one example.
    client_id: The client; the split is a function of client and seed.
    seed: The run's seed.

  Returns:
    (fine_tune, unseen): the numbers of each part's examples, rising.

  Raises:
    errors.InputError: If the fraction is outside (0, 1) or n < 2.
  """
  if not 0 < fraction < 1:
    raise errors.InputError(
      f'The fraction of examples to fine-tune on is {fraction}; a number in '
      '(0, 1) was expected.'
    )
  if total < 2:
    raise errors.InputError(
      f'Client {client_id!r} has {total} example(s) and cannot be split for '
      'personalisation; at least 2 were expected.'
    )
  order = _split_order(total, client_id=client_id, seed=seed)
  num_fine_tune = min(max(1, int(fraction * total)), total - 1)
  return np.sort(order[:num_fine_tune]), np.sort(order[num_fine_tune:])


def split_few_shot(
  examples: Examples, *, fraction: float, client_id: str, seed: int
) -> tuple[Examples, Examples]:
  """Splits a client's examples for few-shot evaluation.

  The unseen half is the same for every fraction, and equal to that of
  `split_examples` with fraction 0.5; a smaller support set is part of a larger
  one. So only the amount of fine-tuning data differs between fractions.

  Args:
    examples: The client's nest of arrays [n, ...], n >= 4.
    fraction: Share of all examples to fine-tune on, in [0, 0.5].
    client_id: The client; the split is a function of client and seed.
    seed: The run's seed.

  Returns:
    (support, unseen): int(fraction * n) examples (none for fraction 0), and
    the unseen half.

  Raises:
    errors.InputError: If the fraction is outside [0, 0.5] or n < 4.
  """
  if not 0 <= fraction <= 0.5:
    raise errors.InputError(
      f'The few-shot fraction is {fraction}; a number in [0, 0.5] was '
      'expected, since half of the examples stay unseen.'
    )
  total = examples_lib.count_examples(examples)
  if total < MIN_FEW_SHOT_EXAMPLES:
    raise errors.InputError(
      f'Client {client_id!r} has {total} example(s); few-shot evaluation '
      f'expects at least {MIN_FEW_SHOT_EXAMPLES}.'
    )
  order = _split_order(total, client_id=client_id, seed=seed)
  support, unseen = order[: int(fraction * total)], order[total // 2 :]
  return (
    examples_lib.take_examples(examples, np.sort(support)),
    examples_lib.take_examples(examples, np.sort(unseen)),
  )


def _split_order(total: int, *, client_id: str, seed: int) -> np.ndarray:
  stream = random_streams.random_generator('example split', seed, client_id)
  return stream.permutation(total)


def _check_positive(field: str, value: int) -> None:
  is_integer = isinstance(value, (int, np.integer))
  if not is_integer or isinstance(value, bool) or value < 1:
    raise errors.InputError(
      f'{field} is {value!r}; a positive integer was expected.'
    )
