# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sequences of packed arrays, the stand-ins for datasets in a replayed graph.

A sequence knows its length and how to cut out element i. So `take`, `skip`,
`repeat` and `map` are arithmetic on i, and `reduce` is a loop.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import functools
import itertools
import math
from typing import Any

from fedfish_tff import private_apis
from fedfish_tff.execution.packing import packed_sequences
from fedfish_tff.execution.replay import compiled_loops
from fedfish_tff.execution.replay import loop_steps
from fedfish_tff.execution.replay import replayer

import tensorflow as tf

_NodeDef = tf.compat.v1.NodeDef

# The most elements in one step of a loop. To start a step costs as much as some
# tens of operations, a fifth of the time of a small model. Large bodies would
# take long to trace so many times and gain nothing.
MOST_UNROLLED = 10
_MOST_UNROLLED_NODES = 3000


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
  """The rows of all batches of a sequence, in order.

  Attributes:
    count: The number of rows, an int64 scalar.
    cut: A function (first row, number of rows, most rows of any call) ->
      tensors of these rows.
    bound: The largest possible `count` if XLA compiles the graph; else None.
  """

  count: tf.Tensor
  cut: Callable[[tf.Tensor, tf.Tensor, int], list[tf.Tensor]]
  bound: int | None


@dataclasses.dataclass(eq=False)
class PassCounter:
  """The count of a graph's passes over a client's sequence.

  Attributes:
    graph: The graph in which the sequence is made.
    num_packed: The number of passes that the arrays hold; 1 if all are equal.
    count: The number of passes; infinite for any number.
    roots: The iterators, in order.
    is_fixed: Whether `roots` are the passes of every client, in this order.
    current: The number of the pass to which elements belong that are cut out;
      None outside of all passes.
  """

  graph: tf.Graph
  num_packed: int = 1
  count: float = 0
  roots: list[packed_sequences.Root] = dataclasses.field(default_factory=list)
  is_fixed: bool = True
  current: int | tf.Tensor | None = None
  _readers: Iterator[int] = dataclasses.field(default_factory=itertools.count)

  def of_reader(self) -> 'Pass':
    """Returns a pass by another reader, for which the sequence begins anew."""
    return Pass(self, next(self._readers))

  def add(self, own: 'Pass') -> int | float:
    """Counts the passes of an iterator that is made in the current graph.

    Returns:
      The number of passes before.
    """
    before = self.count
    graph = tf.compat.v1.get_default_graph()
    # Of several branches, only one makes passes.
    self.is_fixed &= graph is self.graph and own.is_exact
    while graph is not self.graph and private_apis.is_branch(graph):
      graph = graph.outer_graph
    # A loop may make any number of passes.
    self.count += own.times if graph is self.graph else math.inf
    if own.times:
      self.roots.append(
        packed_sequences.Root(own.reader, own.times, own.is_whole)
      )
    return before

  def fixed_roots(self) -> packed_sequences.Roots | None:
    """Returns the passes to pack; empty for one at most, None if not fixed."""
    if self.count <= 1:
      return ()
    return tuple(self.roots) if self.is_fixed else None

  @contextlib.contextmanager
  def at(self, number: int | tf.Tensor) -> Iterator[None]:
    """Inside, elements that are cut out belong to a pass."""
    before, self.current = self.current, number
    try:
      yield
    finally:
      self.current = before

  def number(self) -> int | tf.Tensor:
    """Returns the number of the pass of an element that is being cut out."""
    if self.current is None:
      # Such as by a filter, before a reduction begins a pass.
      self.is_fixed = False
      return 0
    return self.current


