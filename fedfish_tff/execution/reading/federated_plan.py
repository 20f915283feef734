# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The plan by which a TFF computation runs.

The operations of a computation, by `computation_reader`, are ordered into steps
at the server and client stages. Within a stage, clients do not depend on each
other: each client runs the same steps, and its contributions are folded into
the stage's aggregates. So a stage can run clients one by one or many at once.
It keeps only those values of a client that a later stage or the result needs.
"""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import threading
from typing import Any
from typing import TypeAlias
import weakref

from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import computation_reader
from fedfish_tff.execution.reading import expressions
from fedfish_tff.execution.reading import local_functions

import tensorflow_federated as tff

ValueId: TypeAlias = expressions.ValueId
Step = local_functions.Step
Aggregate = computation_reader.Aggregate


@dataclasses.dataclass(frozen=True, eq=False)
class ClientStage:
  """Work of all clients up to a common barrier.

  Attributes:
    server_inputs: The numbers of the server's values that the steps and the
      contributions read, without the zeros of the aggregates.
    client_inputs: The numbers of the clients' values that exist before the
      stage: arguments and outputs of earlier stages.
    steps: The calls of each client, in order.
    aggregates: The aggregates of the clients' contributions.
    outputs: The numbers of the clients' values to keep, one per client.
    read_last: The numbers of the clients' inputs and outputs that nothing reads
      after this stage.
    types: The type of each numbered value; for client values, of one client's.
  """

  server_inputs: tuple[ValueId, ...]
  client_inputs: tuple[ValueId, ...]
  steps: tuple[Step, ...]
  aggregates: tuple[Aggregate, ...]
  outputs: tuple[ValueId, ...]
  read_last: tuple[ValueId, ...]
  types: Mapping[ValueId, tff.Type] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
  """A computation, ready to run.

  Attributes:
    parameter: The numbers of the argument's parts, one value each; `None` if
      there is no argument.
    parameter_type: The argument's type, or `None`.
    actions: The steps at the server and the stages of the clients, in order.
    result: The result, in terms of the numbered values.
    result_type: The result's type (without Python containers).
    types: The type of each numbered value; for client values, of one client's.
    client_ids: The numbers of the values that differ from client to client.
  """

  parameter: computation_reader.PlacedStruct | None
  parameter_type: tff.Type | None
  actions: tuple[Step | ClientStage, ...]
  result: computation_reader.PlacedStruct
  result_type: tff.Type
  types: Mapping[ValueId, tff.Type] = dataclasses.field(repr=False)
  client_ids: frozenset[ValueId]


# Threads that run the same computation at once share its plan by this lock.
_compile_lock = threading.Lock()

# Keyed by identity, since a computation's own hash serializes it every time. A
# plan lives as long as one of its computations or another holder of it.
_plans: dict[int, tuple[weakref.ref[tff.Computation], Plan]] = {}
_plans_by_content: weakref.WeakValueDictionary[bytes, Plan] = (
  weakref.WeakValueDictionary()
)


def compile_plan(comp: tff.Computation) -> Plan:
  """Returns the plan of a computation; equal computations share one.

  The computation may neither take nor return a function.
  """
  known = _plans.get(id(comp))
  if known is not None and known[0]() is comp:
    return known[1]
  proto = tff.framework.serialize_computation(comp)
  content = hashlib.sha256(proto.SerializeToString(deterministic=True)).digest()
  with _compile_lock:
    plan = _plans_by_content.get(content)
    if plan is None:
      plan = _plans_by_content[content] = _compile(comp)
    key = id(comp)
    _plans[key] = (weakref.ref(comp, lambda _: _plans.pop(key, None)), plan)
    return plan


def _compile(comp: tff.Computation) -> Plan:
  block = comp.to_building_block()
  if _has_secure_intrinsics(block):
    # Simulations sum in the clear, like TFF's test backend.
    block = tff.backends.test.replace_secure_intrinsics_with_bodies(
      comp
    ).to_building_block()
  block, _ = tff.tensorflow.replace_intrinsics_with_bodies(block)
  # The compilation of native contexts, without its rewriting of TensorFlow
  # graphs: that would turn branches and loops into cycles. Graphs are rewritten
  # later, when more of them is known.
  block = tff.framework.to_call_dominant(block)
  return schedule(
    computation_reader.read_operations(block),
    parameter_type=block.type_signature.parameter,
    result_type=block.type_signature.result,
  )


def _has_secure_intrinsics(block: Any) -> bool:
  found = False

  def look(part: Any) -> tuple[Any, bool]:
    nonlocal found
    if isinstance(part, tff.framework.Intrinsic):
      found = found or part.uri.startswith('federated_secure')
    return part, False

  tff.framework.transform_postorder(block, look)
  return found


def schedule(
  operations: computation_reader.Operations,
  *,
  parameter_type: tff.Type | None,
  result_type: tff.Type,
) -> Plan:
  """Orders operations into as few client stages as possible."""
  operations = _without_unread(operations)
  types = dict(operations.types)
  client_ids = set(operations.client_ids)
  stage_of = _assign_stages(operations)
  produced_in = {op.out: stage_of[op.out] for op in operations.operations}
  num_stages = 1 + max(
    (
      stage_of[op.out]
      for op in operations.operations
      if not operations.is_server_step(op)
    ),
    default=-1,
  )

  # The parts of a client's values that outlive the stage that makes them.
  kept: dict[ValueId, set[tuple[int, ...]]] = collections.defaultdict(set)
  for op in operations.operations:
    if not operations.is_server_step(op):
      for value_id, path in _uses(op):
        if (
          value_id in client_ids
          and produced_in.get(value_id, stage_of[op.out]) < stage_of[op.out]
        ):
          kept[value_id].add(path)
  for placed in type_leaves.flatten(operations.result):
    for value_id, path in expressions.uses(placed.expression):
      if value_id in client_ids and value_id in produced_in:
        kept[value_id].add(path)

  # Those parts become values of their own.
  replacements: dict[tuple[ValueId, tuple[int, ...]], ValueId] = {}
  outputs: dict[int, list[ValueId]] = collections.defaultdict(list)
  extra_steps: dict[int, list[Step]] = collections.defaultdict(list)
  for value_id, paths in kept.items():
    stage = produced_in[value_id]
    if () in paths:
      outputs[stage].append(value_id)
      continue
    for path in sorted(paths):
      if any(path[:length] in paths for length in range(len(path))):
        continue
      expression = expressions.part(value_id, path)
      new_id = max(types) + 1
      types[new_id] = expressions.evaluate(expression, types.__getitem__)
      client_ids.add(new_id)
      produced_in[new_id] = stage
      outputs[stage].append(new_id)
      replacements[value_id, path] = new_id
      extra_steps[stage].append(
        Step(new_id, local_functions.identity(types[new_id]), expression)
      )

  def replace(
    expression: expressions.Expression | None, stage: int | None
  ) -> expressions.Expression | None:
    if expression is None:
      return None
    return expressions.replace_parts(
      expression,
      {
        (value_id, path): new_id
        for (value_id, path), new_id in replacements.items()
        if stage is None or produced_in[value_id] < stage
      },
    )

  actions: list[Step | ClientStage] = []
  for stage in range(num_stages + 1):
    in_stage = [o for o in operations.operations if stage_of[o.out] == stage]
    actions.extend(filter(operations.is_server_step, in_stage))
    steps = [
      dataclasses.replace(o, arg=replace(o.arg, stage))
      for o in in_stage
      if o.out in operations.client_ids
    ]
    aggregates = [
      dataclasses.replace(o, value=replace(o.value, stage))
      for o in in_stage
      if isinstance(o, Aggregate)
    ]
    if steps or aggregates:
      actions.append(
        _client_stage(
          [*steps, *extra_steps[stage]],
          aggregates,
          outputs=outputs[stage],
          types=types,
          client_ids=client_ids,
        )
      )
  result = _map_placed(
    lambda p: dataclasses.replace(p, expression=replace(p.expression, None)),
    operations.result,
  )
  return Plan(
    parameter=operations.parameter,
    parameter_type=parameter_type,
    actions=_note_last_reads(actions, result),
    result=result,
    result_type=result_type,
    types=types,
    client_ids=frozenset(client_ids),
  )


def _without_unread(
  operations: computation_reader.Operations,
) -> computation_reader.Operations:
  """Returns the operations that the result needs; TFF runs no others."""
  read = values_read((), operations.result)
  kept = []
  for op in reversed(operations.operations):
    if op.out in read:
      kept.append(op)
      read.update(_inputs(op))
  return dataclasses.replace(operations, operations=tuple(reversed(kept)))


def _assign_stages(
  operations: computation_reader.Operations,
) -> dict[ValueId, int]:
  """Returns the stage of each operation, by the number of its result.

  The server's steps run before the clients' stage of the same number. An
  aggregate's result is available after its stage.
  """
  # Operations come as early as possible, after the barriers they wait for.
  ready: dict[ValueId, int] = {}
  stage_of: dict[ValueId, int] = {}
  for op in operations.operations:
    stage = max((ready.get(i, 0) for i in _inputs(op)), default=0)
    stage_of[op.out] = stage
    ready[op.out] = stage + 1 if isinstance(op, Aggregate) else stage
  # Clients' steps come as late as possible, so stages keep few values.
  needed: dict[ValueId, int] = {}
  for op in reversed(operations.operations):
    if operations.is_server_step(op):
      continue
    stage = stage_of[op.out]
    if isinstance(op, Step):
      stage = stage_of[op.out] = needed.get(op.out, stage)
    for value_id in _inputs(op):
      needed[value_id] = min(stage, needed.get(value_id, stage))
  return stage_of


def _inputs(op: Step | Aggregate) -> list[ValueId]:
  zero = [op.zero] if isinstance(op, Aggregate) else []
  return [*(value_id for value_id, _ in _uses(op)), *zero]


def _uses(op: Step | Aggregate) -> Iterator[tuple[ValueId, tuple[int, ...]]]:
  """Yields the uses of values, by `expressions.uses`, without the zero."""
  read = op.value if isinstance(op, Aggregate) else op.arg
  if read is not None:
    yield from expressions.uses(read)


def _client_stage(
  steps: Sequence[Step],
  aggregates: Sequence[Aggregate],
  *,
  outputs: Sequence[ValueId],
  types: Mapping[ValueId, tff.Type],
  client_ids: set[ValueId],
) -> ClientStage:
  made_here = {step.out for step in steps}
  # A dictionary keeps the order.
  read = dict.fromkeys(
    value_id
    for op in (*steps, *aggregates)
    for value_id, _ in _uses(op)
    if value_id not in made_here
  )
  return ClientStage(
    server_inputs=tuple(i for i in read if i not in client_ids),
    client_inputs=tuple(i for i in read if i in client_ids),
    steps=tuple(steps),
    aggregates=tuple(aggregates),
    outputs=tuple(outputs),
    read_last=(),
    types=types,
  )


def _note_last_reads(
  actions: Sequence[Step | ClientStage],
  result: computation_reader.PlacedStruct,
) -> tuple[Step | ClientStage, ...]:
  """Returns the actions with `read_last` filled in."""
  read_later = values_read((), result)
  noted = []
  for action in reversed(actions):
    if isinstance(action, ClientStage):
      at_hand = (*action.client_inputs, *action.outputs)
      action = dataclasses.replace(
        action, read_last=tuple(i for i in at_hand if i not in read_later)
      )
      read_later.update(action.client_inputs)
    noted.append(action)
  return tuple(reversed(noted))


def values_read(
  actions: Sequence[Step | ClientStage],
  result: computation_reader.PlacedStruct,
) -> set[ValueId]:
  """Returns the numbers of the values that actions or a result read.

  Of client stages, only the server's values count.
  """
  read = {
    value_id
    for placed in type_leaves.flatten(result)
    for value_id in expressions.value_ids(placed.expression)
  }
  for action in actions:
    if isinstance(action, ClientStage):
      read.update(action.server_inputs)
      read.update(aggregate.zero for aggregate in action.aggregates)
    elif action.arg is not None:
      read.update(expressions.value_ids(action.arg))
  return read


def _map_placed(fn: Any, placed: computation_reader.PlacedStruct) -> Any:
  if isinstance(placed, tuple):
    return tuple(_map_placed(fn, element) for element in placed)
  return fn(placed)
