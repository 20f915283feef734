# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Any Keras classifier, subclassed models too, as a functional model.

TFF's `functional_model_from_keras` clones models, which subclassed ones (such
as those of the `transformers` library) do not allow. Here the model is traced
once in training mode and once in evaluation mode, and its variables become
arguments of these graphs.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
from typing import Any

from fedfish_tff import errors
from fedfish_tff import graph_functions
from fedfish_tff import private_apis
from fedfish_tff.models import augmentation
from fedfish_tff.models import autograph
from fedfish_tff.models import supervised
from fedfish_tff.models import traced_graph

import tensorflow as tf
import tensorflow_federated as tff

# Maps (x, training) to logits [batch, classes].
KerasCall = Callable[[tf.Tensor, bool], tf.Tensor]

# The operations of recurrent networks. Their layers have their own dropout.
_SEEDED_BUT_NOT_RANDOM = 'CudnnRNN'
# Activations that turn logits into probabilities, and operations that may
# follow them.
_PROBABILITIES = ('Sigmoid', 'Softmax')
_SAME_VALUES = ('Cast', 'Identity', 'Reshape', 'Squeeze', 'StopGradient')


def create_keras_classifier(
  keras_model: tf.keras.Model,
  *,
  input_spec: tf.TensorSpec,
  call: KerasCall | None = None,
  class_names: Sequence[str] = (),
  freeze_statistics: bool = False,
) -> tff.learning.models.FunctionalModel:
  """Creates a functional model that computes the same as a Keras model.

  Its loss is only the mean cross-entropy of the logits, so a model that adds
  losses is refused. `tff.learning.models.from_keras_model` takes regularisers,
  and all methods take its models.

  The random numbers of Keras' layers (dropout, noise, augmentation) are a
  function of the batch and the last trainable weight, which every step changes.
  So they differ from step to step, and a run is repeatable. Recurrent dropout
  has one mask for all steps of a sequence (Gal and Ghahramani,
  arXiv:1512.05287), the same as Keras in eager mode; in a graph, Keras draws a
  mask per step.

  Args:
    keras_model: A model that has its weights; it may change afterwards and is
      no longer needed.
    input_spec: The spec of a batch's x, [None, ...]; labels are int32 [batch].
    call: The function from (x, training) to logits [batch, classes], by the
      variables of `keras_model`; by default
      `keras_model(x, training=training)`.
    class_names: The names of all classes, for metrics of each class; none by
      default.
    freeze_statistics: Whether batch normalisation keeps its means and
      variances, such as pretrained ones, in training, too; its scales and
      offsets are trained. Otherwise a model with batch normalisation is
      refused, since statistics differ between clients.

  Returns:
    A model, see `supervised.create_classifier`, with the initial weights of
    `keras_model`: its trainable ones in its order, then the non-trainable ones
    that it reads.

  Raises:
    errors.InputError: If an argument is of another kind; if logits are not
      float32 of rank 2 or are probabilities; if the model is compiled or adds
      losses; if a trainable weight has a constraint, is not float32 or not
      read; if training changes weights other than by gradients, like batch
      normalisation; or if a random number is drawn by anything but a layer of
      the model, or by a layer in a loop.
  """
  if not isinstance(keras_model, tf.keras.Model):
    kind = type(keras_model)
    raise errors.InputError(
      'keras_model must be a model of tf.keras, which is Keras 2, itself, since '
      'its weights are where training starts, got a '
      f'{kind.__module__}.{kind.__qualname__}.'
    )
  if not isinstance(input_spec, tf.TensorSpec) or input_spec.shape[:1] != [
    None
  ]:
    raise errors.InputError(
      'input_spec must be that of a batch of x, such as tf.TensorSpec([None, '
      f'28, 28], tf.float32), got {input_spec}.'
    )
  if keras_model.optimizer is not None:
    raise errors.InputError(
      f'Model {keras_model.name!r} must not be compiled, since its loss and '
      'optimizer would not be used (load_model has compile=False).'
    )
  if call is None:

    def call(x: tf.Tensor, training: bool) -> tf.Tensor:
      return keras_model(x, training=training)

  passes = {
    training: _trace_pass(
      keras_model, call, input_spec, training, freeze_statistics
    )
    for training in (True, False)
  }
  read = {
    _identify(variable): variable
    for traced in passes.values()
    for variable in traced.weights.values()
  }
  trainable = keras_model.trainable_variables
  for variable in trainable:
    is_read = _identify(variable) in read
    if variable.dtype != tf.float32 or not is_read:
      raise errors.InputError(
        f'The trainable weights of model {keras_model.name!r} must be float32 '
        f'and be read, got {variable.name!r} of {variable.dtype.name} that is '
        f'{"" if is_read else "not "}read.'
      )
    if variable.constraint is not None:
      raise errors.InputError(
        f'Weight {variable.name!r} of model {keras_model.name!r} must have no '
        "constraint, since TFF's optimizers do not apply it."
      )
  known = set(map(_identify, trainable))
  # `call` may also read variables outside the model.
  others = {key: v for key, v in read.items() if key not in known}
  positions = {
    _identify(v): i for i, v in enumerate([*trainable, *others.values()])
  }
  # Keeps positions instead of the variables, which can then be freed.
  passes = {
    training: dataclasses.replace(
      traced,
      weights={k: positions[_identify(v)] for k, v in traced.weights.items()},
    )
    for training, traced in passes.items()
  }
  num_trainable = len(trainable)

  @autograph.graph_function
  def predict_on_batch(
    model_weights: Any, x: tf.Tensor, training: bool
  ) -> tf.Tensor:
    # The reshape keeps the shape of embeddings' gradients.
    weights = [
      tf.reshape(weight, weight.shape)
      for weight in (*model_weights[0], *model_weights[1])
    ]
    traced = passes[bool(training)]
    given = {name: weights[place] for name, place in traced.weights.items()}
    given[traced.inputs] = x
    if traced.seed:
      given[traced.seed] = augmentation.batch_seed(
        x, weights[num_trainable - 1]
      )
    (logits,) = tf.graph_util.import_graph_def(
      traced.graph_def,
      input_map=given,
      return_elements=[traced.output],
      name='',
    )
    return logits

  # Gives the loss and the metrics, which do not depend on the weights.
  standard = supervised.create_classifier(
    lambda weights, x, training: predict_on_batch((weights, ()), x, training),
    [],
    input_shape=input_spec.shape[1:],
    input_dtype=input_spec.dtype,
    class_names=class_names,
  )
  return supervised.replace_pass(
    standard,
    predict_on_batch,
    (
      tuple(variable.numpy() for variable in trainable),
      tuple(variable.numpy() for variable in others.values()),
    ),
  )


