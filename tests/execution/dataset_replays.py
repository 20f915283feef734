# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs graphs over datasets as TensorFlow does, and as replays over arrays."""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from fedfish_tff.execution.replay import dataset_loops
from fedfish_tff.execution.replay import sequence_operations
from fedfish_tff.execution.replay import sequence_replay
from tests.execution import graph_replays

import numpy as np
import tensorflow as tf

HANDLERS = {
  **sequence_replay.HANDLERS,
  **sequence_operations.HANDLERS,
  **dataset_loops.HANDLERS,
}


def graph_of(
  build: Callable[[tf.data.Dataset], Any], like: tf.data.Dataset
) -> graph_replays.ReplayedGraph:
  """Returns a graph that builds on a dataset of the elements of `like`."""
  spec = like.element_spec
  return graph_replays.ReplayedGraph(
    lambda variant: build(tf.data.experimental.from_variant(variant, spec)),
    tf.TensorSpec([], tf.variant),
  )


def assert_same(
  build: Callable[[tf.data.Dataset], Any], numbers: Iterable[int]
) -> list[np.ndarray]:
  """Asserts that a graph computes on numbers what TensorFlow does.

  Args:
    build: From a dataset of int64 scalars to a nest of tensors.
    numbers: The dataset's elements.
  """
  numbers = np.asarray(list(numbers), np.int64)
  dataset = tf.data.Dataset.from_tensor_slices(numbers)
  found = graph_of(build, dataset).replay(
    numbers,
    handlers=HANDLERS,
    feeds=lambda rows: [
      sequence_replay.Sequence(
        tf.size(rows, tf.int64),
        lambda i: [tf.gather(rows, i)],
        takes_many=True,
      )
    ],
  )

  # In TensorFlow's own graph the dataset is a part of it.
  expected = graph_replays.ReplayedGraph(
    lambda: build(tf.data.Dataset.from_tensor_slices(numbers))
  ).run_in_session()
  for a, b in zip(found, expected, strict=True):
    np.testing.assert_array_equal(a, b)
  return found


def assert_elements(
  change: Callable[[tf.data.Dataset], tf.data.Dataset], numbers: Iterable[int]
) -> None:
  """Asserts that a changed dataset's stand-in has its elements, in order."""

  def as_text(element: Any) -> tf.Tensor:
    return tf.strings.join(
      [
        tf.strings.reduce_join(
          tf.strings.as_string(leaf) if leaf.dtype != tf.string else leaf,
          separator=' ',
        )
        for leaf in tf.nest.flatten(element)
      ],
      separator='|',
    )

  assert_same(
    lambda dataset: change(dataset).reduce(
      '',
      lambda text, *element: tf.strings.join([text, as_text(element), ';']),
    ),
    numbers,
  )
