# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Replays a serialized TensorFlow graph into the graph being built.

An imported `GraphDef` keeps its datasets, variables and calls. A replay creates
its operations one by one instead, and can replace them:

*   A dataset becomes a sequence of packed arrays, and a reduction over it a
    loop (`sequence_replay`).
*   A variable becomes the tensor that it holds, passed on from one assignment
    to the next, also through loops and branches (`control_flow_replay`). So
    many clients of a Keras model can run in one graph, each with its own
    variables.
*   A call becomes the operations of its function, so that names of functions
    cannot collide and TensorFlow optimises all operations as one graph.

A graph that does not fit this scheme raises `NotReplayableError`.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
from typing import Any
from typing import NamedTuple

from fedfish_tff import graph_functions
from fedfish_tff import parameters
from fedfish_tff import private_apis
from fedfish_tff import stateless_kernels
from fedfish_tff.execution.reading import serialized_graph

from absl import logging
import tensorflow as tf

NotReplayableError = serialized_graph.NotReplayableError

_NodeDef = tf.compat.v1.NodeDef

# TensorFlow 1's loops and branches. Their nodes do not run one after another.
_CYCLES = frozenset(
  f'{prefix}{name}'
  for name in (
    'Enter',
    'Exit',
    'LoopCond',
    'Merge',
    'NextIteration',
    'Switch',
  )
  for prefix in ('', 'Ref')
)

# Operations that draw from a generator of their own, which all clients and all
# calls advance.
_RANDOM = frozenset(
  (
    'Multinomial',
    'ParameterizedTruncatedNormal',
    'RandomGamma',
    'RandomPoisson',
    'RandomPoissonV2',
    'RandomShuffle',
    'RandomStandardNormal',
    'RandomUniform',
    'RandomUniformInt',
    'TruncatedNormal',
  )
)


@dataclasses.dataclass(frozen=True)
class Variable:
  """A variable: its node's name, and the dtype and shape of its value."""

  name: str
  dtype: tf.DType
  shape: tf.TensorShape


# Whether an operation has failed, in a graph that XLA compiles (see `failures`).
FAILED = Variable('^failed', tf.bool, tf.TensorShape([]))

# A tensor, a `Variable`, or a sequence (see `sequence_replay`).
Value = Any
Handler = Callable[['Replay', _NodeDef, list[Value]], list[Value]]


class LoopCompilation(NamedTuple):
  """The means to compile loops over batches by XLA, see `compiled_loops`.

  Attributes:
    handlers: The handlers for what XLA compiles, by operation.
    check: The check of a loop's program.
  """

  handlers: Mapping[str, Handler]
  check: Callable[[Any, Any], None]


