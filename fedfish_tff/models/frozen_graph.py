# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Feature extractors from Keras models, SavedModels and files of either.

A network is traced once, in evaluation mode, to a graph without variables. Its
trainable weights become inputs of that graph, so that fine-tuning can change
them. Other values, such as the statistics of batch normalisation, stay
constants.
"""

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import hashlib
import math
import os
import pathlib
import types
from typing import Any

from fedfish_tff import errors
from fedfish_tff import private_apis
from fedfish_tff import regular_files
from fedfish_tff import trust
from fedfish_tff.datasets import npz_files
from fedfish_tff.models import autograph
from fedfish_tff.models import feature_map
from fedfish_tff.models import stored_tensors
from fedfish_tff.models import traced_graph

import numpy as np
import tensorflow as tf

# The name of the input of the second part of a divided network.
_PART_INPUT = 'part_input'
_KERAS_SUFFIXES = ('.h5', '.hdf5', '.keras')
_METADATA = 'metadata.json'
# The beginning of the version in files of Keras 3.
_KERAS_3 = '3.'

Preprocess = Callable[[tf.Tensor], tf.Tensor]


def freeze_keras_model(
  model: Any,
  *,
  preprocess: Preprocess | None = None,
  input_spec: tf.TensorSpec | None = None,
) -> feature_map.FeatureMap:
  """Makes an extractor from a Keras model, which may change afterwards.

  Args:
    model: A built model of Keras 2 or 3 with one input, whose output is the
      features. From an output [n, height, width, channels], the features are
      the means over the image.
    preprocess: The function that is applied to inputs first, in the graph, for
      instance to scale and resize images.
    input_spec: The spec of a batch before `preprocess`, [None, ...]; by default
      that of the model's input.

  Returns:
    An extractor with layers in evaluation mode. It can be split before
    any layer if the later layers use nothing else of the earlier ones than that
    layer's inputs. Its fingerprint depends on the names of layers, too. So
    stored features are found in other processes only if the layers were given
    names or the model is from a file.
  """
  library = _library_of(model)
  # A model of Keras 3 that is not built has no such attribute.
  model_inputs = getattr(model, 'inputs', None) or ()
  if len(model_inputs) != 1:
    raise errors.InputError(
      f'Model {model.name!r} must be built and have one input, got '
      f'{len(model_inputs)}.'
    )
  if input_spec is None:
    (source,) = model_inputs
    input_spec = tf.TensorSpec([None, *source.shape[1:]], source.dtype)
  find_splits = (
    _find_splits if library is tf.keras else private_apis.keras_3_inputs
  )
  splits = find_splits(model)
  if splits:
    # The graph has the name, and Keras would number a default one.
    called = library.Model(
      model.inputs, [*model.outputs, *splits.values()], name=model.name
    )
  else:
    called = model
  return _freeze(
    lambda inputs: called(inputs, training=False),
    name=model.name,
    preprocess=preprocess,
    input_spec=input_spec,
    layers=tuple(splits),
  )


def load_extractor(
  path: str | os.PathLike[str],
  *,
  trusted: bool = False,
  preprocess: Preprocess | None = None,
  input_spec: tf.TensorSpec | None = None,
) -> feature_map.FeatureMap:
  """Makes an extractor from a file.

  A model is a program: layers of Keras may hold Python code (Lambda), and some
  of TensorFlow's operations read and write files (ReadFile, WriteFile). So
  models are loaded only if they are trusted. Keras' own safe mode refuses the
  Python code of Lambda layers, but not in HDF5 of Keras 2, whose safe mode also
  imports any module that a model names.

  Args:
    path: A model of Keras 2 or 3 (.h5, .hdf5 or .keras), or the folder of a
      SavedModel with one input and one output in its signature serving_default.
    trusted: Whether the model may run its code.
    preprocess: The function that is applied to inputs first, in the graph.
    input_spec: The spec of a batch before `preprocess`, [None, ...]; by default
      that of the model's input.

  Returns:
    An extractor.

  Raises:
    errors.InputError: If there is no such model, it cannot be read or used, or
      is not trusted.
  """
  path = pathlib.Path(path)
  options = {'preprocess': preprocess, 'input_spec': input_spec}
  is_keras_file = path.suffix.lower() in _KERAS_SUFFIXES and path.is_file()
  if not is_keras_file and not (path / 'saved_model.pb').is_file():
    raise errors.InputError(
      f'{path} must be the folder of a SavedModel or a file ending in '
      f'{", ".join(_KERAS_SUFFIXES)}, got no such model.'
    )
  trust.check_saved_model(path, trusted)
  if is_keras_file:
    return freeze_keras_model(load_keras_model(path), **options)
  return _freeze_saved_model(path, **options)


def load_keras_model(path: pathlib.Path) -> Any:
  """Loads a model from a trusted file by the Keras that has written it.

  Args:
    path: The file (.h5, .hdf5 or .keras).

  Returns:
    A `tf.keras.Model`, or a model of Keras 3, which must be installed with
    TensorFlow as its backend.
  """
  from_keras_3 = keras_version(path).startswith(_KERAS_3)
  try:
    library = private_apis.keras_3() if from_keras_3 else tf.keras
    return library.models.load_model(path, compile=False)
  # Depending on the file, Keras' layers raise any exception.
  except Exception as error:
    raise errors.InputError(
      f'The model {path} cannot be read ({errors.first_line(error)}).'
    ) from error


def keras_version(path: pathlib.Path) -> str:
  """Returns the version of the Keras that has written a model, unloaded.

  Args:
    path: The file (.h5, .hdf5 or .keras). A .keras that is no zip archive is
      refused, since Keras loads another file without its safe mode.
  """
  try:
    if path.suffix.lower() == '.keras':
      with npz_files.open_archive(path) as archive:
        content = archive.read(_METADATA)
      form = {'keras_version': str}
      return regular_files.parse_json(content, form)['keras_version']
    with stored_tensors.open_hdf5(path) as file:
      return str(file.attrs.get('keras_version', ''))
  # Depending on the wrong byte, h5py raises nearly any exception.
  except Exception as error:
    raise errors.InputError(
      f'The model {path} cannot be read ({errors.first_line(error)}).'
    ) from error


def _library_of(model: Any) -> types.ModuleType:
  """Returns the Keras of a model."""
  if isinstance(model, tf.keras.Model):
    return tf.keras
  try:
    return private_apis.keras_3()
  except ImportError as error:
    raise errors.InputError(
      f'Model {model.name!r} cannot be used: {error}.'
    ) from error


def _freeze_saved_model(
  path: pathlib.Path,
  preprocess: Preprocess | None,
  input_spec: tf.TensorSpec | None,
) -> feature_map.FeatureMap:
  try:
    with regular_files.plain_folder(path) as folder:
      loaded = tf.saved_model.load(folder)
  # TensorFlow raises many kinds of errors on damaged files.
  except Exception as error:
    raise errors.InputError(
      f'The SavedModel {path} cannot be read ({errors.first_line(error)}).'
    ) from error
  signature = loaded.signatures.get('serving_default')
  sizes = signature and (
    len(signature.structured_input_signature[1]),
    len(signature.structured_outputs),
  )
  if sizes != (1, 1):
    found = '{} input(s) and {} output(s)'.format(*sizes) if sizes else 'none'
    raise errors.InputError(
      f'The SavedModel {path} must have a signature serving_default with one '
      f'input and one output, got {found}.'
    )
  ((key, spec),) = signature.structured_input_signature[1].items()

  def call(inputs: tf.Tensor) -> tf.Tensor:
    (output,) = signature(**{key: inputs}).values()
    return output

  return _freeze(
    call,
    name=path.name,
    preprocess=preprocess,
    input_spec=input_spec or tf.TensorSpec(spec.shape, spec.dtype),
    # The signature reads its variables, and tf.function does not keep them
    # alive.
    keep_alive=loaded,
  )


def _find_splits(model: tf.keras.Model) -> dict[str, Any]:
  """Returns the inputs of layers that are called once and take one tensor."""
  found = {}
  for layer in model.layers:
    if isinstance(layer, tf.keras.layers.InputLayer):
      continue  # No layer comes before it.
    try:
      # Keras raises for a layer that is called twice. The input of a layer may
      # be something else than a tensor.
      if tf.keras.backend.is_keras_tensor(layer.input):
        found[layer.name] = layer.input
    except (AttributeError, ValueError):
      continue
  return found


def _freeze(
  call: Callable[[tf.Tensor], Any],
  *,
  name: str,
  preprocess: Preprocess | None,
  input_spec: tf.TensorSpec,
  layers: tuple[str, ...] = (),
  keep_alive: Any = None,
) -> feature_map.FeatureMap:
  """Makes an extractor from a function that reads variables.

  Args:
    call: The function. It returns the output and, after it, the input of each
      of `layers`.
    name: The extractor's name, for people.
    preprocess: The function that is applied first.
    input_spec: The spec of a batch before `preprocess`.
    layers: The names of the layers before which the extractor can be split.
    keep_alive: The object that holds the variables that `call` reads.
  """

  def compute(inputs: tf.Tensor) -> list[tf.Tensor]:
    outputs = call(preprocess(inputs) if preprocess else inputs)
    outputs = tf.nest.flatten(outputs)
    split = len(outputs) - len(layers)
    return [*map(_pool, outputs[:split]), *outputs[split:]]

  traced = traced_graph.trace_graph(compute, input_spec)
  del keep_alive
  found = traced.outputs[: len(traced.outputs) - len(layers)]
  ranks = [output.shape.rank for output in found]
  if ranks != [2]:
    raise errors.InputError(
      f'Model {name!r} must have one output of [n, features] or [n, height, '
      f'width, features], got outputs of rank {", ".join(map(str, ranks))}.'
    )
  output, *before = traced.outputs
  if output.shape[-1] is None:
    raise errors.InputError(
      f'Model {name!r} must have a fixed number of features as its last '
      'dimension.'
    )
  splits = {
    layer: tf.TensorSpec(
      tensor.shape,
      tensor.dtype,
      traced_graph.source_of(traced.graph_def, tensor.name),
    )
    for layer, tensor in zip(layers, before, strict=True)
  }
  return _GraphNetwork(
    name=name,
    graph_def=traced.graph_def,
    inputs=traced.inputs[0],
    input_spec=input_spec,
    output=output,
    weights={
      key: variable.numpy()
      for key, variable in traced.variables.items()
      if variable.trainable and variable.dtype == tf.float32
    },
    splits=splits,
  ).extractor()


def _pool(output: tf.Tensor) -> tf.Tensor:
  """Returns the output as float32, averaged over the image if there is one."""
  if output.shape.rank == 4:
    output = tf.reduce_mean(output, axis=[1, 2])
  return tf.cast(output, tf.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _GraphNetwork:
  """A network, or a part of one.

  Attributes:
    name: The extractor's name, for people.
    graph_def: The graph, in which weights are constants.
    inputs: The name of the input tensor.
    input_spec: The spec of a batch before preprocessing.
    output: The spec of the features, with the tensor's name and a fixed size.
    weights: The values of weights by the names of their nodes. The extractor
      leaves out those that its features do not depend on.
    splits: The specs of layers' inputs, with the tensors' names, by the names
      of the layers before which the network can be split.
    input_shape: The shape of one input in the graph, if inputs come as vectors.
  """

  name: str
  graph_def: tf.compat.v1.GraphDef
  inputs: str
  input_spec: tf.TensorSpec
  output: tf.TensorSpec
  weights: Mapping[str, np.ndarray]
  splits: Mapping[str, tf.TensorSpec] = dataclasses.field(default_factory=dict)
  input_shape: tuple[int, ...] | None = None

  def extractor(self) -> feature_map.FeatureMap:
    """Returns the extractor that computes the graph."""
    graph_def = traced_graph.take_part(self.graph_def, self.output.name)
    present = {node.name for node in graph_def.node}
    # Leaves out weights that the features do not depend on.
    weights = {key: self.weights[key] for key in self.weights if key in present}
    num_features = math.prod(self.output.shape[1:])

    @autograph.graph_function
    def apply(weights_now: Any, x: tf.Tensor) -> tf.Tensor:
      replaced = dict(zip(weights, weights_now, strict=True))
      if self.input_shape is not None:
        x = tf.reshape(x, [-1, *self.input_shape])
      replaced[self.inputs] = x
      (features,) = tf.graph_util.import_graph_def(
        graph_def,
        input_map=replaced,
        return_elements=[self.output.name],
        name='',
      )
      return tf.reshape(features, [-1, num_features])

    # The order of nodes differs from process to process.
    in_order = tf.compat.v1.GraphDef(
      node=sorted(graph_def.node, key=lambda node: node.name),
      library=graph_def.library,
    )
    digest = hashlib.sha256(in_order.SerializeToString(deterministic=True))
    architecture = (
      f'{self.output.name} of {self.inputs}, {self.input_shape}, in graph '
      f'{digest.hexdigest()} with weights {", ".join(weights)}'
    )
    return feature_map.FeatureMap(
      name=self.name,
      architecture=architecture,
      input_spec=self.input_spec,
      num_features=num_features,
      initial_weights=tuple(weights.values()),
      apply=apply,
      layers=tuple(self.splits),
      divide=lambda layer: _split(self, layer),
    )


def _split(
  whole: _GraphNetwork, layer: str
) -> tuple[feature_map.FeatureMap, feature_map.FeatureMap]:
  """Returns the part before a layer, and the part that begins with it."""
  between = whole.splits[layer]
  output = tf.TensorSpec(
    whole.output.shape,
    whole.output.dtype,
    # The output itself waits for all weights, those of the lower part included.
    traced_graph.source_of(whole.graph_def, whole.output.name),
  )
  with tf.Graph().as_default() as graph:
    given_instead = tf.compat.v1.placeholder(
      between.dtype, between.shape, name=_PART_INPUT
    )
    tf.import_graph_def(
      whole.graph_def, input_map={between.name: given_instead}, name=''
    )
  graph_def = traced_graph.take_part(graph.as_graph_def(), output.name)
  (given, _) = whole.inputs.split(':')
  if given in {node.name for node in graph_def.node}:
    raise errors.InputError(
      f'Extractor {whole.name!r} must be split before a layer that all goes '
      f'through, got {layer!r}, past whose inputs a connection leads.'
    )
  shape = between.shape[1:]
  if between.dtype != tf.float32 or not shape.is_fully_defined():
    raise errors.InputError(
      f'Extractor {whole.name!r} must be split before a layer with float32 '
      f'inputs of a fixed size, got {layer!r} with '
      f'{between.dtype.name}{between.shape.as_list()}.'
    )
  lower = dataclasses.replace(
    whole, name=f'{whole.name}_to_{layer}', output=between, splits={}
  )
  upper = dataclasses.replace(
    whole,
    name=f'{whole.name}_from_{layer}',
    graph_def=graph_def,
    inputs=f'{_PART_INPUT}:0',
    output=output,
    splits={},
    input_shape=tuple(shape),
    input_spec=tf.TensorSpec([None, math.prod(shape)], tf.float32),
  )
  return lower.extractor(), upper.extractor()
