# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow computations of TFF, called in this process.

A computation is imported once, as functions of TensorFlow's eager runtime (see
`imported_graph`), and called with tensors. Each call has its own variables and
tables, so any number of threads may call one at a time.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import hashlib
import itertools
import threading
from typing import Any
import weakref

from fedfish_tff import parameters
from fedfish_tff import private_apis
from fedfish_tff import stateless_kernels
from fedfish_tff.execution.packing import sequence_values
from fedfish_tff.execution.packing import type_leaves
from fedfish_tff.execution.reading import imported_graph

import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2 as pb

_SESSION_TOKEN = 'fedfish_session'

_numbers = itertools.count()
_lock = threading.Lock()
_alive: weakref.WeakValueDictionary[bytes, 'TensorFlowFunction'] = (
  weakref.WeakValueDictionary()
)


class TensorFlowFunction:
  """One TensorFlow computation, imported.

  Attributes:
    proto: The computation.
    type_signature: Its type.
  """

  def __init__(self, proto: pb.Computation):
    """Imports a computation.

    Args:
      proto: The computation; must not change afterwards.
    """
    self.proto = proto
    self.type_signature = tff.types.deserialize_type(proto.type)
    self._fetches = tensor_names(proto.tensorflow.result)
    signature = self.type_signature
    self._argument_types = type_leaves.leaf_types(signature.parameter)
    self._result_types = type_leaves.leaf_types(signature.result)
    self._imported = _import(proto.tensorflow)
    # Those that are in no call now, where calls would share state.
    self._idle = [self._imported]

  def __call__(
    self,
    argument: Any = None,
    *,
    cancellation_manager: private_apis.CancellationManager | None = None,
  ) -> Any:
    """Runs the computation.

    Args:
      argument: A local value of the parameter's type (see `local_values`).
      cancellation_manager: Whose cancellation ends the call early.

    Returns:
      A local value of the result's type.

    Raises:
      tf.errors.OpError: What the TensorFlow code raised.
    """
    tensors: list[tf.Tensor] = []
    if argument is not None:
      tensors = [
        _to_tensor(leaf, leaf_type)
        for leaf, leaf_type in zip(
          type_leaves.flatten(argument), self._argument_types, strict=True
        )
      ]
    results = self.call_flat(tensors, cancellation_manager)
    return type_leaves.unflatten(
      map(_from_tensor, results, self._result_types), self.type_signature.result
    )

  def call_flat(
    self,
    tensors: Sequence[tf.Tensor],
    cancellation_manager: private_apis.CancellationManager | None = None,
  ) -> Sequence[tf.Tensor]:
    """Runs the computation on tensors, sequences being variants.

    Args:
      tensors: The argument's tensors in the order of its type.
      cancellation_manager: Whose cancellation ends the call early.

    Returns:
      The result's tensors in the order of its type.
    """
    if not self._fetches:
      return ()
    imported = self._imported
    if not imported.is_current():
      imported = self._imported = _import(self.proto.tensorflow)
      self._idle = [imported]
    idle = self._idle
    if not imported.functions.is_reusable:
      try:
        imported = idle.pop()
      except IndexError:
        imported = imported.renamed()
    functions = imported.functions
    if functions.setup:
      holders = _execute(
        functions.setup,
        [tensors[i] for i in functions.setup_feeds],
        functions.num_holders,
        cancellation_manager,
      )
      tensors = [*tensors, *holders]
    results = _execute(
      functions.main, tensors, len(self._fetches), cancellation_manager
    )
    if functions.reset:
      _execute(functions.reset, [], 0, cancellation_manager)
      idle.append(imported)
    return results


def get_function(proto: pb.Computation) -> TensorFlowFunction:
  """Returns a computation's function, imported at the first call with it.

  Args:
    proto: A TensorFlow computation; must not change afterwards.

  Returns:
    The same function for computations of equal content, as long as it is in
    use.
  """
  serialized = proto.SerializeToString(deterministic=True)
  key = hashlib.sha256(serialized).digest()
  with _lock:
    function = _alive.get(key)
    if function is None:
      function = TensorFlowFunction(proto)
      _alive[key] = function
  return function


