# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences as the arrays that a graph takes, and elements within it."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import replayer
from fedfish_tff.execution.replay import sequence_replay

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# The least bytes of an array over which XLA compiles loops.
_LEAST_BYTES = 2**18
# The largest batch size with which XLA compiles loops. Larger ones are mostly
# those of clients with one batch each, far from full.
_MOST_LOOP_ROWS = 512


@dataclasses.dataclass(frozen=True)
class SequenceForm:
  """The properties of packed sequences on which a graph depends.

  Attributes:
    leaf_layouts: The number of each leaf's layout.
    bounds: The most rows of an element in each layout of batches, if shapes
      must be known when the graph is compiled; else None.
    are_ragged: Whether each layout's elements differ in their numbers of rows,
      under the same condition.
    most_rows: The most rows of a client, under the same condition and if rows
      are rebatched; else None.
    spare_rows: The rows by which each bound is larger than needed.
    num_passes: The number of passes over each sequence that the arrays hold.
    unrolls: Whether a loop's step takes several elements, as in
      `sequence_replay.Sequence`; True if XLA compiles the graph.
    loop_bounds: The rows for which a loop that XLA compiles computes each
      layout's elements; None for a layout over which it compiles none. Empty
      if it compiles no loops.
  """

  leaf_layouts: tuple[int, ...]
  bounds: tuple[int | None, ...]
  are_ragged: tuple[bool, ...] = ()
  most_rows: int | None = None
  spare_rows: int = 0
  num_passes: int = 1
  unrolls: bool = True
  loop_bounds: tuple[int | None, ...] = ()

  @property
  def has_sizes(self) -> bool:
    """True if XLA compiles the graph for batches of different sizes."""
    return any(self.are_ragged) or self.most_rows is not None


def to_graph_arrays(
  sequences: Sequence[packed_sequences.PackedSequence],
  *,
  use_xla: bool = False,
  rebatches: bool = False,
  compiles_loops: bool = False,
  batch_size: int | None = None,
) -> tuple[SequenceForm, dict[str, Any]]:
  """Returns the sequences of a cohort as arrays for a graph.

  Args:
    sequences: The clients' sequences, at least one, of one element type.
    use_xla: Whether XLA compiles the graph for the shapes of its arguments.
      Arrays are then padded to powers of two, so that few shapes occur.
    rebatches: Whether the graph rebatches the rows.
    compiles_loops: Whether XLA compiles loops of the graph for the shapes of
      the arrays, which are then padded, too.
    batch_size: The batch size of the whole cohort's sequences, of which these
      may be a part; None without a common one.

  Returns:
    The form, and a nest of arrays, in which element e of client c in pass p is
    element first_element[c * num_passes + p] + e.

  Raises:
    PackingError: If the graph rebatches passes that differ in size.
  """
  leaves, layouts = packed_sequences.concatenate_sequences(sequences)
  distinct = tuple(dict.fromkeys(layouts))
  leaf_layouts = tuple(map(distinct.index, layouts))
  num_passes = max(sequence.num_passes for sequence in sequences)
  first, _ = packed_sequences.offsets(
    [sequence.layouts[0].num_elements for sequence in sequences]
  )
  num_elements = np.array([s.num_elements for s in sequences], np.int64)
  # Equal passes are packed once.
  steps = num_elements * [sequence.num_passes > 1 for sequence in sequences]
  first_element = np.ravel(
    first[:, np.newaxis] + steps[:, np.newaxis] * np.arange(num_passes)
  )
  nest = dict(
    leaves=leaves,
    layouts=[
      [layout.plan]
      if layout.bounds is None
      # Each bound is a vector, as `tf.slice` requires.
      else [layout.plan, layout.bounds[:, :, np.newaxis]]
      for layout in distinct
    ],
    first_element=first_element,
    num_elements=num_elements,
  )
  bounds, are_ragged, most_rows = (None,) * len(distinct), (), None
  # Leaves with different layouts have no rows in common.
  if rebatches and len(distinct) == 1 and distinct[0].bounds is not None:
    (layout,) = distinct
    ends = np.concatenate([[0], np.cumsum(layout.bounds[:, 1])])
    first_row = ends[first_element]
    last = first_element + np.repeat(num_elements, num_passes)
    of_passes = np.reshape(ends[last] - first_row, [-1, num_passes])
    num_rows = of_passes[:, 0]
    if np.any(of_passes != num_rows[:, np.newaxis]):
      raise packed_sequences.PackingError(packed_sequences.ONE_PASS)
    nest.update(rows=layout.rows(), first_row=first_row, num_rows=num_rows)
    if use_xla:
      most_rows = padded_length(int(np.max(num_rows)))
  if use_xla:
    nest = tf.nest.map_structure(pad_rows, nest)
    sizes = [
      None if layout.bounds is None else set(layout.bounds[:, 1].tolist())
      for layout in distinct
    ]
    are_ragged = tuple(of is not None and len(of) > 1 for of in sizes)
    bounds = tuple(
      # An axis of one value would be broadcast.
      None if of is None else max(2, *of) if is_ragged else max(of, default=1)
      for of, is_ragged in zip(sizes, are_ragged, strict=True)
    )
  most_elements = np.max(num_elements, initial=0)
  unrolls = use_xla or bool(most_elements >= sequence_replay.MOST_UNROLLED)
  loop_bounds = ()
  if compiles_loops:
    nest = tf.nest.map_structure(_pad_bytes, nest)
    # The last digits of sums over rows depend on the bound, so it must not
    # depend on the batches of these clients, which differ with the number of
    # cores. An axis of one value would be broadcast.
    bound = None
    if batch_size is not None and batch_size <= _MOST_LOOP_ROWS:
      bound = max(2, batch_size)
    loop_bounds = tuple(
      None if layout.bounds is None else bound for layout in distinct
    )
  form = SequenceForm(
    leaf_layouts,
    bounds,
    are_ragged,
    most_rows,
    num_passes=num_passes,
    unrolls=unrolls,
    loop_bounds=loop_bounds,
  )
  return form, nest


