# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Private APIs of TensorFlow and TFF that this package uses, with the reasons.

A new version may drop them without notice: the test of this module then names
what has gone. No other module touches them, but for `fedfish_tff` itself, which
ends TFF's default context, keeps AutoGraph's generated code in memory, and must
not import TensorFlow.

The protocol buffers of `tensorflow.core` and `tensorflow_federated.proto` are
not among them: they are the format of saved graphs and computations.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import functools
import importlib
import itertools
from typing import Any
from typing import Literal

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.core.framework import function_pb2
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.eager import cancellation
from tensorflow.python.eager import context as eager_context
from tensorflow.python.eager import execute
from tensorflow.python.eager.polymorphic_function import compiler_ir
from tensorflow.python.framework import convert_to_constants
from tensorflow.python.framework import graph_to_function_def
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_v2_func_graphs

# AutoGraph, as Keras applies it to the call of a layer: the public decorators
# convert only code that no `do_not_convert` is around.
autograph_status = tf.__internal__.autograph.control_status_ctx
convert_to_graph_code = tf.__internal__.autograph.tf_convert

# Where the classes of TFF's optimizers are, of which only the base is public,
# and which of the modules there call code of the user's.
TFF_OPTIMIZERS = 'tensorflow_federated.python.learning.optimizers'
TFF_OPTIMIZERS_WITH_CODE_OF_USERS = ('keras_optimizer', 'scheduling')

# What cancels calls of TensorFlow, which has no public way to that.
CancellationManager = cancellation.CancellationManager

# How the operations of functions called in its block are scheduled: no option
# of `tf.function` says that.
function_executor_type = eager_context.function_executor_type

# TensorFlow that is imported within absl's `app.run` makes its context before it
# turns eager execution on, so that every thread seems to be one of TensorFlow 1 to
# `tf.init_scope` and to Keras, whose Sequential then fails.
if not eager_context.context().context_switches.stack:
  eager_context.context()._context_switches = eager_context._ContextSwitchStack(
    eager=True
  )

# By which `tf.vectorized_map` does operations for many elements at once; a function
# of its package has its name.
_PFOR = importlib.import_module('tensorflow.python.ops.parallel_for.pfor')

# What a step of a tf.data pipeline was made with; see `step_setting`.
StepSetting = Literal[
  'batch_size',
  'count',
  'deterministic',
  'drop_remainder',
  'filename',
  'rerandomize',
  'reshuffle_each_iteration',
  'seed',
  'seed2',
]

# Graphs.


def find_operation(name: str) -> op_def_pb2.OpDef | None:
  """Returns TensorFlow's definition of an operation; None if it has none.

  What is public creates operations; here they are met in serialized graphs.

  Args:
    name: Such as 'AddV2'.
  """
  return op_def_registry.get(name)


def create_operation(
  name: str,
  inputs: Sequence[tf.Tensor],
  attributes: Mapping[str, tf.compat.v1.AttrValue],
  *,
  node_name: str,
) -> tf.Operation:
  """Creates an operation in the graph being built.

  `tf.raw_ops` take other forms of attributes than a node of a serialized graph,
  and the public `Graph.create_op` does not capture inputs of an outer graph.

  Args:
    name: The operation's.
    inputs: Its inputs.
    attributes: Its attributes.
    node_name: What to call it.
  """
  graph = tf.compat.v1.get_default_graph()
  return graph._create_op_internal(
    name, list(inputs), attrs=attributes, name=node_name
  )


def attribute_scope(
  attributes: Mapping[str, tf.compat.v1.AttrValue],
) -> contextlib.AbstractContextManager[None]:
  """Gives the operations that its block creates more attributes.

  Nothing public notes in a graph what TensorFlow does not know of.

  Args:
    attributes: Whose names begin with an underscore.
  """
  return tf.compat.v1.get_default_graph()._attr_scope(attributes)


def capture_at_call(
  make: Callable[[], tf.Tensor], spec: tf.TensorSpec, *, key: Hashable
) -> tf.Tensor:
  """Returns a tensor that each call of the function being traced makes anew.

  `tf.function` keeps what it captured when it was traced, variables aside.

  Args:
    make: Makes the tensor.
    spec: The tensor's.
    key: Of tensors that are the same.
  """
  graph = tf.compat.v1.get_default_graph()
  # That of the function; loops and branches in it capture its tensor.
  while isinstance(graph.outer_graph, tf.__internal__.FuncGraph):
    graph = graph.outer_graph
  return graph.capture_call_time_value(make, spec, key=key)


def is_branch(graph: tf.Graph) -> bool:
  """Whether a graph is a branch of one around it, and no loop's body."""
  return isinstance(graph, control_flow_v2_func_graphs.CondBranchFuncGraph)