class Replay:
  """One replay of a graph, with its own variables."""

  def __init__(
    self,
    graph: serialized_graph.SerializedGraph,
    handlers: Mapping[str, Handler] | None = None,
    *,
    use_xla: bool = False,
    compilation: LoopCompilation | None = None,
  ):
    """Makes a replay in which no node has run yet.

    Args:
      graph: The graph, which the caller must not change.
      handlers: The handlers of further operations, by operation.
      use_xla: Whether the graph being built is compiled by XLA.
      compilation: The means to compile loops over batches of a graph that XLA
        does not compile as a whole; None to compile none.
    """
    self.graph = graph
    self.compilation = compilation
    self._handlers = {**_HANDLERS, **(handlers or {})}
    self.use_xla = use_xla
    # The checks to run after all nodes.
    self.at_end: list[Callable[[], None]] = []
    self._main: dict[str, list[Value]] = {}
    # The current value of each variable, or a function that makes it.
    self._variables: dict[str, tf.Tensor | Callable[[], tf.Tensor]] = {}
    # The variables assigned in the innermost loop's body or branch so far.
    self._assigned: set[str] = set()
    # The same for the initialisation, which TensorFlow runs separately before.
    self._initial_main: dict[str, list[Value]] = {}
    self._initial_variables: dict[str, tf.Tensor | Callable[[], tf.Tensor]] = {}
    if use_xla:
      self._variables[FAILED.name] = lambda: tf.constant(False)

  def run(
    self,
    feeds: Mapping[str, Value],
    fetches: Sequence[str],
    *,
    initialize_op: str = '',
  ) -> list[Value]:
    """Creates the operations that the fetches need; call inside a graph.

    Args:
      feeds: The values of fed tensors, by the tensors' names.
      fetches: The names of the tensors to return.
      initialize_op: The name of the operation that initialises variables; empty
        for none.

    Returns:
      The values of the fetches.

    Raises:
      NotReplayableError: If some operation cannot be replayed.
    """
    for name, value in feeds.items():
      self._main[graph_functions.split_tensor_name(name)[0]] = [value]
    if initialize_op:
      self._initial_main.update(self._main)
      self._initialize(initialize_op)
      self._variables.update(self._initial_variables)
    names = [graph_functions.split_tensor_name(name) for name in fetches]
    self._run_nodes([node for node, _ in names], self._main)
    for check in self.at_end:
      check()
    return [self._main[node][index] for node, index in names]

  @contextlib.contextmanager
  def within_xla(self) -> Iterator[None]:
    """Inside, XLA compiles what is replayed, and failures are noted."""
    handlers, before = self._handlers, dict(self._variables)
    self._handlers = {**_HANDLERS, **self.compilation.handlers}
    self._variables[FAILED.name] = tf.constant(False)
    self.use_xla = True
    try:
      yield
    except NotReplayableError:
      self._variables = before
      raise
    finally:
      self._handlers, self.use_xla = handlers, False
      self._variables.pop(FAILED.name, None)

  def _initialize(self, name: str) -> None:
    """Notes how to make the variables' initial values when they are read.

    Clients overwrite most variables first, and initial values can be costly.
    """
    node = self.graph.main.nodes[name]
    if node.op == 'NoOp':
      for source in node.input:
        self._initialize(source.removeprefix('^'))
    elif node.op == 'AssignVariableOp':
      variable_node, _ = graph_functions.split_tensor_name(node.input[0])
      value_node, index = graph_functions.split_tensor_name(node.input[1])

      def initial_value() -> tf.Tensor:
        current, self._variables = self._variables, self._initial_variables
        if self.use_xla:
          self._variables[FAILED.name] = current[FAILED.name]
        try:
          self._run_nodes([value_node], self._initial_main)
          if self.use_xla:
            current[FAILED.name] = self._variables[FAILED.name]
        finally:
          self._variables = current
        return self._initial_main[value_node][index]

      self._run_nodes([variable_node], self._initial_main)
      variable = self._initial_main[variable_node][0]
      self._initial_variables[variable.name] = initial_value
    else:
      raise NotReplayableError(f'initialisation by {node.op}')

  def _run_nodes(
    self, targets: Sequence[str], values: dict[str, list[Value]]
  ) -> None:
    for node in self.graph.main.order_for(targets, values):
      self._run_node(node, values)

  def call(self, name: str, arguments: Sequence[Value]) -> list[Value]:
    """Creates the operations of a function and returns its results."""
    body = self.graph.function(name)
    values = {a: [v] for a, v in zip(body.arguments, arguments, strict=True)}
    for node in body.order:
      if node.name not in values:
        self._run_node(node, values)
    names = [
      graph_functions.split_tensor_name(result) for result in body.results
    ]
    return [values[node][index] for node, index in names]

  def _run_node(self, node: _NodeDef, values: dict[str, list[Value]]) -> None:
    inputs = []
    for name in node.input:
      if name[0] != '^':
        source, index = graph_functions.split_tensor_name(name)
        inputs.append(values[source][index])
    if node.op in self._handlers:
      results = self._handlers[node.op](self, node, inputs)
    elif self.graph.has_function(node.op):
      results = self.call(node.op, inputs)
    elif self.use_xla:
      raise NotReplayableError(
        f'{node.op}, which is not listed among the operations that never fail'
      )
    else:
      results = create_operation(node, inputs)
    values[node.name] = results

  def is_identity(self, name: str) -> bool:
    """Returns whether a function returns its arguments unchanged."""
    if not self.graph.operations(name).keys() <= {'_Argument', 'Identity'}:
      return False
    arguments = list(range(len(self.graph.argument_shapes(name))))
    return self.call(name, arguments) == arguments

  def unread(
    self, name: str, arguments: Sequence[Value], first: int = 0
  ) -> list[Value]:
    """Returns the arguments, from position `first` on, that are not read."""
    read = self.graph.read_arguments(name)
    return [a for i, a in enumerate(arguments, first) if i not in read]

  def value_of(self, variable: Variable) -> tf.Tensor:
    """Returns the current value of a variable."""
    value = self._variables.get(variable.name)
    if value is None:
      raise NotReplayableError(
        f'variable {variable.name} is read before it has a value'
      )
    if callable(value):
      value = value()
      self._variables[variable.name] = value
    return value

  def assign(self, variable: Variable, value: tf.Tensor) -> None:
    """Assigns a value to a variable."""
    value.set_shape(variable.shape)
    self._variables[variable.name] = value
    self._assigned.add(variable.name)

  def assigned_variables(
    self, node: _NodeDef, inputs: Sequence[Value]
  ) -> list[Variable]:
    """Returns the variables that the functions called by a node may write."""
    assigned = {}
    if self.use_xla:
      # The value is made outside the loop or branch.
      self.value_of(FAILED)
      assigned[FAILED.name] = FAILED
    for name, arguments in self.graph.calls(node, inputs):
      positions = self.graph.assigned_arguments(name)
      for i, argument in enumerate(arguments):
        if isinstance(argument, Variable):
          # The value is made outside the loop or branch, where all can read it.
          self.value_of(argument)
          if i in positions:
            assigned[argument.name] = argument
    return list(assigned.values())

  def note_failure(self, failed: tf.Tensor) -> None:
    """Notes whether an operation fails; only XLA does not report it."""
    if self.use_xla:
      self.assign(FAILED, tf.logical_or(self.value_of(FAILED), failed))

  @contextlib.contextmanager
  def losing_notes(self, operation: str) -> Iterator[None]:
    """Inside, no operation may fail, since the note of it would be lost.

    Args:
      operation: The name of the operation around, for the error.

    Raises:
      NotReplayableError: If an operation inside may fail.
    """
    before = self.value_of(FAILED) if self.use_xla else None
    yield
    if self.use_xla and self.value_of(FAILED) is not before:
      raise NotReplayableError(f'{operation} whose function may fail')

  def check_places(self, places: tf.Tensor, sizes: tf.Tensor) -> None:
    """Notes a failure if places are outside of [0, sizes)."""
    if self.use_xla:
      sizes = tf.cast(sizes, places.dtype)
      self.note_failure(tf.reduce_any((places < 0) | (places >= sizes)))

  @contextlib.contextmanager
  def holding(
    self, variables: Sequence[Variable], tensors: Sequence[tf.Tensor]
  ) -> Iterator[None]:
    """Gives variables their values inside a loop's body or a branch.

    Args:
      variables: The variables with values that the body or branch passes on.
      tensors: Their values.

    Raises:
      NotReplayableError: If another variable is assigned there, since its value
        would be lost.
    """
    before, assigned_before = dict(self._variables), self._assigned
    self._assigned = set()
    for variable, tensor in zip(variables, tensors, strict=True):
      self.assign(variable, tensor)
    try:
      yield
      lost = self._assigned & before.keys() - {v.name for v in variables}
      if lost:
        raise NotReplayableError(
          f'variable {min(lost)}, which a loop or branch assigns by another name'
        )
    finally:
      self._variables, self._assigned = before, assigned_before