class _Imported:
  """The functions of a graph in TensorFlow's runtime; they go with this."""

  def __init__(
    self,
    functions: imported_graph.GraphFunctions,
    values: Mapping[parameters.Parameter, float],
  ):
    self.functions = functions
    self._values = values
    names = [function.signature.name for function in functions.definitions]
    for definition in functions.definitions:
      private_apis.add_function(definition)
    finalizer = weakref.finalize(self, _remove_functions, names)
    finalizer.atexit = False  # TensorFlow may be gone by then.

  def renamed(self) -> '_Imported':
    """Returns the same functions with state of their own."""
    functions = imported_graph.rename(self.functions, _new_name())
    return _Imported(functions, self._values)

  def is_current(self) -> bool:
    """Whether the parameters have the values that the functions hold."""
    return all(
      parameter.value == value for parameter, value in self._values.items()
    )


def _import(graph: pb.TensorFlow) -> _Imported:
  graph_def = tf.compat.v1.GraphDef()
  graph.graph_def.Unpack(graph_def)
  stateless_kernels.make_stateless(graph_def)
  values = {}
  for node in itertools.chain(
    graph_def.node, *(f.node_def for f in graph_def.library.function)
  ):
    parameter = parameters.read(node)
    if parameter is not None:
      values[parameter] = parameter.value
      node.CopyFrom(_constant(node.name, values[parameter], tf.float32))
    # Functions that a graph calls run as it does: see `_call_options`.
    elif node.op in ('PartitionedCall', 'StatefulPartitionedCall'):
      config = tf.compat.v1.ConfigProto.FromString(node.attr['config_proto'].s)
      config.graph_options.rewrite_options.disable_meta_optimizer = True
      node.attr['config_proto'].s = config.SerializeToString(deterministic=True)
  feeds = tensor_names(graph.parameter)
  return _Imported(
    imported_graph.build_graph_functions(
      graph_def,
      name=_new_name(),
      feeds=feeds,
      fetches=tensor_names(graph.result),
      constants=_session_token(graph.session_token_tensor_name, feeds),
      initialize_op=graph.initialize_op,
    ),
    values,
  )


def _new_name() -> str:
  """Returns a name for the functions of a graph; all are of one length."""
  return f'fedfish_graph_{next(_numbers):012}'


def _remove_functions(names: Sequence[str]) -> None:
  for name in names:
    private_apis.remove_function(name)


@functools.cache
def _call_options() -> tuple[str, ...]:
  """Returns how functions run: as they are, as in TFF's own runtime."""
  config = tf.compat.v1.ConfigProto()
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  return ('executor_type', '', 'config_proto', config.SerializeToString())


def _execute(
  name: str,
  tensors: Sequence[tf.Tensor],
  num_results: int,
  cancellation_manager: private_apis.CancellationManager | None,
) -> Sequence[tf.Tensor]:
  """Calls a function of TensorFlow's runtime."""
  return private_apis.call_function(
    name,
    tensors,
    num_results=num_results,
    attributes=_call_options(),
    cancellation_manager=cancellation_manager,
  )


def _session_token(
  name: str, feeds: Sequence[str]
) -> dict[str, node_def_pb2.NodeDef]:
  """Returns a constant in place of the placeholder for the session's name."""
  if not name or name in feeds:
    return {}
  node = _constant(name.partition(':')[0], _SESSION_TOKEN, tf.string)
  return {node.name: node}


def _constant(name: str, value: Any, dtype: tf.DType) -> node_def_pb2.NodeDef:
  """Returns a node of a given name that is a constant."""
  node = node_def_pb2.NodeDef(name=name, op='Const')
  node.attr['dtype'].type = dtype.as_datatype_enum
  node.attr['value'].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
  return node


def tensor_names(binding: pb.TensorFlow.Binding) -> list[str]:
  """Returns the names of a binding's tensors, in order."""
  match binding.WhichOneof('binding'):
    case 'tensor':
      return [binding.tensor.tensor_name]
    case 'sequence':
      return [binding.sequence.variant_tensor_name]
    case 'struct':
      elements = [tensor_names(element) for element in binding.struct.element]
      return list(itertools.chain.from_iterable(elements))
    case _:
      return []


def _to_tensor(leaf: Any, leaf_type: tff.Type) -> tf.Tensor:
  if isinstance(leaf_type, tff.SequenceType):
    return sequence_values.to_variant(leaf, leaf_type)
  return leaf


def _from_tensor(tensor: tf.Tensor, leaf_type: tff.Type) -> Any:
  if isinstance(leaf_type, tff.SequenceType):
    return sequence_values.from_variant(tensor, leaf_type)
  return tensor
