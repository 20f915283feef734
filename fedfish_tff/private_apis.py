# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Private APIs of TensorFlow and TFF that this package uses, with the reasons.

TensorFlow 2.14 and 2.21 have all of them in one form, unless an entry says what
differs. New versions may drop them without notice; the test of this module then
names the missing ones. No other module of it uses them, except
`import_setup`, which must not import TensorFlow.

The protocol buffers of `tensorflow.core` and `tensorflow_federated.proto` do
not count as private: they are the format of saved graphs and computations.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import functools
import importlib
import inspect
import itertools
import os
import types
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
from tensorflow.python.framework import auto_control_deps
from tensorflow.python.framework import convert_to_constants
from tensorflow.python.framework import graph_to_function_def
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_v2_func_graphs
from tensorflow.python.ops import gen_resource_variable_ops

# AutoGraph, in the way in which Keras applies it to a layer's call. The public
# decorators do not convert code inside a `do_not_convert`.
autograph_status = tf.__internal__.autograph.control_status_ctx
convert_to_graph_code = tf.__internal__.autograph.tf_convert

# The package of TFF's optimizers, of which only the base class is public, and
# its modules that call users' code.
TFF_OPTIMIZERS = 'tensorflow_federated.python.learning.optimizers'
TFF_OPTIMIZERS_WITH_CODE_OF_USERS = ('keras_optimizer', 'scheduling')

# Cancels calls of TensorFlow, which has no public way to do so.
CancellationManager = cancellation.CancellationManager

# Sets how operations of functions called in its block are scheduled;
# `tf.function` has no option for this.
function_executor_type = eager_context.function_executor_type

# If TensorFlow is imported within absl's `app.run`, it makes its context before
# it turns eager execution on. Then `tf.init_scope` and Keras take every thread
# for one of TensorFlow 1, and Keras' Sequential fails.
if not eager_context.context().context_switches.stack:
  eager_context.context()._context_switches = eager_context._ContextSwitchStack(
    eager=True
  )

# Vectorises operations for `tf.vectorized_map`. Imported by name, since a
# function of its package has the same name.
_PFOR = importlib.import_module('tensorflow.python.ops.parallel_for.pfor')

# The settings of steps of a tf.data pipeline; see `step_setting`.
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


def is_no_context(context: Any) -> bool:
  """Returns whether a context of TFF is the one of a thread without any."""
  # Only here TFF is needed, whose import takes seconds.
  module = importlib.import_module(
    'tensorflow_federated.python.core.impl.context_stack.runtime_error_context'
  )
  return isinstance(context, module.RuntimeErrorContext)


def find_operation(name: str) -> op_def_pb2.OpDef | None:
  """Returns TensorFlow's definition of an operation; None if it has none.

  Public APIs only create operations; here they come from serialized graphs.
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

  `tf.raw_ops` take attributes in another form than a node of a serialized graph
  has, and the public `Graph.create_op` does not capture inputs of an outer
  graph.
  """
  graph = tf.compat.v1.get_default_graph()
  return graph._create_op_internal(
    name, list(inputs), attrs=attributes, name=node_name
  )


def attribute_scope(
  attributes: Mapping[str, tf.compat.v1.AttrValue],
) -> contextlib.AbstractContextManager[None]:
  """Adds attributes to the operations that its block creates.

  Their names begin with an underscore. No public API adds attributes that
  TensorFlow does not know to a graph.
  """
  return tf.compat.v1.get_default_graph()._attr_scope(attributes)


def capture_at_call(
  make: Callable[[], tf.Tensor], spec: tf.TensorSpec, *, key: Hashable
) -> tf.Tensor:
  """Returns a tensor that each call of the function being traced makes anew.

  `tf.function` keeps the values captured during tracing, except variables.

  Args:
    make: The function that makes the tensor.
    spec: The shape and dtype of the tensor.
    key: The key of the tensor; tensors with equal keys are the same.
  """
  graph = tf.compat.v1.get_default_graph()
  # The function's own graph; its loops and branches capture that graph's
  # tensor.
  while isinstance(graph.outer_graph, tf.__internal__.FuncGraph):
    graph = graph.outer_graph
  return graph.capture_call_time_value(make, spec, key=key)


def parallel_loop(
  number: tf.Tensor, body: Callable[..., Any], state: Any, **options: Any
) -> Any:
  """Creates a loop with iterations that do not wait for each other's checks.

  In the body of a `tf.while_loop`, all results wait for the operations that
  must run, such as assertions. So does the counter, and then no iteration
  starts before the last one has ended, whatever `parallel_iterations` is.

  Args:
    number: The number of iterations, an int32 scalar.
    body: A function (i, *state) -> state, whose results wait for its checks.
    state: The initial state, a sequence.
    **options: Further arguments of `tf.while_loop`.

  Returns:
    The last state.
  """
  graph = tf.compat.v1.get_default_graph()
  body = auto_control_deps.automatic_control_dependencies(body)
  before = graph._add_control_dependencies
  graph._add_control_dependencies = False
  try:
    _, *last = tf.while_loop(
      lambda i, *_: i < number,
      lambda i, *state: (i + 1, *body(i, *state)),
      (tf.constant(0), *state),
      **options,
    )
  finally:
    graph._add_control_dependencies = before
  return last


