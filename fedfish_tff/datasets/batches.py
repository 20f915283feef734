# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""One client's batches of one round: its arrays plus a plan of indices.

The examples that a client uses in a round, and their order, are a pure function
of (seed, round, client, epoch). The plan is made in NumPy, so every execution
context sees the same batches, whether it iterates over them, reads them through
tf.data or gathers them on a device.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import functools
from typing import Any

from fedfish_tff import errors
from fedfish_tff.datasets import client_data as client_data_lib
from fedfish_tff.datasets import client_sources
from fedfish_tff.datasets import examples as examples_lib
from fedfish_tff.datasets import random_streams

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

Examples = examples_lib.Examples

# Maps the number of a client's examples to `ClientBatches.indices`.
_Plan = Callable[[int], np.ndarray]

# The smallest client of which a quarter is at least one example.
MIN_FEW_SHOT_EXAMPLES = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchSpec:
  """The division of a client's examples into a round's batches.

  Attributes:
    batch_size: The number of examples per batch; the last batch of an epoch may
      have fewer.
    epochs: The number of passes over the client's examples.
    max_examples: The maximal number of examples that a client uses per round, a
      new random subset in each round; None for no limit.
    shuffle: Whether each epoch has its own random order.
  """

  batch_size: int
  epochs: int = 1
  max_examples: int | None = None
  shuffle: bool = True

  def __post_init__(self) -> None:
    errors.check_positive_integer('batch_size', self.batch_size)
    errors.check_positive_integer('epochs', self.epochs)
    if self.max_examples is not None:
      errors.check_positive_integer('max_examples', self.max_examples)


