# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server's steps between two client stages as one TensorFlow function.

A round has dozens of small steps at the server. One by one they can take longer
than the clients of a small model. As one function they are one call, which
TensorFlow optimises as a whole.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import MutableMapping
from collections.abc import Sequence
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import federated_plan
from fedfish_tff.execution.reading import local_functions
from fedfish_tff.execution.replay import tracing

_ValueId: TypeAlias = federated_plan.ValueId
_Step: TypeAlias = federated_plan.Step


class ServerSegment:
  """A series of consecutive steps at the server."""

  def __init__(
    self,
    steps: Sequence[_Step],
    *,
    needed: set[_ValueId],
    types: Mapping[_ValueId, Any],
  ):
    """Makes a segment of steps, after which the `needed` values are read."""
    self._steps = steps
    self._types = types
    made = [step.out for step in steps]
    self._inputs = tuple(
      dict.fromkeys(
        value_id
        for step in steps
        if step.arg is not None
        for value_id in expressions.value_ids(step.arg)
        if value_id not in made
      )
    )
    self._outputs = tuple(value_id for value_id in made if value_id in needed)
    self._lock = threading.Lock()
    self._traced = None
    self._is_traceable = _calls(steps) > 1

  def run(self, values: MutableMapping[_ValueId, Any]) -> None:
    """Runs the steps and adds the values that are read later to `values`."""
    with self._lock:
      if self._is_traceable and self._traced is None:
        try:
          self._traced = self._trace()
        except tracing.NotReplayableError:
          # The segment runs step by step, with the same results.
          self._is_traceable = False
    if self._traced is None:
      for step in self._steps:
        step.run(values)
      return
    results = self._traced(
      [type_leaves.flatten(values[i]) for i in self._inputs]
    )
    for value_id, leaves in zip(self._outputs, results, strict=True):
      values[value_id] = type_leaves.unflatten(
        iter(leaves), self._types[value_id]
      )

  def _trace(self) -> Any:
    tracer = tracing.GraphTracer()

    def run(inputs):
      known = {
        i: type_leaves.unflatten(iter(leaves), self._types[i])
        for i, leaves in zip(self._inputs, inputs, strict=True)
      }
      for step in self._steps:
        step.trace(known, tracer)
      outputs = [type_leaves.flatten(known[i]) for i in self._outputs]
      tracer.compute_unread(outputs)
      return outputs

    specs = [tracing.tensor_specs(self._types[i]) for i in self._inputs]
    return tracing.trace(run, [specs])


def _calls(steps: Sequence[_Step]) -> int:
  """Returns the number of steps that do more than regroup values."""
  return sum(
    not (isinstance(s.fn, local_functions.Program) and not s.fn.steps)
    for s in steps
  )


_segments: weakref.WeakKeyDictionary[
  federated_plan.Plan, tuple[ServerSegment | federated_plan.ClientStage, ...]
] = weakref.WeakKeyDictionary()
_segments_lock = threading.Lock()


def with_segments(
  plan: federated_plan.Plan,
) -> tuple[ServerSegment | federated_plan.ClientStage, ...]:
  """Returns a plan's actions with the server's steps joined into segments."""
  with _segments_lock:
    if plan not in _segments:
      _segments[plan] = tuple(_join(plan))
    return _segments[plan]


def _join(
  plan: federated_plan.Plan,
) -> Iterator[ServerSegment | federated_plan.ClientStage]:
  steps: list[_Step] = []
  for i, action in enumerate(plan.actions):
    if isinstance(action, _Step):
      steps.append(action)
      following = plan.actions[i + 1 : i + 2]
      if following and isinstance(following[0], _Step):
        continue
      needed = federated_plan.values_read(plan.actions[i + 1 :], plan.result)
      yield ServerSegment(steps, needed=needed, types=plan.types)
      steps = []
    else:
      yield action
