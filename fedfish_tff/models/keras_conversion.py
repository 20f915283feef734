# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Keras models, subclassed ones too, as functions of their weights.

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
from fedfish_tff.models import extended_model
from fedfish_tff.models import traced_graph

import numpy as np
import tensorflow as tf

# Maps (x, training) to the output.
KerasCall = Callable[[Any, bool], tf.Tensor]

# The operations of recurrent networks. Their layers have their own dropout.
_SEEDED_BUT_NOT_RANDOM = 'CudnnRNN'
# Operations that may follow another one without a change of its values.
_SAME_VALUES = ('Cast', 'Identity', 'Reshape', 'Squeeze', 'StopGradient')


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvertedModel:
  """A Keras model as a function of its weights.

  Attributes:
    initial_weights: The trainable weights, in the model's order, and those that
      training changes otherwise, such as the statistics of batch
      normalisation. Others are constants of the pass.
    run_pass: The pass of an `ExtendedModel`.
    adds_loss: Whether the pass adds losses.
    output: The spec of the output of a batch.
    last_operation: The last operation that changes the output's values.
    tensor_names: The names of the trainable weights.
    normalization_tensors: Whether batch normalisation has each of them.
  """

  initial_weights: tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]
  run_pass: extended_model.PassFn
  adds_loss: bool
  output: tf.TensorSpec
  last_operation: str
  tensor_names: tuple[str, ...]
  normalization_tensors: tuple[bool, ...]

  def with_loss(
    self, loss_fn: Callable[..., tf.Tensor], metrics_fns: Any, input_spec: Any
  ) -> extended_model.ExtendedModel:
    """Returns the functional model with a loss and metrics.

    Args:
      loss_fn: The loss of predictions, as in
        `tff.learning.models.FunctionalModel`.
      metrics_fns: The functions that begin, update and finalise the metrics.
      input_spec: The specs (x, y) of a batch.
    """
    return extended_model.ExtendedModel(
      initial_weights=self.initial_weights,
      run_pass=self.run_pass,
      loss_fn=loss_fn,
      metrics_fns=metrics_fns,
      input_spec=input_spec,
      adds_loss=self.adds_loss,
      has_statistics=bool(self.initial_weights[1]),
      tensor_names=self.tensor_names,
      normalization_tensors=self.normalization_tensors,
    )


def check_keras_model(keras_model: Any) -> None:
  """Raises InputError for any object but a model of tf.keras."""
  if not isinstance(keras_model, tf.keras.Model):
    kind = type(keras_model)
    raise errors.InputError(
      'keras_model must be a model of tf.keras, which is Keras 2, itself, since '
      'its weights are where training starts, got a '
      f'{kind.__module__}.{kind.__qualname__}.'
    )


def convert(
  keras_model: tf.keras.Model,
  x_spec: Any,
  *,
  call: KerasCall | None = None,
  freeze_statistics: bool = False,
) -> ConvertedModel:
  """Converts a Keras model that has one output.

  The random numbers of layers (dropout, noise, augmentation) are a function of
  the batch and the last trainable weight, which every step changes. So they
  differ from step to step, and a run is repeatable. Recurrent dropout has one
  mask for all steps of a sequence (Gal and Ghahramani, arXiv:1512.05287), the
  same as Keras in eager mode; in a graph, Keras draws a mask per step.

  Args:
    keras_model: A model that has its weights; it may change afterwards and is
      no longer needed.
    x_spec: The spec, or nest of specs, of a batch's x.
    call: The function from (x, training) to the output, by the variables of
      `keras_model`; by default `keras_model(x, training=training)`.
    freeze_statistics: Whether batch normalisation keeps its moving means and
      variances, and normalises by them in training, too.
  """
  if call is None:

    def call(x: Any, training: bool) -> tf.Tensor:
      return keras_model(x, training=training)

  trained = _trace_pass(keras_model, call, x_spec, True, freeze_statistics)
  evaluated = _trace_pass(keras_model, call, x_spec, False, freeze_statistics)
  trainable = keras_model.trainable_variables
  _check_weights(keras_model, trainable, trained, evaluated)
  statistics = trained.changed
  positions = {identify(v): i for i, v in enumerate([*trainable, *statistics])}
  values: dict[int, np.ndarray] = {}
  passes = {
    True: _place(trained, positions, values),
    False: _place(evaluated, positions, values),
  }
  num_trainable = len(trainable)

  def run_pass(
    model_weights: Any, x: Any, training: bool
  ) -> extended_model.Pass:
    # The reshape keeps the shape of embeddings' gradients.
    weights = [
      tf.reshape(weight, weight.shape)
      for weight in (*model_weights[0], *model_weights[1])
    ]
    placed = passes[bool(training)]
    given = {name: weights[place] for name, place in placed.weights.items()}
    given |= {
      name: tensor
      for name, tensor in zip(placed.inputs, tf.nest.flatten(x), strict=True)
      if name is not None
    }
    if placed.seed:
      given[placed.seed] = augmentation.batch_seed(
        x, weights[num_trainable - 1]
      )
    # Lifted out of this function, since its gradient would hold a second copy.
    with tf.init_scope():
      constants = {n: tf.constant(v) for n, v in placed.constants.items()}
    given |= {name: tf.identity(value) for name, value in constants.items()}
    output, *found = tf.graph_util.import_graph_def(
      placed.graph_def,
      input_map=given,
      return_elements=placed.outputs,
      name='',
    )
    added_loss = found.pop(0) if placed.adds_loss else None
    return extended_model.Pass(
      output, added_loss, tuple(found) or tuple(weights[num_trainable:])
    )

  normalization = _normalization_weights(keras_model)
  return ConvertedModel(
    initial_weights=(
      tuple(variable.numpy() for variable in trainable),
      tuple(variable.numpy() for variable in statistics),
    ),
    run_pass=run_pass,
    adds_loss=trained.adds_loss or evaluated.adds_loss,
    output=evaluated.output,
    last_operation=_find_last_step(evaluated.graph_def, evaluated.outputs[0]),
    tensor_names=keras_tensor_names(keras_model),
    normalization_tensors=tuple(
      identify(variable) in normalization for variable in trainable
    ),
  )