def is_branch(graph: tf.Graph) -> bool:
  """Returns whether a graph is a conditional branch and not a loop's body."""
  return isinstance(graph, control_flow_v2_func_graphs.CondBranchFuncGraph)


def keras_3() -> types.ModuleType:
  """Returns Keras 3, which stands beside tf.keras on today's stack.

  It is imported here alone, since it takes seconds and few files need it.

  Raises:
    ImportError: If `keras` is Keras 2, or has another backend than TensorFlow.
  """
  backend = os.environ.get('KERAS_BACKEND', 'tensorflow')
  if backend == 'tensorflow':
    # A dependency of TensorFlow, which chooses its version.
    keras = importlib.import_module('keras')
    if keras.__version__.startswith('2.'):
      raise ImportError(
        'Keras 3 must be installed, which comes with TensorFlow 2.16 or newer, '
        f'got Keras {keras.__version__}'
      )
    # Without the variable, ~/.keras/keras.json names the backend.
    backend = keras.backend.backend()
  if backend != 'tensorflow':
    raise ImportError(
      f'KERAS_BACKEND must be tensorflow for a model of Keras 3, got {backend}'
    )
  return keras


def keras_3_inputs(model: Any) -> dict[str, Any]:
  """Returns the inputs of the layers that a model of Keras 3 calls once.

  The public `layer.input` belongs to the layer's first call, in whatever model.

  Args:
    model: A functional or sequential model.

  Returns:
    The symbolic inputs of layers that take one tensor, by the layers' names.
  """
  # A sequential model keeps its graph in a functional one.
  graph = getattr(model, '_functional', model)
  nodes = list(itertools.chain(*graph._nodes_by_depth.values()))
  calls = {
    layer.name: [node for node in nodes if node.operation is layer]
    for layer in model.layers
  }
  return {
    name: found[0].input_tensors[0]
    for name, found in calls.items()
    if len(found) == 1 and len(found[0].input_tensors) == 1
  }


def keras_layers(model: tf.keras.Model) -> list[tf.keras.layers.Layer]:
  """Returns a model and all its layers, cells of recurrent networks included.

  `submodules` fails if a cell has made dropout masks.
  """
  return list(model._flatten_layers())


