# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""A serialized TensorFlow graph, taken apart so that it can be replayed.

A `GraphDef` and the functions of its library have one form here: nodes by name,
an order in which they can run, the functions that they call, the arguments that
these functions read and assign, and the operations that draw random numbers.
"""

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import types
from typing import TypeVar

from fedfish_tff import graph_functions
from fedfish_tff import private_apis

import tensorflow as tf
from tensorflow.core.framework import function_pb2

# Operations that write variables or move an iterator, and the number of their
# first inputs that are written or moved.
ASSIGNMENTS: Mapping[str, int] = types.MappingProxyType(
  {
    'AssignAddVariableOp': 1,
    'AssignSubVariableOp': 1,
    'AssignVariableOp': 1,
    'IteratorGetNextAsOptional': 1,
    'ResourceApplyGradientDescent': 1,
    'ResourceApplyKerasMomentum': 2,
    'ResourceScatterAdd': 1,
    'ResourceScatterSub': 1,
    'ResourceScatterUpdate': 1,
  }
)

# Operations that TensorFlow calls stateful, but that give the same results in
# another run if the functions that they call do so.
_REPEATABLE = frozenset(
  (
    'Assert',
    'Case',
    'CheckNumerics',
    'CheckNumericsV2',
    'If',
    'PrintV2',
    'StatefulPartitionedCall',
    'While',
  )
)

# Every cycle of a graph has one of these.
_BACK_EDGES = frozenset(('NextIteration', 'RefNextIteration'))

_T = TypeVar('_T')


class NotReplayableError(Exception):
  """Error for a graph that cannot be replayed; its message names the part."""


def draws(operations: Iterable[str]) -> bool:
  """Returns whether some operation may give another result in another run."""
  for operation in operations:
    definition = private_apis.find_operation(operation)
    if (
      definition is not None
      and definition.is_stateful
      and operation not in _REPEATABLE
    ):
      return True
  return False


@dataclasses.dataclass(frozen=True, eq=False)
class Body:
  """The nodes of a graph, or of a function of its library.

  Attributes:
    nodes: The nodes by name.
    arguments: The names of the argument nodes (functions only).
    results: The names of the resulting tensors (functions only).
    effects: The names of nodes that must run though no result needs them.
  """

  nodes: Mapping[str, tf.compat.v1.NodeDef]
  arguments: tuple[str, ...] = ()
  results: tuple[str, ...] = ()
  effects: tuple[str, ...] = ()

  @functools.cached_property
  def order(self) -> tuple[tf.compat.v1.NodeDef, ...]:
    """The nodes that results and effects need, each after its own inputs."""
    return self.order_for([*self.effects, *self.results])

  def order_for(
    self, targets: Iterable[str], known: Iterable[str] = ()
  ) -> tuple[tf.compat.v1.NodeDef, ...]:
    """Returns the nodes that targets need, but `known`, each after its inputs.

    Raises:
      NotReplayableError: If nodes need each other.
    """
    needed = graph_functions.nodes_needed(self.nodes, targets, known)
    if any(node.op in _BACK_EDGES for node in needed.values()):
      raise NotReplayableError('a loop of TensorFlow 1')
    return tuple(needed.values())


class SerializedGraph:
  """A graph and its function library."""

  def __init__(self, graph_def: tf.compat.v1.GraphDef):
    """Takes a graph apart, which must not change afterwards."""
    self.main = Body({node.name: node for node in graph_def.node})
    self._functions = {f.signature.name: f for f in graph_def.library.function}
    self._bodies: dict[str, Body] = {}
    self._assigned: dict[str, frozenset[int]] = {}
    self._read: dict[str, frozenset[int]] = {}
    self._operations: dict[str, collections.Counter[str]] = {}

  def has_function(self, name: str) -> bool:
    """Returns whether the library has a function of this name."""
    return name in self._functions

  def function(self, name: str) -> Body:
    """Returns a function of the library."""
    if name not in self._bodies:
      self._bodies[name] = self._take_apart(self._functions[name])
    return self._bodies[name]

  def _take_apart(self, function: function_pb2.FunctionDef) -> Body:
    # A value is named node:output:number in a function, by an output of the
    # operation, but node:position in a graph.
    arguments = tuple(arg.name for arg in function.signature.input_arg)
    offsets = {
      node.name: self._output_offsets(node) for node in function.node_def
    }

    def flat_name(name: str) -> str:
      parts = name.split(':')
      if len(parts) < 3:
        return name  # An argument, or a node that is run but not read.
      node, output, number = parts
      return f'{node}:{offsets[node][output] + int(number)}'

    nodes = {
      name: tf.compat.v1.NodeDef(name=name, op='_Argument')
      for name in arguments
    }
    for node in function.node_def:
      copy = tf.compat.v1.NodeDef()
      copy.CopyFrom(node)
      copy.input[:] = [flat_name(name) for name in node.input]
      nodes[node.name] = copy
    return Body(
      nodes=nodes,
      arguments=arguments,
      results=tuple(
        flat_name(function.ret[result.name])
        for result in function.signature.output_arg
      ),
      effects=tuple(dict.fromkeys(function.control_ret.values())),
    )

  def _output_offsets(self, node: tf.compat.v1.NodeDef) -> Mapping[str, int]:
    """Returns the position of the first tensor of each output of a node."""
    if node.op in self._functions:
      signature = self._functions[node.op].signature
    else:
      signature = private_apis.find_operation(node.op)
      if signature is None:
        raise NotReplayableError(f'unknown operation {node.op}')
    offsets, position = {}, 0
    for output in signature.output_arg:
      offsets[output.name] = position
      if output.number_attr:
        position += node.attr[output.number_attr].i
      elif output.type_list_attr:
        position += len(node.attr[output.type_list_attr].list.type)
      else:
        position += 1
    return offsets

  def argument_shapes(self, name: str) -> list[tf.TensorShape]:
    """Returns the shapes of the arguments for which a function was traced."""
    function = self._functions[name]
    return [
      tf.TensorShape(shapes[0])
      if (shapes := function.arg_attr[i].attr['_output_shapes'].list.shape)
      else tf.TensorShape(None)
      for i, _ in enumerate(function.signature.input_arg)
    ]

  @functools.cached_property
  def main_operations(self) -> collections.Counter[str]:
    """The number of nodes of each operation in the graph, calls included."""
    return self._count(self.main.nodes.values())

  def operations(self, name: str) -> collections.Counter[str]:
    """Returns the number of a function's nodes by operation, calls included.

    The counter must not be changed.
    """
    if name not in self._operations:
      self._operations[name] = self._count(self.function(name).order)
    return self._operations[name]

  def _count(
    self, nodes: Iterable[tf.compat.v1.NodeDef]
  ) -> collections.Counter[str]:
    operations = collections.Counter()
    for node in nodes:
      operations[node.op] += 1
      for callee, _ in self.calls(node, [None] * len(node.input)):
        operations += self.operations(callee)
    return operations

  def draws(self, name: str) -> bool:
    """Returns whether a function may give another result in another run."""
    return draws(self.operations(name))

  def assigned_arguments(self, name: str) -> frozenset[int]:
    """Returns the positions of the arguments that a function may write."""
    if name not in self._assigned:
      self._assigned[name] = self._find_assigned(self.function(name))
    return self._assigned[name]

  def _find_assigned(self, body: Body) -> frozenset[int]:
    position = {argument: i for i, argument in enumerate(body.arguments)}
    assigned = set()
    for node in body.order:
      inputs = [n.partition(':')[0] for n in node.input if n[0] != '^']
      if node.op == 'Identity' and inputs[0] in position:
        position[node.name] = position[inputs[0]]
      for name in inputs[: ASSIGNMENTS.get(node.op, 0)]:
        if name in position:
          assigned.add(position[name])
      for callee, its_inputs in self.calls(node, inputs):
        for i in self.assigned_arguments(callee):
          if its_inputs[i] in position:
            assigned.add(position[its_inputs[i]])
    return frozenset(assigned)

  def read_arguments(self, name: str) -> frozenset[int]:
    """Returns the positions of the arguments that a function's results need."""
    if name not in self._read:
      self._read[name] = self._find_read(self.function(name))
    return self._read[name]

  def _find_read(self, body: Body) -> frozenset[int]:
    position = {argument: i for i, argument in enumerate(body.arguments)}
    read = set()
    for node in body.order:
      inputs = [n.partition(':')[0] for n in node.input if n[0] != '^']
      if node.op == 'Identity':
        # The argument is read where the identity is.
        if inputs[0] in position:
          position[node.name] = position[inputs[0]]
        continue
      its_calls = self.calls(node, inputs)
      passed_on = {
        its_inputs[i]
        for callee, its_inputs in its_calls
        for i in self.read_arguments(callee)
      }
      # A node's other inputs, such as a branch's condition, count as read.
      known = {source for _, its_inputs in its_calls for source in its_inputs}
      for source in inputs:
        if source in position and (source in passed_on or source not in known):
          read.add(position[source])
    for result in body.results:
      source, _ = graph_functions.split_tensor_name(result)
      if source in position:
        read.add(position[source])
    return frozenset(read)

  def read_outputs(self, node: tf.compat.v1.NodeDef) -> frozenset[int]:
    """Returns the positions of a node's outputs that are read in its body."""
    return frozenset(
      index
      for body in (self.main, *self._bodies.values())
      if body.nodes.get(node.name) is node
      for source, index in map(
        graph_functions.split_tensor_name,
        [
          *(
            name
            for reader in body.nodes.values()
            for name in reader.input
            if name[0] != '^'
          ),
          *body.results,
        ],
      )
      if source == node.name
    )

  def calls(
    self, node: tf.compat.v1.NodeDef, inputs: Sequence[_T]
  ) -> list[tuple[str, Sequence[_T | None]]]:
    """Returns the functions that a node calls, each with its arguments.

    Args:
      node: A node of the graph or of one of its functions.
      inputs: One stand-in for each of its inputs.

    Returns:
      Pairs (name, arguments); None is an argument that is not among the inputs,
      such as an element of a dataset.
    """
    if node.op in self._functions:
      return [(node.op, inputs)]
    if node.op in ('PartitionedCall', 'StatefulPartitionedCall'):
      return [(node.attr['f'].func.name, inputs)]
    if node.op in ('While', 'StatelessWhile'):
      names = [node.attr[name].func.name for name in ('cond', 'body')]
      return [(name, inputs) for name in names]
    if node.op in ('If', 'StatelessIf'):
      names = ('then_branch', 'else_branch')
      return [(node.attr[name].func.name, inputs[1:]) for name in names]
    if node.op in ('Case', 'StatelessCase'):
      branches = node.attr['branches'].list.func
      return [(branch.name, inputs[1:]) for branch in branches]
    if node.op in ('ReduceDataset', 'ScanDataset'):
      name = node.attr['f'].func.name
      num_state = len(node.attr['Tstate'].list.type)
      state, others = inputs[1 : 1 + num_state], inputs[1 + num_state :]
      num_element = len(self.function(name).arguments) - len(inputs) + 1
      return [(name, [*state, *[None] * num_element, *others])]
    return []