def _identify(variable: tf.Variable) -> int:
  """Returns an id that a variable shares with its mixed-precision wrapper."""
  return id(variable.handle)


def keras_tensor_names(keras_model: tf.keras.Model) -> tuple[str, ...]:
  """Returns a name for each trainable weight, in the model's order.

  The names are those of the variables, such as 'encoder/layer_0/query/kernel',
  made unique. The model's own name is left out, since it depends on earlier
  models of the process.
  """
  names: list[str] = []
  for variable in keras_model.trainable_variables:
    name = variable.name.partition(':')[0]
    name = name.removeprefix(f'{keras_model.name}/')
    # The `transformers` library writes members of a list like this.
    name = name.replace('_._', '_')
    unique, number = name, 1
    while unique in names:
      unique, number = f'{name}_{number}', number + 1
    names.append(unique)
  return tuple(names)


def batch_normalization_tensors(
  keras_model: tf.keras.Model,
) -> tuple[bool, ...]:
  """Returns, for each trainable weight, whether batch normalisation has it.

  With them FedBN keeps scales and offsets at the clients: see `build_fed_per`.

  Raises:
    errors.InputError: If the model has no trainable batch normalisation.
  """
  own = {
    _identify(variable)
    for layer in private_apis.keras_layers(keras_model)
    if isinstance(layer, tf.keras.layers.BatchNormalization)
    for variable in layer.trainable_variables
  }
  if not own:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have a layer of batch normalisation '
      'with trainable weights, got none.'
    )
  return tuple(
    _identify(variable) in own for variable in keras_model.trainable_variables
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Pass:
  """A model's computation in training or in evaluation.

  Attributes:
    graph_def: The graph without the values of weights.
    inputs: The name of the tensor of x.
    output: The name of the logits.
    weights: The variables, or their positions among the model's, by the names
      of their tensors.
    seed: The name of the tensor, int32 [2], that decides the random numbers;
      empty if there are none.
  """

  graph_def: tf.compat.v1.GraphDef
  inputs: str
  output: str
  weights: Mapping[str, tf.Variable | int]
  seed: str


def _trace_pass(
  keras_model: tf.keras.Model,
  call: KerasCall,
  input_spec: tf.TensorSpec,
  training: bool,
  freeze_statistics: bool,
) -> _Pass:
  losses, looping = [], []
  # A variable, so that the trace reads the seed only if the model draws.
  seed = tf.Variable([0, 0], dtype=tf.int32, trainable=False)

  def compute(x: tf.Tensor) -> tf.Tensor:
    make_seed = _SeedMaker(seed.read_value())
    with contextlib.ExitStack() as stack:
      stack.enter_context(
        private_apis.draw_keras_numbers(keras_model, make_seed)
      )
      if freeze_statistics:
        stack.enter_context(_frozen_statistics(keras_model))
      logits = call(x, training)
    losses.extend(keras_model.losses)
    looping.extend(make_seed.looping)
    return logits

  traced = traced_graph.trace_graph(compute, input_spec)
  if looping:
    raise errors.InputError(
      f'Layer {looping[0]!r} of model {keras_model.name!r} draws random numbers in '
      'a loop or a function, where each of its calls would draw the same; it must '
      'be called outside.'
    )
  if losses:
    raise errors.InputError(
      f'Model {keras_model.name!r} must not add losses (a regulariser or '
      'add_loss), since the loss of a functional model is of its logits alone; '
      'tff.learning.models.from_keras_model adds them.'
    )
  (output, *more) = traced.outputs
  if more or output.shape.rank != 2:
    shapes = ', '.join(str(spec.shape) for spec in traced.outputs)
    raise errors.InputError(
      f'Model {keras_model.name!r} must have one output, logits [batch, '
      f'classes], got outputs of shape {shapes}.'
    )
  if output.dtype != tf.float32:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have logits of float32, by '
      f"dtype='float32' for the last layer, got {output.dtype.name}."
    )
  # Leaves out assertions, since other operations report the same failures.
  graph_def = traced_graph.take_part(traced.graph_def, output.name)
  last = _find_last_step(graph_def, output.name)
  if last in _PROBABILITIES:
    raise errors.InputError(
      f'Model {keras_model.name!r} must end without an activation, since the '
      f'loss is of logits, got {last}.'
    )
  weights = {}
  for node in graph_def.node:
    if node.name in traced.variables:
      weights[f'{node.name}:0'] = traced.variables[node.name]
      _make_placeholder(node, traced.variables[node.name].dtype)
  seeds = [name for name, variable in weights.items() if variable is seed]
  for name in seeds:
    del weights[name]
  for node in graph_functions.nodes(graph_def):
    if _is_random(node.op):
      raise errors.InputError(
        f'Model {keras_model.name!r} draws random numbers by {node.op} (node '
        f'{node.name!r}), with which no run can be repeated; what is random must '
        "be a Keras layer of the model, outside of loops that are not Keras' own."
      )
  return _Pass(
    graph_def=graph_def,
    inputs=traced.inputs,
    output=output.name,
    weights=weights,
    seed=seeds[0] if seeds else '',
  )


