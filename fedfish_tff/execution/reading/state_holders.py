# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""The nodes of a graph that hold state: its variables, tables and the like.

They are found by names, which different graphs have in common. Here a node's
state becomes its call's own, where TensorFlow has an anonymous form of it, and
gets a name that no other graph has where not.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import types

from fedfish_tff import private_apis

import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.framework import op_def_pb2

_NodeDef = node_def_pb2.NodeDef
_FunctionDef = function_pb2.FunctionDef

# The name that makes a variable anonymous, from TensorFlow's sources
# (`ResourceHandle::ANONYMOUS_NAME`).
_ANONYMOUS_NAME = b'cd2c89b7-88b7-44c8-ad83-06c2a9158347'

# What holds state, and the operation that makes the same without a name.
_ANONYMOUS_OPERATIONS: Mapping[str, str] = types.MappingProxyType(
  {
    'VarHandleOp': 'VarHandleOp',
    'HashTableV2': 'AnonymousHashTable',
    'MutableHashTableV2': 'AnonymousMutableHashTable',
    'MutableHashTableOfTensorsV2': 'AnonymousMutableHashTableOfTensors',
    'MutableDenseHashTableV2': 'AnonymousMutableDenseHashTable',
  }
)
# Queues, which make themselves anew where they have been ended.
QUEUES = frozenset(
  (
    'FIFOQueueV2',
    'PaddingFIFOQueueV2',
    'PriorityQueueV2',
    'RandomShuffleQueueV2',
  )
)
# These hold state for one call only, whatever their names.
_OF_ONE_CALL = ('Anonymous', 'Dummy', 'TensorArray', 'Stack')


def holds_state(node: _NodeDef) -> bool:
  """Whether a node makes or finds a variable, a table or the like."""
  definition = private_apis.find_operation(node.op)
  return (
    definition is not None
    and definition.is_stateful
    and any(map(_is_holder, definition.output_arg))
    and not any(map(_is_holder, definition.input_arg))
  )


def _is_holder(argument: op_def_pb2.OpDef.ArgDef) -> bool:
  return argument.is_ref or argument.type == tf.resource.as_datatype_enum


def merge_holders(nodes: dict[str, _NodeDef]) -> None:
  """Lets nodes that find the same state by its name be one node.

  Args:
    nodes: The nodes of a graph by name; their inputs are changed.
  """
  first: dict[tuple[str, bytes], str] = {}
  merged = {}
  for name, node in nodes.items():
    if node.op in _ANONYMOUS_OPERATIONS and state_name(node):
      key = (node.op, state_name(node))
      if first.setdefault(key, name) != name:
        merged[name] = first[key]
  if merged:
    for node in nodes.values():
      node.input[:] = [
        s if s[0] == '^' else merged.get(s.partition(':')[0], s)
        for s in node.input
      ]


def state_name(node: _NodeDef) -> bytes:
  """Returns the name under which a node's state is found; empty if its own."""
  return node.attr['shared_name'].s if 'shared_name' in node.attr else b''


def names_in_use(function: _FunctionDef) -> set[bytes]:
  """Returns the names by which a function finds state, other than queues."""
  return {
    state_name(node)
    for node in function.node_def
    if holds_state(node)
    and node.op not in QUEUES
    and not node.op.startswith(_OF_ONE_CALL)
    and state_name(node) != _ANONYMOUS_NAME
  }


def make_anonymous(node: _NodeDef, named: Iterable[bytes]) -> bool:
  """Makes a node's state its call's own.

  Args:
    node: The node that holds state, changed.
    named: Names of state that functions look up.

  Returns:
    False if that is not possible.
  """
  if node.op.startswith(_OF_ONE_CALL):
    return True
  if node.op not in _ANONYMOUS_OPERATIONS or state_name(node) in named:
    return False
  node.op = _ANONYMOUS_OPERATIONS[node.op]
  if node.op == 'VarHandleOp':
    node.attr['shared_name'].s = _ANONYMOUS_NAME
    return True
  known = {attr.name for attr in private_apis.find_operation(node.op).attr}
  for attr in list(node.attr):
    if attr not in known and attr[0] != '_':
      del node.attr[attr]
  return True


def rename_state(node: _NodeDef, name: str) -> None:
  """Makes the name of a node's state one that no other graph uses.

  Args:
    node: The node, changed.
    name: What no other graph has, for a prefix.
  """
  if state_name(node) not in (b'', _ANONYMOUS_NAME):
    prefix = f'{name}/'.encode()
    node.attr['shared_name'].s = prefix + node.attr['shared_name'].s