def keras_layers(model: tf.keras.Model) -> list[tf.keras.layers.Layer]:
  """Returns a model and all layers in it, cells of recurrent networks included.

  `submodules` fails where a cell has made masks of dropout.
  """
  return list(model._flatten_layers())


@contextlib.contextmanager
def draw_keras_numbers(
  model: tf.keras.Model, make_seed: Callable[[Any], tf.Tensor]
) -> Iterator[None]:
  """Makes Keras layers draw stateless random numbers while a block runs.

  Layers have generators of a private class, which can draw in that way but for
  seeds that differ from call to call.

  Args:
    model: The model.
    make_seed: Returns the seed, int32 [2], of the next numbers of a layer.
  """
  saved = {}
  for layer in keras_layers(model):
    generator = getattr(layer, '_random_generator', None)
    if hasattr(generator, 'make_seed_for_stateless_op'):
      saved.setdefault(id(generator), (generator, dict(vars(generator))))
      vars(generator).update(
        _rng_type=generator.RNG_STATELESS,
        _built=True,
        make_seed_for_stateless_op=functools.partial(make_seed, layer),
      )
  try:
    yield
  finally:
    for generator, state in saved.values():
      vars(generator).clear()
      vars(generator).update(state)


def captures_at_call(function: Any) -> bool:
  """Whether a concrete function has tensors of `capture_at_call`."""
  return bool(function.graph.deferred_external_captures)


def freeze_variables(function: Any) -> Any:
  """Returns a concrete function with the values of variables for constants.

  The public way, TensorFlow Lite's, makes cycles of loops.

  Args:
    function: A concrete function.
  """
  return convert_to_constants.convert_variables_to_constants_v2(
    function, lower_control_flow=False
  )


def function_definition(
  name: str, inputs: Sequence[tf.Tensor], outputs: Mapping[str, tf.Tensor]
) -> function_pb2.FunctionDef:
  """Returns a graph as a function.

  `tf.function` names results itself.

  Args:
    name: The function's.
    inputs: The placeholders of the graph.
    outputs: The results, by name.
  """
  graph = inputs[0].graph
  definition = graph_to_function_def.graph_to_function_def(
    graph,
    graph.get_operations(),
    inputs,
    list(outputs.values()),
    out_names=list(outputs),
  )
  definition.signature.name = name
  return definition


def set_dynamic_size(tensor: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
  """Returns the first rows of a tensor, in a graph that XLA compiles.

  Shapes are known to XLA, but for an axis that has a bound; what is made of it
  is as if it had that size. `tf.slice` would make the size a constant.

  Args:
    tensor: Its rows bound the size.
    size: How many rows there are.
  """
  rows = gen_xla_ops.xla_set_dynamic_dimension_size(
    tensor, tf.constant(0), tf.reshape(tf.cast(size, tf.int32), [])
  )
  # TensorFlow would not even know the rank.
  rows.set_shape([None, *tensor.shape[1:]])
  return rows


def vectorize_operation(
  name: str, convert: Callable[[Any, Callable[[], Any] | None], Any]
) -> None:
  """Sets how `tf.vectorized_map` does an operation for many elements at once.

  Nothing public adds to what it knows.

  Args:
    name: The operation's.
    convert: From a node that is met, and how TensorFlow would do it (None if it
      would not), to the results' tensors with an axis for elements in front.
  """
  converters = _PFOR._pfor_converter_registry
  former = converters.get(name)

  def convert_node(node: Any) -> Any:
    result = convert(node, former and functools.partial(former, node))
    if isinstance(result, tf.Tensor):
      return _PFOR.wrap(result)
    if isinstance(result, list) and isinstance(result[0], tf.Tensor):
      return list(map(_PFOR.wrap, result))
    return result

  converters[name] = convert_node


def call_in_graph(
  graph: tf.Graph, name: str, arguments: Sequence[tf.Tensor]
) -> Sequence[tf.Tensor]:
  """Calls a function that a graph knows by name, where operations are made.

  Args:
    graph: The graph.
    name: The function's.
    arguments: Its arguments.
  """
  return graph._get_function(name)(*arguments)


def compile_to_hlo(function: Any) -> hlo_pb2.HloModuleProto:
  """Returns a concrete function as an HLO module, not optimised.

  The public way asks for values where shapes are enough, and makes constants of
  those that it may.

  Args:
    function: A concrete function, all of whose shapes are known.

  Raises:
    ValueError: If it has no such module.
    tf.errors.OpError: If XLA does not know an operation.
  """
  return hlo_pb2.HloModuleProto.FromString(
    compiler_ir.from_concrete_function(function)(
      stage='hlo_serialized', device_name='/device:CPU:0'
    )
  )


# Functions of TensorFlow's runtime. The public way is by the Python objects
# that they were traced from, with checks that take longer than a small model.


def add_function(definition: function_pb2.FunctionDef) -> None:
  """Makes a function known to TensorFlow's runtime."""
  eager_context.context().add_function_def(definition)


def remove_function(name: str) -> None:
  """Makes TensorFlow's runtime forget a function."""
  eager_context.context().remove_function(name)


def function_call_options() -> tuple[Any, ...]:
  """Returns the attributes by which `tf.function` calls functions now."""
  options = eager_context.context().function_call_options
  return tuple(itertools.chain(*options.as_attrs().items()))


def start_runtime() -> None:
  """Starts TensorFlow's runtime, in which tf.data runs functions as they are.

  tf.data has its functions optimised each time a graph makes a dataset, for longer
  than they then run; what is set when the runtime starts is for them alone. TFF's
  own runtime does not optimise them either.
  """
  before = tf.config.optimizer.get_experimental_options()
  tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})
  try:
    eager_context.context().ensure_initialized()
  finally:
    tf.config.optimizer.set_experimental_options(
      {'disable_meta_optimizer': before['disable_meta_optimizer']}
    )