def identify(variable: tf.Variable) -> int:
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

  With them `build_fed_per` keeps scales and offsets at the clients, as FedBN
  does. The model must have trainable batch normalisation.
  """
  own = _normalization_weights(keras_model)
  if not own:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have a layer of batch normalisation '
      'with trainable weights, got none.'
    )
  return tuple(
    identify(variable) in own for variable in keras_model.trainable_variables
  )


def _normalization_weights(keras_model: tf.keras.Model) -> set[int]:
  """Returns the ids of the trainable weights of batch normalisation."""
  return {
    identify(variable)
    for layer in private_apis.keras_layers(keras_model)
    if isinstance(layer, tf.keras.layers.BatchNormalization)
    for variable in layer.trainable_variables
  }


@dataclasses.dataclass(frozen=True, kw_only=True)
class _TracedPass:
  """A model's computation in training or in evaluation, with its variables.

  Attributes:
    graph_def: The graph without the values of weights.
    inputs: The names of the tensors of x, in the order of `tf.nest`; None for
      those that are not used.
    outputs: The names of the output, of the sum of added losses, if any, and of
      the values of `changed`.
    output: The spec of the output.
    adds_loss: Whether there are added losses.
    variables: The variables, by the names of their tensors.
    changed: The variables that the pass changes.
    seed: The name of the tensor, int32 [2], that decides the random numbers;
      empty if there are none.
  """

  graph_def: tf.compat.v1.GraphDef
  inputs: tuple[str | None, ...]
  outputs: tuple[str, ...]
  output: tf.TensorSpec
  adds_loss: bool
  variables: Mapping[str, tf.Variable]
  changed: tuple[tf.Variable, ...]
  seed: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Pass:
  """A `_TracedPass` that holds no variables, which can then be freed.

  The attributes not named here are those of `_TracedPass`.

  Attributes:
    weights: The positions among the model's weights, by the names of tensors.
    constants: The values of the other variables, by the names of tensors.
  """

  graph_def: tf.compat.v1.GraphDef
  inputs: tuple[str | None, ...]
  outputs: tuple[str, ...]
  adds_loss: bool
  seed: str
  weights: Mapping[str, int]
  constants: Mapping[str, np.ndarray]


def _place(
  traced: _TracedPass,
  positions: Mapping[int, int],
  values: dict[int, np.ndarray],
) -> _Pass:
  """Replaces the variables of a pass by their positions or their values.

  Args:
    traced: The pass, with its variables.
    positions: The positions of the model's weights, by the variables' ids.
    values: The values of other variables that are read so far, by their ids,
      which passes share.
  """
  weights = {
    name: positions[identify(variable)]
    for name, variable in traced.variables.items()
    if identify(variable) in positions
  }
  constants = {}
  for name, variable in traced.variables.items():
    if name not in weights:
      key = identify(variable)
      if key not in values:
        values[key] = variable.numpy()
      constants[name] = values[key]
  return _Pass(
    graph_def=traced.graph_def,
    inputs=traced.inputs,
    outputs=traced.outputs,
    adds_loss=traced.adds_loss,
    seed=traced.seed,
    weights=weights,
    constants=constants,
  )


def _check_weights(
  keras_model: tf.keras.Model,
  trainable: Sequence[tf.Variable],
  trained: _TracedPass,
  evaluated: _TracedPass,
) -> None:
  """Raises InputError for weights that cannot be trained as Keras does."""
  whose = f'of model {keras_model.name!r}'
  read = {
    identify(variable)
    for traced in (trained, evaluated)
    for variable in traced.variables.values()
  }
  for variable in trainable:
    is_read = identify(variable) in read
    if variable.dtype != tf.float32 or not is_read:
      raise errors.InputError(
        f'The trainable weights {whose} must be float32 and be read, got '
        f'{variable.name!r} of {variable.dtype.name} that is '
        f'{"" if is_read else "not "}read.'
      )
    if variable.constraint is not None:
      raise errors.InputError(
        f'Weight {variable.name!r} {whose} must have no constraint, since '
        "TFF's optimizers do not apply it."
      )
  for variable in trained.changed:
    if variable.trainable or variable.dtype != tf.float32:
      kind = 'trainable' if variable.trainable else variable.dtype.name
      raise errors.InputError(
        f'A weight {whose} that its layers change in training must be float32 '
        f'and not trainable, got {variable.name!r}, which is {kind}.'
      )


def _trace_pass(
  keras_model: tf.keras.Model,
  call: KerasCall,
  x_spec: Any,
  training: bool,
  freeze_statistics: bool,
) -> _TracedPass:
  known = {identify(v): v for v in keras_model.variables}
  looping, changed, has_losses, num_outputs = [], {}, False, 0
  refused = []
  # A variable, so that the trace reads the seed only if the model draws.
  seed = tf.Variable([0, 0], dtype=tf.int32, trainable=False)

  def compute(x: Any) -> list[tf.Tensor]:
    nonlocal has_losses, num_outputs
    make_seed = _SeedMaker(seed.read_value())
    with contextlib.ExitStack() as stack:
      stack.enter_context(
        private_apis.draw_keras_numbers(keras_model, make_seed)
      )
      if freeze_statistics:
        stack.enter_context(_frozen_statistics(keras_model))
      if training:
        assigned = stack.enter_context(private_apis.assignments_as_tensors())
      outputs = tf.nest.flatten(call(x, training))
      losses = [tf.cast(loss, tf.float32) for loss in keras_model.losses]
    if any(private_apis.keras_mask(output) is not None for output in outputs):
      refused.append(
        'must have an output without a mask, since losses and metrics here count '
        'all of it, got one with the mask of a layer such as '
        'Embedding(mask_zero=True)'
      )
    refused.extend(
      'must add losses that are one number per batch, such as the mean of the '
      f"examples' losses, got one of shape {loss.shape}"
      for loss in losses
      if loss.shape.rank != 0
    )
    if refused:
      losses = []
    if training:
      changed.update(assigned)
    looping.extend(make_seed.looping)
    has_losses, num_outputs = bool(losses), len(outputs)
    return [
      *outputs,
      *([tf.add_n(losses)] if losses else []),
      *changed.values(),
    ]

  traced = traced_graph.trace_graph(compute, x_spec)
  if looping:
    raise errors.InputError(
      f'Layer {looping[0]!r} of model {keras_model.name!r} draws random numbers in '
      'a loop or a function, where each of its calls would draw the same; it must '
      'be called outside.'
    )
  if refused:
    raise errors.InputError(f'Model {keras_model.name!r} {refused[0]}.')
  if num_outputs != 1:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have one output, such as several joined '
      f'by Concatenate, got {num_outputs}.'
    )
  (output, *_) = traced.outputs
  if output.dtype != tf.float32:
    raise errors.InputError(
      f'Model {keras_model.name!r} must have an output of float32, by '
      f"dtype='float32' for the last layer, got {output.dtype.name}."
    )
  for handle in changed:
    if handle not in known:
      raise errors.InputError(
        f'Model {keras_model.name!r} must change no variables but its own.'
      )
  outputs = tuple(tensor.name for tensor in traced.outputs)
  # Leaves out assertions, since other operations report the same failures.
  graph_def = traced_graph.take_part(traced.graph_def, *outputs)
  variables = {}
  for node in graph_def.node:
    if node.name in traced.variables:
      variables[f'{node.name}:0'] = traced.variables[node.name]
      _make_placeholder(node, traced.variables[node.name].dtype)
  seeds = [name for name, variable in variables.items() if variable is seed]
  for name in seeds:
    del variables[name]
  for node in graph_functions.nodes(graph_def):
    if _is_random(node.op):
      raise errors.InputError(
        f'Model {keras_model.name!r} draws random numbers by {node.op} (node '
        f'{node.name!r}), with which no run can be repeated; what is random must '
        "be a Keras layer of the model, outside of loops that are not Keras' own."
      )
  names = {node.name for node in graph_def.node}
  return _TracedPass(
    graph_def=graph_def,
    inputs=tuple(
      name if name.partition(':')[0] in names else None
      for name in traced.inputs
    ),
    outputs=outputs,
    output=output,
    adds_loss=has_losses,
    variables=variables,
    changed=tuple(known[handle] for handle in changed),
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