def create_operation(node: _NodeDef, inputs: Sequence[Value]) -> list[Value]:
  """Creates the operation of a node unchanged.

  Raises:
    NotReplayableError: If it would have another meaning here.
  """
  for value in inputs:
    if not isinstance(value, tf.Tensor):
      raise NotReplayableError(
        f'{node.op} of a {"variable" if isinstance(value, Variable) else "dataset"}'
      )
  if node.op in _CYCLES:
    raise NotReplayableError(f'{node.op}, a loop or branch of TensorFlow 1')
  if any(node.attr[name].i for name in ('seed', 'seed2') if name in node.attr):
    # Its generator restarts with every pass over a dataset. Copies of it in an
    # unrolled loop, or one shared by all clients, would not.
    raise NotReplayableError(f'{node.op} with a seed')
  if stateless_kernels.has_state(node.op):
    raise NotReplayableError(
      f'{node.op}, whose kernel keeps what a call writes'
    )
  if node.op in _RANDOM:
    _warn_of_randomness(node.op)
  if any(graph_functions.functions_of(node)):
    raise NotReplayableError(f'{node.op}, which calls a function')
  # Attributes with an underscore are notes of the original graph.
  attributes = {n: value for n, value in node.attr.items() if n[0] != '_'}
  operation = private_apis.create_operation(
    node.op, inputs, attributes, node_name=node.name.rpartition('/')[2]
  )
  if any(output.dtype == tf.resource for output in operation.outputs):
    raise NotReplayableError(f'{node.op}, which holds state')
  return list(operation.outputs)