class _SeedMaker:
  """Makes a seed for each draw of a layer."""

  def __init__(self, seed: tf.Tensor) -> None:
    self._seed = seed
    self._graph = tf.compat.v1.get_default_graph()
    self._count = 0
    # Reported after the trace, since layers wrap the errors raised in them.
    self.looping: list[str] = []

  def __call__(self, layer: tf.keras.layers.Layer) -> tf.Tensor:
    graph = tf.compat.v1.get_default_graph()
    while private_apis.is_branch(graph):
      graph = graph.outer_graph
    # A cell of a recurrent network has one mask for all steps.
    if graph is not self._graph and not hasattr(
      layer, 'get_recurrent_dropout_mask_for_cell'
    ):
      self.looping.append(layer.name)
    self._count += 1
    return self._seed + tf.constant([self._count - 1, 0])


@contextlib.contextmanager
def _frozen_statistics(keras_model: tf.keras.Model) -> Iterator[None]:
  """Runs batch normalisation in evaluation mode within a block.

  In Keras, a batch normalisation layer that is not trainable does so.
  """
  layers = [
    layer
    for layer in private_apis.keras_layers(keras_model)
    if isinstance(layer, tf.keras.layers.BatchNormalization) and layer.trainable
  ]
  for layer in layers:
    layer.trainable = False
  try:
    yield
  finally:
    for layer in layers:
      layer.trainable = True


def _find_last_step(graph_def: tf.compat.v1.GraphDef, output: str) -> str:
  """Returns the last operation that changes the values of an output."""
  nodes = {node.name: node for node in graph_def.node}
  node = nodes[output.partition(':')[0]]
  while node.op in _SAME_VALUES:
    node = nodes[node.input[0].partition(':')[0]]
  return node.op


def _make_placeholder(node: Any, dtype: tf.DType) -> None:
  """Turns a node into a placeholder, to drop its value, which may be large."""
  node.op = 'Placeholder'
  node.ClearField('input')
  node.attr.clear()
  node.attr['dtype'].type = dtype.as_datatype_enum


def _is_random(op: str) -> bool:
  """Returns whether an operation's random numbers differ between calls."""
  definition = private_apis.find_operation(op)
  if definition is None or op.startswith(_SEEDED_BUT_NOT_RANDOM):
    return False
  seeds = [a for a in definition.attr if a.name in ('seed', 'seed2')]
  return definition.is_stateful and bool(seeds)
