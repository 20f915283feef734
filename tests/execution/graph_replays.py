# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a graph as TensorFlow does, and as a replay of it."""

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from fedfish_tff.execution.reading import serialized_graph
from fedfish_tff.execution.replay import control_flow_replay
from fedfish_tff.execution.replay import failures
from fedfish_tff.execution.replay import replayer

import numpy as np
import tensorflow as tf


class ReplayedGraph:
  """A graph of TensorFlow 1's kind, as TFF serializes them."""

  def __init__(self, build: Callable[..., Any], *specs: tf.TensorSpec):
    """Builds the graph, from arguments to a nest; it may make variables."""
    self._graph = tf.Graph()
    with self._graph.as_default():
      self._arguments = [
        tf.compat.v1.placeholder(spec.dtype, spec.shape) for spec in specs
      ]
      self._results = tf.nest.flatten(build(*self._arguments))
      self._initialize = tf.compat.v1.global_variables_initializer()

  def run_in_session(self, *values: Any) -> list[np.ndarray]:
    """Runs it as TensorFlow does."""
    with tf.compat.v1.Session(graph=self._graph) as session:
      session.run(self._initialize)
      return session.run(
        self._results, dict(zip(self._arguments, values, strict=True))
      )

  def replay(self, *values: Any, **options: Any) -> list[np.ndarray]:
    """Replays it on what `feeds` makes of the values; see `replayed`."""
    results = self.replayed(**options)(*map(tf.constant, values))
    return [result.numpy() for result in results]

  def replayed(
    self,
    *,
    handlers: Mapping[str, replayer.Handler] | None = None,
    feeds: Callable[..., list[Any]] = lambda *tensors: list(tensors),
    use_xla: bool = False,
  ) -> Callable[..., list[tf.Tensor]]:
    """Returns a replay that is traced when it is first called.

    Args:
      handlers: Of operations beside the usual ones.
      feeds: From tensors to the arguments, called where the replay is.
      use_xla: Whether XLA compiles it.
    """
    graph = serialized_graph.SerializedGraph(self._graph.as_graph_def())

    def run(*tensors: tf.Tensor) -> list[tf.Tensor]:
      return replayer.Replay(
        graph,
        {
          **control_flow_replay.HANDLERS,
          **(failures.HANDLERS if use_xla else {}),
          **(handlers or {}),
        },
        use_xla=use_xla,
      ).run(
        {
          placeholder.name: value
          for placeholder, value in zip(
            self._arguments, feeds(*tensors), strict=True
          )
        },
        [result.name for result in self._results],
        initialize_op=self._initialize.name,
      )

    return tf.function(run, autograph=False, jit_compile=use_xla or None)

  def assert_same(self, *values: Any, **options: Any) -> list[np.ndarray]:
    """Asserts that the replay computes what TensorFlow does, bit for bit."""
    expected = self.run_in_session(*values)
    found = self.replay(*values, **options)
    for a, b in zip(found, expected, strict=True):
      np.testing.assert_array_equal(a, b)
    return found