@contextlib.contextmanager
def draw_keras_numbers(
  model: tf.keras.Model, make_seed: Callable[[Any], tf.Tensor]
) -> Iterator[None]:
  """Makes Keras layers draw stateless random numbers within a block.

  Layers have generators of a private class. It can draw statelessly, but not
  with seeds that differ between calls.

  Args:
    model: The model whose layers draw.
    make_seed: The function from a layer to the seed, int32 [2], of its next
      numbers.
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


@contextlib.contextmanager
def assignments_as_tensors() -> Iterator[dict[int, tf.Tensor]]:
  """Lets the graph being built assign to variables without an operation.

  Within the block, what an assignment would store is a tensor, which later reads
  of the variable return. Assignments in loops and branches stay as they are.

  Yields:
    The last tensors of the assigned variables, by the id of a variable's handle.
  """
  graph, found = tf.compat.v1.get_default_graph(), {}
  operations = gen_resource_variable_ops
  names = (
    'read_variable_op',
    'assign_variable_op',
    'assign_sub_variable_op',
    'assign_add_variable_op',
  )
  read, assign, subtract, add = (getattr(operations, name) for name in names)

  def value_of(handle: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    known = found.get(id(handle))
    return read(handle, dtype) if known is None else known

  def read_known(resource, dtype, name=None):
    known = found.get(id(resource))
    return read(resource, dtype, name) if known is None else known

  def replace(original, change):
    def replacement(resource, value, *args, **kwargs):
      if tf.compat.v1.get_default_graph() is not graph:
        return original(resource, value, *args, **kwargs)
      # As of a variable, no gradient passes through its value.
      changed = tf.stop_gradient(change(resource, tf.convert_to_tensor(value)))
      found[id(resource)] = changed
      return changed.op

    return replacement

  replacements = (
    read_known,
    replace(assign, lambda resource, value: value),
    replace(subtract, lambda of, value: value_of(of, value.dtype) - value),
    replace(add, lambda of, value: value_of(of, value.dtype) + value),
  )
  for name, replacement in zip(names, replacements, strict=True):
    setattr(operations, name, replacement)
  try:
    yield found
  finally:
    for name, original in zip(
      names, (read, assign, subtract, add), strict=True
    ):
      setattr(operations, name, original)


def compile_arguments(model: tf.keras.Model) -> dict[str, Any] | None:
  """Returns the arguments of a Keras model's `compile`; None without a call.

  `get_compile_config` has only what Keras can serialise.
  """
  config = getattr(model, '_compile_config', None)
  return None if config is None else dict(config.config)


def keras_loss(function: Callable[..., Any]) -> tf.keras.losses.Loss:
  """Returns the loss that Keras makes of a function of (labels, predictions).

  It squeezes labels or predictions of one column, and takes the mean.
  """
  (wrapper,) = tf.keras.losses.MeanSquaredError.__bases__
  return wrapper(function, name=getattr(function, '__name__', 'loss'))


def keras_parts(model: Any) -> tuple[tf.keras.Model, list[Any]] | None:
  """Returns (Keras model, losses) of a result of TFF's `from_keras_model`.

  None for other variable models.
  """
  keras_model = getattr(model, '_keras_model', None)
  losses = getattr(model, '_loss_fns', None)
  if keras_model is None or losses is None:
    return None
  return keras_model, list(losses)


def keras_mask(tensor: Any) -> tf.Tensor | None:
  """Returns the mask that Keras layers gave to their output, if any."""
  return getattr(tensor, '_keras_mask', None)


@contextlib.contextmanager
def new_keras_names() -> Iterator[None]:
  """Numbers names of Keras layers and metrics from the start within a block.

  Else they depend on how many were made before in the process.
  """
  backend = importlib.import_module(tf.keras.backend.get_uid.__module__)
  numbers = backend.get_default_graph_uid_map()
  before = dict(numbers)
  numbers.clear()
  try:
    yield
  finally:
    numbers.clear()
    numbers.update(before)


def captures_at_call(function: Any) -> bool:
  """Returns whether a concrete function has tensors of `capture_at_call`."""
  return bool(function.graph.deferred_external_captures)


def freeze_variables(function: Any) -> Any:
  """Returns a concrete function with its variables' values as constants.

  The public API, TensorFlow Lite's, lowers loops to cycles.
  """
  return convert_to_constants.convert_variables_to_constants_v2(
    function, lower_control_flow=False
  )


def function_definition(
  name: str,
  graph: tf.Graph,
  inputs: Sequence[tf.Tensor],
  outputs: Mapping[str, tf.Tensor],
) -> function_pb2.FunctionDef:
  """Returns a graph as a function of this name.

  `tf.function` chooses the names of results itself.

  Args:
    name: The name under which a library holds the function.
    graph: The graph with the tensors below.
    inputs: The graph's tensors that are the arguments.
    outputs: The graph's tensors that are the results, by name.
  """
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

  XLA knows all shapes, except that an axis may have a bound on its size.
  Results are computed as if the axis had its dynamic size. `tf.slice` would
  make the size a constant.

  Args:
    tensor: The tensor; its number of rows bounds the size.
    size: The number of rows to return.
  """
  rows = gen_xla_ops.xla_set_dynamic_dimension_size(
    tensor, tf.constant(0), tf.reshape(tf.cast(size, tf.int32), [])
  )
  # Without this, TensorFlow would not even know the rank.
  rows.set_shape([None, *tensor.shape[1:]])
  return rows


def vectorize_operation(
  name: str, convert: Callable[[Any, Callable[[], Any] | None], Any]
) -> None:
  """Sets how `tf.vectorized_map` computes an operation for many elements.

  No public API adds to its operations.

  Args:
    name: The operation's name, such as 'Conv2D'.
    convert: The function from a node and TensorFlow's own conversion (None if
      it has none) to the results' tensors, with a leading axis for elements.
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
  """Calls a function of a graph by name, in the graph being built."""
  function = graph._get_function(name)
  # In 2.14 a call takes flat tensors. In 2.21 it takes structures, and a method
  # the tensors.
  return getattr(function, 'call_flat', function)(*arguments)


def compile_to_hlo(
  function: Any, specs: Sequence[tf.TensorSpec] | None = None
) -> hlo_pb2.HloModuleProto:
  """Returns a concrete function as an unoptimised HLO module.

  The public API takes values, not only shapes, and may turn them into
  constants.

  Args:
    function: A concrete function.
    specs: The specs of all its inputs, captured ones too, with known shapes;
      None if its own are known.

  Raises:
    ValueError: If the function has no HLO module.
    tf.errors.OpError: If XLA does not know an operation.
  """
  context = eager_context.context()
  context.ensure_initialized()
  parameters = inspect.signature(context.get_compiler_ir).parameters
  return hlo_pb2.HloModuleProto.FromString(
    context.get_compiler_ir(
      device_name='/device:CPU:0',
      function_name=function.name,
      flat_args=tf.nest.flatten(function.structured_input_signature)
      if specs is None
      else list(specs),
      captured_inputs=function.captured_inputs if specs is None else [],
      stage='hlo_serialized',
      # 2.14 lacks it, and 2.21 warns of the public function, where a device is
      # given.
      **({'platform_name': None} if 'platform_name' in parameters else {}),
    )
  )


# Functions of TensorFlow's runtime. The public API calls them through the
# Python objects of the trace, with checks that take longer than a small model.


def add_function(definition: function_pb2.FunctionDef) -> None:
  """Adds a function to TensorFlow's runtime."""
  eager_context.context().add_function_def(definition)