def padded_length(length: int) -> int:
  """Returns the next power of two."""
  return 1 << max(0, length - 1).bit_length()


def pad_rows(array: np.ndarray) -> np.ndarray:
  """Returns an array with rows of zeros up to a power of two."""
  length = padded_length(len(array))
  padding = [(0, length - len(array))] + [(0, 0)] * (array.ndim - 1)
  return np.pad(array, padding)


def _pad_bytes(array: np.ndarray) -> np.ndarray:
  """Returns an array with rows of zeros up to one of few lengths.

  Small cohorts have arrays of one length, so that they share a program.
  """
  row = max(1, array.itemsize * math.prod(array.shape[1:]))
  length = padded_length(max(len(array), _LEAST_BYTES // row))
  shape = (length, *array.shape[1:])
  padded = packed_sequences.empty_for_tensor(shape, array.dtype)
  padded[: len(array)] = array
  padded[len(array) :] = 0
  return padded


def client_sequence(
  form: SequenceForm,
  arrays: Mapping[str, Any],
  element_type: tff.Type,
  client: tf.Tensor,
  peer: tf.Tensor | None = None,
) -> sequence_replay.Sequence:
  """Returns one client's sequence within a graph.

  Args:
    form: The form of `to_graph_arrays`.
    arrays: The nest of `to_graph_arrays`, as tensors.
    element_type: The elements' TFF type.
    client: The client's position among those in the arrays, int32.
    peer: The position, int32, of a client with as many elements, common to all
      clients that compute side by side, each with all batches full; else None.
  """
  order = packed_sequences.dataset_order(element_type)
  counter = sequence_replay.PassCounter(
    tf.compat.v1.get_default_graph(), form.num_passes
  )

  def first(name: str) -> Callable[[], tf.Tensor]:
    """Returns a function that returns the first element, or row, of a pass."""
    is_one = form.num_passes == 1
    of_client = tf.gather(arrays[name], client) if is_one else None

    def of_pass() -> tf.Tensor:
      number = counter.number()
      if is_one:
        return of_client
      place = tf.cast(client, tf.int64) * form.num_passes + number
      return tf.gather(arrays[name], place)

    return of_pass

  first_element = first('first_element')

  def run(
    plan: tf.Tensor,
    start: tf.Tensor,
    size: tf.Tensor,
    bound: int | None,
    is_ragged: bool,
    loop_bound: int | None = None,
  ) -> tf.Tensor:
    spare = compiled_loops.spare_rows()
    if spare is not None:
      if loop_bound is None:
        raise replayer.NotReplayableError(
          'data without a batch size of '
          f'{_MOST_LOOP_ROWS} at most that all clients share, as the '
          'ClientBatches of a round have it'
        )
      bound, is_ragged = loop_bound + spare, True
    elif bound is None:
      return tf.slice(plan, start, size)
    elif is_ragged:
      bound += form.spare_rows
    # XLA takes the last row for places after it and masks them afterwards.
    places = start + tf.range(bound, dtype=start.dtype)
    own = tf.gather(plan, places)
    return private_apis.set_dynamic_size(own, size) if is_ragged else own

  def rows(place: tf.Tensor, number: int) -> tf.Tensor:
    plan, *bounds = arrays['layouts'][number]
    if not bounds:
      return tf.gather(plan, place)
    start, size = tf.unstack(tf.gather(bounds[0], place))
    bound = form.bounds[number]
    is_ragged = bound is not None and peer is None and form.are_ragged[number]
    loop_bound = form.loop_bounds[number] if form.loop_bounds else None
    return run(plan, start, size, bound, is_ragged, loop_bound)

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    place = first_element() + i
    rows_of = [rows(place, number) for number in range(len(form.bounds))]
    leaves = arrays['leaves']
    return [tf.gather(leaves[j], rows_of[form.leaf_layouts[j]]) for j in order]

  all_rows = None
  # Clients side by side would end in batches of different sizes.
  if 'rows' in arrays and peer is None:
    first_row = first('first_row')

    def cut_rows(
      start: tf.Tensor, size: tf.Tensor, most: int
    ) -> list[tf.Tensor]:
      if compiled_loops.spare_rows() is not None:
        raise replayer.NotReplayableError('data in batches of another size')
      bound = None if form.most_rows is None else most
      own = run(
        arrays['rows'],
        tf.reshape(first_row() + start, [1]),
        tf.reshape(size, [1]),
        bound,
        is_ragged=bound is not None,
      )
      return [tf.gather(arrays['leaves'][j], own) for j in order]

    all_rows = sequence_replay.Rows(
      tf.gather(arrays['num_rows'], client), cut_rows, form.most_rows
    )

  return sequence_replay.Sequence(
    tf.gather(arrays['num_elements'], client if peer is None else peer),
    element,
    unrolls=form.unrolls,
    takes_many=all(len(layout) == 1 for layout in arrays['layouts']),
    part_order=order,
    rows=all_rows,
    passes=(counter.of_reader(),),
  )