@dataclasses.dataclass(frozen=True, eq=False)
class Pass:
  """A reader's pass over what is made of a client's sequence.

  Attributes:
    counter: The counter of the passes over the client's sequence.
    reader: The number of the reader.
    times: The most passes over the client's sequence that are one pass over
      what is made of it.
    is_exact: Whether there are always so many, each by an iterator of its own.
    is_whole: Whether they end with the last element.
  """

  counter: PassCounter
  reader: int
  times: int | float = 1
  is_exact: bool = True
  is_whole: bool = True

  def repeated(self, times: int | float) -> 'Pass':
    """Returns the pass over repetitions, their number infinite if unknown."""
    # A repetition also makes an iterator after its last pass.
    is_exact = self.is_exact and self.is_whole and self.times == 1
    return dataclasses.replace(
      self,
      times=self.times * times,
      is_exact=is_exact and times < math.inf,
    )

  def at_repetition(
    self, number: tf.Tensor
  ) -> contextlib.AbstractContextManager[None]:
    """Returns a context for elements of one repetition, counted from 0."""
    counter = self.counter
    if counter.num_packed == 1:
      return contextlib.nullcontext()
    times = self.times if self.is_exact else 1
    return counter.at(counter.number() + number * times)

  def cut_off(self, *, is_begun: bool = True) -> 'Pass':
    """Returns the pass if it may end early, and maybe does not begin."""
    is_exact = self.is_exact and is_begun and self.times == 1
    return dataclasses.replace(self, is_exact=is_exact, is_whole=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Sequence:
  """A dataset's stand-in.

  Attributes:
    count: The number of elements, an int64 scalar.
    element: A function from an int64 scalar in [0, count) to the tensors of
      that element.
    is_drawn: Whether elements are drawn anew whenever they are cut out, so that
      each may be cut out only once in a pass.
    is_computed: Whether elements come from a function, which may fail. tf.data
      calls it for every element that it passes, read or not, but a graph drops
      unread results.
    is_long: Whether there may be far more elements than the data has.
    unrolls: Whether there may be `MOST_UNROLLED` elements or more, so that a
      step of a loop takes several. Such a loop takes longer to trace.
    takes_many: Whether `element` also takes the numbers of several elements and
      then stacks them.
    part_order: The number of each tensor of an element among the leaves of the
      TFF type; empty for sequences of TensorFlow code, which do not need it.
    rows: The rows of all elements, if these are batches cut out of rows and the
      graph needs the rows; else None.
    passes: The passes over clients' sequences that are a pass over this one.
  """

  count: tf.Tensor
  element: Callable[[tf.Tensor], list[tf.Tensor]]
  is_drawn: bool = False
  is_computed: bool = False
  is_long: bool = False
  unrolls: bool = True
  takes_many: bool = False
  part_order: tuple[int, ...] = ()
  rows: Rows | None = None
  passes: tuple[Pass, ...] = ()

  def in_pass(self, *, may_stop: bool = False) -> 'Sequence':
    """Counts a pass over the sequence and returns the elements of this pass.

    Args:
      may_stop: Whether the pass may end before the last element.
    """
    passes = [own.cut_off() if may_stop else own for own in self.passes]
    firsts = [own.counter.add(own) for own in passes]
    if len({own.counter for own in passes}) < len(passes):
      # They read one sequence at the same time.
      for own in passes:
        own.counter.is_fixed = False

    def element(i: tf.Tensor) -> list[tf.Tensor]:
      with contextlib.ExitStack() as stack:
        for own, first in zip(passes, firsts, strict=True):
          stack.enter_context(own.counter.at(first))
        return self.element(i)

    return dataclasses.replace(self, element=element)

  def begun_anew(self) -> 'Sequence':
    """Returns the sequence for a reader for which its dataset begins anew."""
    passes = tuple(
      dataclasses.replace(own, reader=own.counter.of_reader().reader)
      for own in self.passes
    )
    return dataclasses.replace(self, passes=passes)

  def reindexed(
    self, count: tf.Tensor, index: Callable[[tf.Tensor], tf.Tensor]
  ) -> 'Sequence':
    """Returns the sequence of `count` elements index(i) of this one.

    `index` takes elements' numbers in any shape.
    """
    element = self.element
    return dataclasses.replace(
      self, count=count, element=lambda i: element(index(i)), rows=None
    )

  def after_unread(
    self, unread: Iterable[Any], results: list[Any]
  ) -> list[Any]:
    """Returns results that wait for further parts of an element.

    Args:
      unread: The parts of an element that the results do not need.
      results: The results made from the element; at least one is always read.
    """
    unread = [part for part in unread if isinstance(part, tf.Tensor)]
    if not self.is_computed or not unread:
      return results
    with tf.control_dependencies([compute_all(unread)]):
      return [
        tf.identity(result) if isinstance(result, tf.Tensor) else result
        for result in results
      ]

  def passing(
    self, start: tf.Tensor, stop: tf.Tensor, count: tf.Tensor
  ) -> tf.Tensor:
    """Returns a count that waits until elements [start, stop) are computed.

    tf.data computes and drops them.
    """
    if not self.is_computed:
      return count
    (passed,) = tf.while_loop(
      lambda i: i < stop,
      lambda i: tuple(self.after_unread(self.element(i), [i + 1])),
      (start,),
    )
    check = tf.raw_ops.Assert(condition=passed >= stop, data=[passed])
    with tf.control_dependencies([check]):
      return tf.identity(count)


@dataclasses.dataclass(frozen=True, eq=False)
class Scan:
  """A sequence with elements that come only one after another, as in a loop.

  AutoGraph turns `for batch in dataset` into a scan, which is then reduced.

  Attributes:
    sequence: The underlying sequence.
    state: The initial state, which is passed on from element to element.
    shapes: The state's shapes, in all steps.
    run: A function (state, element) -> (new state, new element, whether to go
      on with it; None if the scan never stops early).
    nodes: The nodes that it replaces, each with its inputs.
    stops: Whether `run` tells whether to go on.
  """

  sequence: Sequence
  state: tuple[tf.Tensor, ...] = ()
  shapes: tuple[tf.TensorShape, ...] = ()
  run: Callable[
    [list[tf.Tensor], list[tf.Tensor]],
    tuple[list[tf.Tensor], list[tf.Tensor], tf.Tensor | None],
  ] = lambda state, element: (state, element, None)
  nodes: tuple[tuple[_NodeDef, list[replayer.Value]], ...] = ()
  stops: bool = False


def compute_all(tensors: Iterable[tf.Tensor]) -> tf.Operation:
  """Returns an operation that needs tensors which may be unread elsewhere.

  TensorFlow's optimiser drops operations that only a control dependency needs,
  but never an assertion.
  """
  return tf.raw_ops.Assert(
    condition=True, data=[tf.reshape(tensor, [-1])[:1] for tensor in tensors]
  )


def check_scan(node: _NodeDef, value: replayer.Value) -> Scan:
  """Returns a node's input, a sequence or a scan, as a scan."""
  if isinstance(value, Scan):
    return value
  return Scan(check_sequence(node, value))


def check_sequence(node: _NodeDef, value: replayer.Value) -> Sequence:
  """Returns a node's input if it is a sequence.

  Raises:
    NotReplayableError: If it is not, such as a dataset of the graph's own.
  """
  if not isinstance(value, Sequence):
    raise replayer.NotReplayableError(
      f'{node.op} of a dataset that the graph makes itself'
    )
  return value


def _pass_on(replay, node, inputs):
  del replay
  if isinstance(inputs[0], Scan):
    return [inputs[0]]
  return [check_sequence(node, inputs[0])]


def _take(replay, node, inputs):
  del replay
  sequence, limit = check_sequence(node, inputs[0]), inputs[1]
  count = tf.where(limit < 0, sequence.count, tf.minimum(limit, sequence.count))
  # Without an element to take there is no pass.
  is_begun = bool(tf.get_static_value(limit))
  return [
    dataclasses.replace(
      sequence.reindexed(count, lambda i: i),
      passes=tuple(own.cut_off(is_begun=is_begun) for own in sequence.passes),
    )
  ]


def _skip(replay, node, inputs):
  del replay
  sequence, number = check_sequence(node, inputs[0]), inputs[1]
  # A negative number skips all elements without computing them.
  passed = tf.clip_by_value(number, 0, sequence.count)
  skipped = tf.where(number < 0, sequence.count, passed)
  count = sequence.passing(
    tf.zeros_like(passed), passed, sequence.count - skipped
  )
  known = tf.get_static_value(number)
  is_begun = known is not None and known >= 0
  return [
    dataclasses.replace(
      sequence.reindexed(count, lambda i: i + skipped),
      passes=tuple(
        own if is_begun else own.cut_off(is_begun=False)
        for own in sequence.passes
      ),
    )
  ]


def _repeat(replay, node, inputs):
  del replay
  sequence, times = check_sequence(node, inputs[0]), inputs[1]
  known = tf.get_static_value(times)
  if known == 1:
    return [sequence]
  # A negative number repeats without end; an empty sequence stays empty.
  most = tf.int64.max // tf.maximum(sequence.count, 1)
  times = tf.where(times < 0, most, tf.minimum(times, most))

  def element(i: tf.Tensor) -> list[tf.Tensor]:
    with contextlib.ExitStack() as stack:
      for own in sequence.passes:
        stack.enter_context(own.at_repetition(i // sequence.count))
      return sequence.element(i % sequence.count)

  # TensorFlow fails at 0 repetitions of a shuffle, as the general path shows.
  known = int(known) if known and known > 0 else math.inf
  return [
    dataclasses.replace(
      sequence,
      count=sequence.count * times,
      element=element,
      is_long=True,
      unrolls=True,
      passes=tuple(own.repeated(known) for own in sequence.passes),
      rows=None,
    )
  ]


def _map(replay, node, inputs):
  sequence, arguments = check_sequence(node, inputs[0]), inputs[1:]
  if node.op == 'ParallelMapDatasetV2' or node.op == 'ParallelMapDataset':
    arguments = arguments[:-1]
  name = node.attr['f'].func.name
  if any(isinstance(a, replayer.Variable) for a in arguments):
    raise replayer.NotReplayableError(f'{node.op} that reads a variable')
  if replay.is_identity(name):
    # tf.data puts an identity before a `rebatch`.
    return [sequence]

  def element(i):
    parts = sequence.element(i)
    results = replay.call(name, [*parts, *arguments])
    return sequence.after_unread(replay.unread(name, parts), results)

  return [
    dataclasses.replace(
      sequence,
      element=element,
      is_drawn=sequence.is_drawn or replay.graph.draws(name),
      is_computed=True,
      takes_many=False,
      rows=None,
    )
  ]


def _reduce(replay, node, inputs):
  """Replays ReduceDataset as a loop over the sequence's elements."""
  scan = check_scan(node, inputs[0])
  sequence = scan.sequence.in_pass(may_stop=scan.stops)
  if replay.compilation is not None and not replay.use_xla:
    try:
      return _reduce_compiled(replay, node, inputs, scan, sequence)
    except replayer.NotReplayableError as error:
      compiled_loops.log_refusal(str(error))
  return _reduce_elements(replay, node, inputs, scan, sequence)


def _reduce_compiled(replay, node, inputs, scan, sequence):
  """Replays a reduction as a loop that XLA compiles.

  If an operation in the loop fails, the results raise an error.
  """
  with replay.within_xla():
    results = _reduce_elements(replay, node, inputs, scan, sequence)
    failed = replay.value_of(replayer.FAILED)
  check = tf.debugging.Assert(
    tf.logical_not(failed), ['An operation of client work has failed.']
  )
  with tf.control_dependencies([check]):
    return list(map(tf.identity, results))


def _reduce_elements(replay, node, inputs, scan, sequence):
  num_state = len(node.attr['Tstate'].list.type)
  state, others = inputs[1 : 1 + num_state], inputs[1 + num_state :]
  if not all(isinstance(value, tf.Tensor) for value in state):
    raise replayer.NotReplayableError(f'{node.op} to a dataset')
  name = node.attr['f'].func.name
  variables = replay.assigned_variables(node, inputs)
  if scan.stops and set(variables) - {replayer.FAILED}:
    raise replayer.NotReplayableError(f'{node.op} that writes and stops')
  for part, its_inputs in scan.nodes:
    variables += [
      variable
      for variable in replay.assigned_variables(part, its_inputs)
      if variable not in variables
    ]
  num_carried = len(scan.state)
  # The scan's state, the reduction's state, and whether to go on.
  state = [*scan.state, *state, *[tf.constant(True)] * scan.stops]
  shapes = [
    *scan.shapes,
    *(tf.TensorShape(s) for s in node.attr['output_shapes'].list.shape),
    *[tf.TensorShape([])] * scan.stops,
  ]

  def reduce_element(state, element):
    return replay.call(name, [*state, *element, *others])

  def run_element(i, state, held):
    carried, reduced = state[:num_carried], state[num_carried:]
    with replay.holding(variables, held):
      carried, values, goes_on = scan.run(carried, sequence.element(i))
      if scan.stops:
        *reduced, _ = reduced
        reduced = tf.nest.flatten(
          tf.cond(
            goes_on,
            lambda: list(map(tf.identity, reduce_element(reduced, values))),
            lambda: list(map(tf.identity, reduced)),
          )
        )
        state = [*carried, *reduced, goes_on]
      else:
        state = [*carried, *reduce_element(reduced, values)]
      unread = replay.unread(name, values, num_state)
      state = sequence.after_unread(unread, state)
      for tensor, shape in zip(state, shapes, strict=True):
        tensor.set_shape(shape)
      return state, [replay.value_of(variable) for variable in variables]

  operations = sum(
    (
      replay.graph.operations(part.attr['f'].func.name)
      for part, _ in scan.nodes
    ),
    replay.graph.operations(name),
  )
  state, held = fold(
    sequence,
    run_element,
    state,
    [replay.value_of(variable) for variable in variables],
    shapes=shapes,
    held_shapes=[variable.shape for variable in variables],
    operations=operations,
    use_xla=replay.use_xla,
    check=replay.compilation and replay.compilation.check,
    stops=scan.stops,
  )
  for variable, value in zip(variables, held):
    replay.assign(variable, value)
  return state[num_carried : num_carried + num_state]


def fold(
  sequence: Sequence,
  run_element: Callable[..., tuple[list[tf.Tensor], list[tf.Tensor]]],
  state: list[tf.Tensor],
  held: list[tf.Tensor],
  *,
  shapes: Iterable[tf.TensorShape],
  held_shapes: Iterable[tf.TensorShape],
  operations: Mapping[str, int],
  use_xla: bool,
  check: compiled_loops.Check | None = None,
  stops: bool = False,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
  """Creates a loop over a sequence's elements.

  Args:
    sequence: The sequence, already in a pass.
    run_element: A function (element's number, state, variables' values) ->
      (state, variables' values) after the element.
    state: The initial state.
    held: The initial values of variables.
    shapes: The state's shapes, in all steps.
    held_shapes: The variables' shapes.
    operations: The approximate number of nodes of each operation in a step.
    use_xla: Whether XLA compiles the loop.
    check: The check of the loop's program if XLA compiles the loop alone; None
      if it compiles the graph being built.
    stops: Whether the last part of the state tells whether to go on.

  Returns:
    The state and the variables' values after the last element.
  """
  shapes, held_shapes = list(shapes), list(held_shapes)

  def run_elements(number, i, state, held):
    for j in range(number):
      state, held = run_element(i + j, state, held)
    return state, held

  def loop(number, i, state, held):
    """Runs steps of `number` elements each while so many are left."""

    def is_left(i, state, held):
      del held
      is_left = i <= sequence.count - number
      return tf.logical_and(is_left, state[-1]) if stops else is_left

    def body(i, state, held):
      state, held = call_step(
        functools.partial(run_elements, number), i, state, held
      )
      return i + number, state, held

    return tf.while_loop(
      is_left,
      body,
      (i, state, held),
      shape_invariants=(tf.TensorShape([]), shapes, held_shapes),
      parallel_iterations=1,
    )

  size = sum(operations.values())
  call_step = loop_steps.caller_of(operations, use_xla=use_xla)
  i = tf.constant(0, tf.int64)
  if (
    # XLA would take longer to compile an unrolled loop, without any gain.
    not use_xla
    and not stops
    and sequence.unrolls
    and not loop_steps.is_trivial(operations)
    and loop_steps.HEAVY.isdisjoint(operations)
  ):
    number = min(MOST_UNROLLED, _MOST_UNROLLED_NODES // size)
    if number > 1:
      # To trace it for each element would take most of a run's start-up time.
      run_element = loop_steps.Step(
        run_element,
        tf.TensorSpec([], tf.int64),
        [tf.TensorSpec(s, t.dtype) for s, t in zip(shapes, state)],
        [tf.TensorSpec(s, t.dtype) for s, t in zip(held_shapes, held)],
        inlined=True,
      )
      i, state, held = loop(number, i, state, held)
  if use_xla and check is not None:
    begin = (state, held)
    compiled_loops.check_worth(operations, tf.nest.flatten(begin))

    def run(*tensors):
      first = tf.constant(0, tf.int64)
      nest = tf.nest.pack_sequence_as(begin, tensors)
      return tf.nest.flatten(loop(1, first, *nest)[1:])

    return tf.nest.pack_sequence_as(
      begin, compiled_loops.call(run, tf.nest.flatten(begin), check)
    )
  _, state, held = loop(1, i, state, held)
  return state, held


HANDLERS: Mapping[str, replayer.Handler] = {
  'FinalizeDataset': _pass_on,
  'MapDataset': _map,
  'ModelDataset': _pass_on,
  'OptionsDataset': _pass_on,
  'ParallelMapDataset': _map,
  'ParallelMapDatasetV2': _map,
  'PrefetchDataset': _pass_on,
  'ReduceDataset': _reduce,
  'RepeatDataset': _repeat,
  'SkipDataset': _skip,
  'TakeDataset': _take,
}