@functools.cache
def _warn_of_randomness(operation: str) -> None:
  """Logs, once for each operation, that results cannot be repeated."""
  logging.warning(
    'A computation draws random numbers by %s, whose state lives outside of '
    'it: its results are not repeatable. Operations of tf.random that are '
    'called stateless are.',
    operation,
  )


def _placeholder(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del replay, inputs
  raise NotReplayableError(f'placeholder {node.name}, which has no value')


def _with_default(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del replay
  parameter = parameters.read(node)
  if parameter is None:
    return inputs
  # An argument of the traced function, looked up at each call.
  return [
    private_apis.capture_at_call(
      lambda: tf.constant(parameter.value, tf.float32),
      tf.TensorSpec([], tf.float32),
      key=parameter,
    )
  ]


def _no_op(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del replay, node, inputs
  return []


def _pass_on(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del replay, node
  return inputs


def _variable(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del replay, inputs
  return [
    Variable(
      node.name,
      tf.as_dtype(node.attr['dtype'].type),
      tf.TensorShape(node.attr['shape'].shape),
    )
  ]


def _read(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del node
  return [replay.value_of(inputs[0])]


def _is_initialized(replay: Replay, node: _NodeDef, inputs: list[Value]):
  del node
  replay.value_of(inputs[0])
  return [tf.constant(True)]


def _assign(replay: Replay, node: _NodeDef, inputs: list[Value]):
  variable, value = inputs
  if node.op == 'AssignAddVariableOp':
    value = replay.value_of(variable) + value
  elif node.op == 'AssignSubVariableOp':
    value = replay.value_of(variable) - value
  replay.assign(variable, value)
  return []


def _gather(replay: Replay, node: _NodeDef, inputs: list[Value]):
  variable, indices = inputs
  value, batch_dims = replay.value_of(variable), node.attr['batch_dims'].i
  replay.check_places(indices, tf.shape(value)[batch_dims])
  return [tf.gather(value, indices, batch_dims=batch_dims)]


def _gradient_descent(replay, node, inputs):
  del node
  variable, rate, gradient = inputs
  replay.assign(variable, replay.value_of(variable) - rate * gradient)
  return []


def _keras_momentum(replay, node, inputs):
  variable, accumulator, rate, gradient, momentum = inputs
  step = rate * gradient
  accumulated = replay.value_of(accumulator) * momentum - step
  replay.assign(accumulator, accumulated)
  if node.attr['use_nesterov'].b:
    change = accumulated * momentum - step
  else:
    change = accumulated
  replay.assign(variable, replay.value_of(variable) + change)
  return []


def _scatter(
  update: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
) -> Handler:
  def handle(replay, node, inputs):
    del node
    variable, indices, updates = inputs
    value = replay.value_of(variable)
    replay.check_places(indices, tf.shape(value)[0])
    # A scalar update applies to whole rows.
    updates = tf.broadcast_to(
      updates, tf.concat([tf.shape(indices), tf.shape(value)[1:]], axis=0)
    )
    replay.assign(variable, update(value, indices[..., tf.newaxis], updates))
    return []

  return handle


def _shape(replay, node, inputs):
  return [
    tf.shape(
      replay.value_of(inputs[0]),
      out_type=tf.as_dtype(node.attr['out_type'].type),
    )
  ]


def _call(replay: Replay, node: _NodeDef, inputs: list[Value]):
  return replay.call(node.attr['f'].func.name, inputs)


_HANDLERS: Mapping[str, Handler] = {
  'AssignAddVariableOp': _assign,
  'AssignSubVariableOp': _assign,
  'AssignVariableOp': _assign,
  'Identity': _pass_on,
  'IdentityN': _pass_on,
  'NoOp': _no_op,
  'PartitionedCall': _call,
  'Placeholder': _placeholder,
  'PlaceholderWithDefault': _with_default,
  'ReadVariableOp': _read,
  'ResourceApplyGradientDescent': _gradient_descent,
  'ResourceApplyKerasMomentum': _keras_momentum,
  'ResourceGather': _gather,
  'ResourceScatterAdd': _scatter(tf.tensor_scatter_nd_add),
  'ResourceScatterSub': _scatter(tf.tensor_scatter_nd_sub),
  'ResourceScatterUpdate': _scatter(tf.tensor_scatter_nd_update),
  'StatefulPartitionedCall': _call,
  'VarHandleOp': _variable,
  'VarIsInitializedOp': _is_initialized,
  'VariableShape': _shape,
}