class ClientBatches:
  """One client's batches of one round; the client need not be read yet.

  Iterating yields NumPy batches, nests of arrays [b, ...] with b <=
  `batch_size`; batches never straddle epochs.

  A client with a source is read where its batches are used. Until then, and
  when they are pickled, they consist of its name, its source and the plan.

  Attributes:
    client_id: The client's id.
    epochs: The number of epochs, one after another in the batches.
    batch_size: The number of examples per batch.
    stored: The client to read; None for one with its arrays here.
    num_rows_hint: The number of examples of all epochs, as far as it is known
      without reading the client.
  """

  def __init__(
    self,
    *,
    client_id: str,
    examples: Examples | client_sources.StoredClient,
    indices: np.ndarray | _Plan,
    epochs: int,
    batch_size: int,
    num_rows_hint: int = 0,
  ) -> None:
    """Reads nothing yet.

    Args:
      client_id: The client's id.
      examples: The client's nest of arrays, before the cap, or the stored
        client.
      indices: The examples of one epoch after the other, int64 [epochs *
        num_examples]. For a stored client, a function that returns them.
      epochs: The number of epochs in `indices`.
      batch_size: The number of examples per batch.
      num_rows_hint: The approximate number of examples of all epochs, for a
        stored client.
    """
    self.client_id = client_id
    self.epochs = epochs
    self.batch_size = batch_size
    self.num_rows_hint = num_rows_hint
    self.stored = None
    if isinstance(examples, client_sources.StoredClient):
      self.stored = examples
      self._plan = indices
    else:
      self.examples = examples
      self.indices = indices

  def __getstate__(self) -> dict[str, Any]:
    read = () if self.stored is None else ('examples', 'indices')
    return {k: v for k, v in vars(self).items() if k not in read}

  @functools.cached_property
  def examples(self) -> Examples:
    """The client's nest of arrays, as loaded (before the cap)."""
    return self.stored.load()

  @functools.cached_property
  def indices(self) -> np.ndarray:
    """The examples, epoch by epoch, int64 [epochs * num_examples]."""
    return self._plan(examples_lib.count_examples(self.examples))

  @functools.cached_property
  def num_examples(self) -> int:
    """|D_i|: the number of examples per epoch, counted after the cap.

    For a stored client it may be set by the code that has read it in another
    process.
    """
    return len(self.indices) // self.epochs

  def read(self) -> 'ClientBatches':
    """Returns the batches with their client read.

    For a stored client, this object keeps only the number of examples.
    """
    if self.stored is None:
      return self
    examples = self.stored.load()
    read = ClientBatches(
      client_id=self.client_id,
      examples=examples,
      indices=self._plan(examples_lib.count_examples(examples)),
      epochs=self.epochs,
      batch_size=self.batch_size,
    )
    self.num_examples = read.num_examples
    return read

  def replan(
    self,
    choose: Callable[[np.ndarray], np.ndarray],
    *,
    epochs: int = 1,
    batch_size: int | None = None,
  ) -> 'ClientBatches':
    """Returns other batches of the client, without reading it.

    Args:
      choose: A function from the examples of an epoch, int64 [num_examples] in
        the order of the first one, to the `indices` of the other batches. It is
        a function of a module, or a `functools.partial` of one, since it may be
        pickled.
      epochs: The number of epochs in the result of `choose`.
      batch_size: The number of examples per batch; None for the same as here.
    """
    if self.stored is None:
      indices = choose(self.indices[: self.num_examples])
    else:
      indices = functools.partial(_choose, self._plan, self.epochs, choose)
    return ClientBatches(
      client_id=self.client_id,
      examples=self.stored or self.examples,
      indices=indices,
      epochs=epochs,
      batch_size=batch_size or self.batch_size,
      num_rows_hint=self.num_rows_hint,
    )

  @property
  def batches_per_epoch(self) -> int:
    return -(-self.num_examples // self.batch_size)

  @property
  def num_batches(self) -> int:
    """The number of batches of all epochs."""
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

    Its graph holds the arrays once (only the used rows), whatever the number of
    epochs, and gathers each batch from them by its part of the plan.

    Returns:
      A `tf.data.Dataset` of nests of tensors [None, ...], in a fixed order.
    """
    used, plan = self.used_rows()
    rows = self.examples
    if used is not None:
      rows = examples_lib.take_examples(rows, used)
    starts, sizes = self.bounds().T[:, :, np.newaxis]
    rows = tf.nest.map_structure(tf.constant, rows)
    plan = tf.constant(plan, tf.int64)

    # Traced for every client and round, so kept small and without AutoGraph.
    @tf.autograph.experimental.do_not_convert
    def gather(start: tf.Tensor, size: tf.Tensor) -> Examples:
      batch_indices = tf.slice(plan, start, size)
      return tf.nest.map_structure(
        lambda row: tf.gather(row, batch_indices), rows
      )

    return tf.data.Dataset.from_tensor_slices((starts, sizes)).map(gather)

  def used_rows(self) -> tuple[np.ndarray | None, np.ndarray]:
    """Returns the used rows, and the plan in terms of them.

    Returns:
      (used, plan): the numbers of the examples that are used, int64 [rows], or
      None if the cap leaves out none; and int64 [epochs * num_examples], such
      that used[plan] are the `indices`.
    """
    if self.num_examples >= examples_lib.count_examples(self.examples):
      return None, self.indices
    if self.epochs == 1:
      return self.indices, np.arange(self.num_examples)
    return np.unique(self.indices, return_inverse=True)

  def bounds(self) -> np.ndarray:
    """Returns each batch's start in the plan and its size, int64 [batches, 2]."""
    starts = np.arange(0, self.num_examples, self.batch_size)
    bounds = np.empty([self.epochs, len(starts), 2], np.int64)
    epochs = np.arange(self.epochs)[:, np.newaxis]
    bounds[..., 0] = epochs * self.num_examples + starts
    bounds[..., 1] = np.minimum(self.batch_size, self.num_examples - starts)
    return bounds.reshape([-1, 2])


ClientInput = ClientBatches | tf.data.Dataset


def plan_batches(
  examples: Examples,
  spec: BatchSpec,
  *,
  client_id: str,
  seed: int,
  round_number: int,
) -> ClientBatches:
  """Plans a client's batches of one training round.

  The used examples are a function of (seed, round, client) alone and their
  order of (seed, round, client, epoch). So algorithms with one seed see the
  same batches, and the first epochs do not depend on the number of epochs.

  Args:
    examples: The client's nest of arrays [n, ...].
    spec: The batch size, the epochs and the cap.
    client_id: The client's id, on which the draws depend.
    seed: The run's seed.
    round_number: The round, on which the draws depend.

  Returns:
    The batches, with min(n, `spec.max_examples`) examples in every epoch.
  """
  indices = plan_indices(
    examples_lib.count_examples(examples),
    spec,
    client_id=client_id,
    seed=seed,
    round_number=round_number,
  )
  return ClientBatches(
    client_id=client_id,
    examples=examples,
    indices=indices,
    epochs=spec.epochs,
    batch_size=spec.batch_size,
  )


def plan_indices(
  total: int, spec: BatchSpec, *, client_id: str, seed: int, round_number: int
) -> np.ndarray:
  """Returns the `indices` of `plan_batches`, int64 [epochs * num_examples].

  `total` is the number of the client's examples.
  """
  keys = (seed, round_number, client_id)
  subset = np.arange(total)
  if spec.max_examples is not None and spec.max_examples < total:
    stream = random_streams.random_generator('example cap', *keys)
    subset = np.sort(stream.permutation(total)[: spec.max_examples])
  if not spec.shuffle:
    return np.tile(subset, spec.epochs)
  orders = [
    random_streams.random_generator('epoch order', *keys, e).permutation(subset)
    for e in range(spec.epochs)
  ]
  return np.concatenate(orders)


def plan_client(
  clients: client_data_lib.ClientData,
  spec: BatchSpec,
  *,
  client_id: str,
  seed: int,
  round_number: int,
  refers: bool,
) -> ClientBatches:
  """Plans a client's batches, and reads the client unless it is read later.

  Args:
    clients: Any client data with that client.
    spec: The batch size, the epochs and the cap.
    client_id: The client's id, on which the draws depend.
    seed: The run's seed.
    round_number: The round, on which the draws depend.
    refers: The result of `takes_references` in the thread that has the context.

  Returns:
    The batches, of a stored client if `refers` and the clients have a source.
  """
  keys = dict(client_id=client_id, seed=seed, round_number=round_number)
  if not refers or clients.source is None:
    return plan_batches(clients.load_client(client_id), spec, **keys)
  size = clients.approximate_size(client_id)
  return ClientBatches(
    client_id=client_id,
    examples=client_sources.StoredClient(clients.source, client_id, clients),
    indices=functools.partial(plan_indices, spec=spec, **keys),
    epochs=spec.epochs,
    batch_size=spec.batch_size,
    num_rows_hint=spec.epochs * min(size, spec.max_examples or size),
  )


def takes_references() -> bool:
  """Returns whether the current execution context reads clients elsewhere."""
  return getattr(current_runner(), 'takes_client_references', False)


def current_runner() -> Any:
  """Returns the `execution.Runner` of the current context; None for TFF's own."""
  context = tff.framework.get_context_stack().current
  return getattr(context, 'runner', None)


def to_client_input(batches: ClientBatches) -> ClientInput:
  """Returns the argument of a computation for a client's batches.

  It is the batches themselves if the `takes_client_batches` of the current
  context's runner says that it uses their arrays directly, otherwise a
  dataset of them.
  """
  if getattr(current_runner(), 'takes_client_batches', False):
    return batches
  return batches.to_dataset()


def sequential_batches(
  examples: Examples, *, client_id: str, batch_size: int
) -> ClientBatches:
  """Returns all examples once and in order, as evaluation reads them.

  Args:
    examples: The client's nest of arrays [n, ...].
    client_id: The client's id, for messages.
    batch_size: The number of examples per batch.

  Returns:
    One epoch of batches.
  """
  return plan_batches(
    examples,
    BatchSpec(batch_size=batch_size, shuffle=False),
    client_id=client_id,
    seed=0,
    round_number=0,
  )


def split_rows(
  total: int, *, fraction: float, client_id: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Splits the numbers of a client's examples at random for personalisation.

  Args:
    total: The number of the client's examples, at least 2.
    fraction: The share of the fine-tuning part, in (0, 1). Both parts get at
      least one example.
    client_id: The client's id; the split is a function of client and seed.
    seed: The run's seed.

  Returns:
    (fine_tune, unseen): the numbers of each part's examples, ascending; the
    parts are disjoint and together have all examples.
  """
  errors.check_range(
    'The fraction of examples to fine-tune on', fraction, above=0, below=1
  )
  if total < 2:
    raise errors.InputError(
      f'Client {client_id!r} must have at least 2 examples to be split for '
      f'personalisation, got {total}.'
    )
  order = _split_order(total, client_id=client_id, seed=seed)
  num_fine_tune = min(max(1, int(fraction * total)), total - 1)
  return np.sort(order[:num_fine_tune]), np.sort(order[num_fine_tune:])


def split_few_shot(
  total: int, *, fraction: float, client_id: str, seed: int
) -> tuple[np.ndarray, np.ndarray]:
  """Splits the numbers of a client's examples for few-shot evaluation.

  The unseen half is the same for every fraction, and equal to that of
  `split_rows` with fraction 0.5. A smaller support set is part of a larger one.
  So fractions differ only in the amount of fine-tuning data.

  Args:
    total: The number of the client's examples, at least 4.
    fraction: The share of all examples to fine-tune on, in [0, 0.5].
    client_id: The client's id; the split is a function of client and seed.
    seed: The run's seed.

  Returns:
    (support, unseen): the numbers, ascending, of int(fraction * total) examples
    (none for fraction 0), and of the unseen half.
  """
  if not 0 <= fraction <= 0.5:
    raise errors.InputError(
      'The few-shot fraction must be a number in [0, 0.5], since half of the '
      f'examples stay unseen, got {fraction}.'
    )
  if total < MIN_FEW_SHOT_EXAMPLES:
    raise errors.InputError(
      f'Client {client_id!r} has {total} example(s); few-shot evaluation '
      f'expects at least {MIN_FEW_SHOT_EXAMPLES}.'
    )
  order = _split_order(total, client_id=client_id, seed=seed)
  return np.sort(order[: int(fraction * total)]), np.sort(order[total // 2 :])


def _choose(
  plan: _Plan,
  epochs: int,
  choose: Callable[[np.ndarray], np.ndarray],
  total: int,
) -> np.ndarray:
  indices = plan(total)
  return choose(indices[: len(indices) // epochs])


def _split_order(total: int, *, client_id: str, seed: int) -> np.ndarray:
  stream = random_streams.random_generator('example split', seed, client_id)
  return stream.permutation(total)