@contextlib.contextmanager
def exact_functions() -> Iterator[tuple[Any, ...]]:
  """Lets functions be traced that TensorFlow's optimiser does not change.

  It makes zeros of a product with a constant of zeros, and leaves out what the
  other factor is computed of, with its errors. It does not in TFF's own runtime.
  Constants are folded all the same, by the executor. And it joins a convolution
  and a sum to one operation, whose kernel, oneDNN's, may not run beside itself
  (see `stateless_kernels`). `tf.function` has no option for that, only all of a
  program's functions have.

  Yields:
    The attributes to call such functions by.
  """
  context = eager_context.context()
  before = context.function_call_options
  config = tf.compat.v1.ConfigProto.FromString(before.config_proto_serialized)
  rewrites = config.graph_options.rewrite_options
  rewrites.constant_folding = type(rewrites).OFF
  rewrites.remapping = type(rewrites).OFF
  # A second pass finds little, and takes a third of the time of a first call.
  rewrites.meta_optimizer_iterations = type(rewrites).ONE
  context.function_call_options = eager_context.FunctionCallOptions(
    before.executor_type, config
  )
  try:
    # Now: `function_executor_type` changes them for a while.
    yield function_call_options()
  finally:
    context.function_call_options = before


def call_function(
  name: str,
  tensors: Sequence[tf.Tensor],
  *,
  num_results: int,
  attributes: tuple[Any, ...],
  cancellation_manager: CancellationManager | None,
) -> Sequence[tf.Tensor]:
  """Calls a function of TensorFlow's runtime.

  Args:
    name: Of the function.
    tensors: Its arguments.
    num_results: How many tensors it returns.
    attributes: Names and values in turns; see `function_call_options`.
    cancellation_manager: Whose cancellation ends the call early.

  Raises:
    tf.errors.OpError: What the function raised.
  """
  arguments = (name, num_results, tensors, attributes, eager_context.context())
  if cancellation_manager is None:
    return execute.execute(*arguments)
  return execute.execute_with_cancellation(*arguments, cancellation_manager)


def share_memory(array: np.ndarray) -> tf.Tensor:
  """Returns a tensor that shares an array's memory where TensorFlow can.

  `tf.constant` copies an array twice, in case it changes later.

  Args:
    array: Must not change as long as the tensor, or what shares its memory, is
      in use. Strings are objects of type bytes.
  """
  eager_context.context().ensure_initialized()
  dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
  return ops.EagerTensor(
    array,
    '/job:localhost/replica:0/task:0/device:CPU:0',
    dtype.as_datatype_enum,
  )


# Pipelines of tf.data, which has no public way to what they are made of, short
# of serializing them with a copy of all their data.


def step_kind(step: tf.data.Dataset) -> str:
  """Returns the class of a dataset's last step, such as '_BatchDataset'."""
  return type(step).__name__


def step_inputs(step: tf.data.Dataset) -> Sequence[tf.data.Dataset]:
  """Returns the datasets that a dataset's last step takes."""
  return step._inputs()


def step_functions(step: tf.data.Dataset) -> list[Any]:
  """Returns the concrete functions that a dataset's last step calls."""
  return [wrapper.function for wrapper in step._functions()]


def step_setting(step: tf.data.Dataset, name: StepSetting) -> Any:
  """Returns what a dataset's last step was made with.

  Args:
    step: Of a kind that has such a setting.
    name: Of the setting.

  Returns:
    A Python or NumPy value; None also where only running the dataset tells.
  """
  return tf.get_static_value(getattr(step, f'_{name}'))


def slices_of(step: tf.data.Dataset) -> Sequence[tf.Tensor]:
  """Returns the tensors of which a '_TensorSliceDataset' gives rows."""
  return step._tensors