def remove_function(name: str) -> None:
  """Removes a function from TensorFlow's runtime."""
  eager_context.context().remove_function(name)


def function_call_options() -> tuple[Any, ...]:
  """Returns the attributes with which `tf.function` calls functions now."""
  options = eager_context.context().function_call_options
  return tuple(itertools.chain(*options.as_attrs().items()))


def start_runtime() -> None:
  """Starts TensorFlow's runtime without optimisation of tf.data's functions.

  tf.data optimises its functions each time that a graph makes a dataset, which
  takes longer than running them. Options set when the runtime starts apply only
  to these functions. TFF's own runtime does not optimise them either.
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
  """Traces functions in its block without some of TensorFlow's optimisations.

  The optimiser replaces a product with a constant of zeros by zeros, and
  removes the computation of the other factor with its errors. TFF's own runtime
  does not. The executor still folds constants. The optimiser also joins a
  convolution and a sum to one operation of oneDNN, with a kernel that may not
  run beside itself (see `stateless_kernels`). `tf.function` has no option for
  this; there is one only for all functions of a program.

  Yields:
    The attributes to call such functions with.
  """
  context = eager_context.context()
  before = context.function_call_options
  config = tf.compat.v1.ConfigProto.FromString(before.config_proto_serialized)
  rewrites = config.graph_options.rewrite_options
  rewrites.constant_folding = type(rewrites).OFF
  rewrites.remapping = type(rewrites).OFF
  # A second pass finds little and takes a third of the time of a first call.
  rewrites.meta_optimizer_iterations = type(rewrites).ONE
  # These change nothing on CPUs, yet infer all shapes again.
  rewrites.layout_optimizer = type(rewrites).OFF
  rewrites.memory_optimization = type(rewrites).NO_MEM_OPT
  rewrites.disable_tfg_optimizer = True
  context.function_call_options = eager_context.FunctionCallOptions(
    before.executor_type, config
  )
  try:
    # Read now, since `function_executor_type` changes them temporarily.
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
    name: The name of the function in the runtime.
    tensors: The arguments, in order.
    num_results: The number of tensors that it returns.
    attributes: The alternating names and values of `function_call_options`.
    cancellation_manager: The manager that can end the call early; None for
      none.

  Raises:
    tf.errors.OpError: If the function raises it.
  """
  arguments = (name, num_results, tensors, attributes, eager_context.context())
  if cancellation_manager is None:
    return execute.execute(*arguments)
  return execute.execute_with_cancellation(*arguments, cancellation_manager)


def share_memory(array: np.ndarray) -> tf.Tensor:
  """Returns a tensor that shares an array's memory if TensorFlow can.

  `tf.constant` copies an array twice, in case it changes later.

  Args:
    array: The array. It must not change while the tensor, or anything that
      shares its memory, is in use. Strings are objects of type bytes.
  """
  eager_context.context().ensure_initialized()
  dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
  return ops.EagerTensor(
    array,
    '/job:localhost/replica:0/task:0/device:CPU:0',
    dtype.as_datatype_enum,
  )


# Pipelines of tf.data. Its only public API to their steps serializes them with
# a copy of all their data.


def step_kind(step: tf.data.Dataset) -> str:
  """Returns the class of a dataset's last step, such as '_BatchDataset'."""
  return type(step).__name__


def step_inputs(step: tf.data.Dataset) -> Sequence[tf.data.Dataset]:
  """Returns the input datasets of a dataset's last step."""
  return step._inputs()


def step_functions(step: tf.data.Dataset) -> list[Any]:
  """Returns the concrete functions that a dataset's last step calls."""
  return [wrapper.function for wrapper in step._functions()]


def step_setting(step: tf.data.Dataset, name: StepSetting) -> Any:
  """Returns a setting of a dataset's last step.

  Returns:
    A Python or NumPy value; None also if only running the dataset determines
    it.
  """
  return tf.get_static_value(getattr(step, f'_{name}'))


def slices_of(step: tf.data.Dataset) -> Sequence[tf.Tensor]:
  """Returns the tensors of a '_TensorSliceDataset', which yields their rows."""
  return step._tensors
