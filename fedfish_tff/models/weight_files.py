# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial weights of a model from files of other tools, by name and shape.

Files of weights are data, and so are the weights in a model of Keras 3 (.keras).
A model of Keras 2 lacks their names without its program, so it is loaded only
after a call of `trust.trust`, in Keras' own safe mode.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import io
import os
import pathlib
import zipfile

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import trust
from fedfish_tff.datasets import npz_files
from fedfish_tff.models import frozen_graph
from fedfish_tff.models import keras_classifier
from fedfish_tff.models import supervised

import h5py
import numpy as np
import safetensors
import tensorflow as tf
import tensorflow_federated as tff

# The names of tensors without a name, in the order of the model.
_TRAINABLE, _OTHER = 'trainable_{}', 'non_trainable_{}'
_SUFFIXES = ('.npz', '.safetensors', '.h5', '.keras')
# The file of weights in a model of Keras 3.
_MODEL_WEIGHTS = 'model.weights.h5'
# The groups of Keras' newer files, which name layers by their classes.
_LAYERS = ('_layer_checkpoint_dependencies', 'layers')
# The groups of those files with other values than weights.
_NO_WEIGHTS = {'optimizer', 'seed_generator'}


def name_weights(
  weights: tff.learning.models.ModelWeights, tensor_names: Sequence[str]
) -> dict[str, np.ndarray]:
  """Returns a model's weights by name, see `fit_weights`.

  Args:
    weights: The model's weights.
    tensor_names: A name for each trainable tensor; other numbers of names are
      not used.
  """
  trainable = tf.nest.flatten(weights.trainable)
  if len(tensor_names) != len(trainable):
    tensor_names = [_TRAINABLE.format(i) for i in range(len(trainable))]
  named = dict(zip(tensor_names, trainable))
  for i, weight in enumerate(tf.nest.flatten(weights.non_trainable)):
    named[_OTHER.format(i)] = weight
  return {name: np.asarray(weight) for name, weight in named.items()}


def read_weights(
  path: str | os.PathLike[str], tensor_names: Sequence[str]
) -> dict[str, np.ndarray]:
  """Reads a file of weights.

  Args:
    path: An .npz or .safetensors file of arrays; weights of Keras 2 or 3 (.h5);
      or a model of either (.keras).
    tensor_names: The names of the trainable tensors of the model that the
      weights are for, in its order.

  Returns:
    The tensors by name.

  Raises:
    errors.InputError: If the file cannot be read or is another one, or a model
      is not trusted.
  """
  name, path = os.fspath(path), pathlib.Path(path)
  suffix = path.suffix.lower()
  if suffix not in _SUFFIXES or not path.is_file():
    raise errors.InputError(
      'A model must begin with the workdir of a run, or a file of weights ending '
      f'in {", ".join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, got {name!r}.'
    )
  if suffix == '.keras' and not frozen_graph.is_from_keras_3(path):
    trust.check_saved_model(path)
    model = frozen_graph.load_keras_model(path)
    names = keras_classifier.keras_tensor_names(model)
    named = dict(zip(names, model.trainable_variables))
    named |= {v.name: v for v in model.non_trainable_variables}
    return {name: variable.numpy() for name, variable in named.items()}
  try:
    with open(path, 'rb', opener=regular_files.opener) as file:
      if suffix == '.safetensors':
        # Opened again by its path, once it has shown to be a regular file.
        with safetensors.safe_open(path, framework='numpy') as archive:
          return {n: archive.get_tensor(n) for n in archive.keys()}
      if suffix == '.h5':
        with h5py.File(file, 'r') as group:
          return _read_keras_weights(group, tensor_names)
      with zipfile.ZipFile(file) as archive:
        if suffix == '.npz':
          names = [name.removesuffix('.npy') for name in archive.namelist()]
          return {n: npz_files.read_npz_array(archive, n) for n in names}
        content = io.BytesIO(archive.read(_MODEL_WEIGHTS))
        with h5py.File(content, 'r') as group:
          return _read_keras_weights(group, tensor_names)
  # Depending on the wrong byte, h5py raises nearly any exception.
  except Exception as error:
    raise errors.InputError(
      f'The weights {path} cannot be read ({" ".join(str(error).split())}).'
    ) from error


def fit_weights(
  model: tff.learning.models.FunctionalModel,
  tensors: Mapping[str, np.ndarray],
  *,
  tensor_names: Sequence[str],
  source: object,
) -> tff.learning.models.ModelWeights:
  """Returns weights of a model, each by its name and of its shape.

  Args:
    model: The model.
    tensors: The tensors by name. Names trainable_0, trainable_1, ... stand for
      the trainable tensors in the model's order, and non_trainable_0, ... for
      the others, as in files of `launch.evaluate --export`.
    tensor_names: The names of the model's trainable tensors; empty for none.
    source: The name of the place of the tensors, for errors.

  Raises:
    errors.InputError: If a tensor is missing, unknown or of another shape; the
      message names the first one.
  """
  trainable, others = map(tf.nest.flatten, model.initial_weights)
  if not tensor_names or _TRAINABLE.format(0) in tensors:
    tensor_names = [_TRAINABLE.format(i) for i in range(len(trainable))]
  names = [*tensor_names, *map(_OTHER.format, range(len(others)))]
  fitted = []
  for name, initial in zip(names, [*trainable, *others], strict=True):
    initial = np.asarray(initial)
    found = tensors.get(name)
    if found is None or found.shape != initial.shape:
      what = 'no such tensor' if found is None else f'one of {found.shape}'
      raise errors.InputError(
        f'{source} must have a tensor {name!r} of shape {initial.shape}, as the '
        f'model has, got {what}; it has {", ".join(tensors)}.'
      )
    fitted.append(found.astype(initial.dtype))
  unknown = [name for name in tensors if name not in names]
  if unknown:
    raise errors.InputError(
      f'{source} must have the tensors of the model, {", ".join(names)}, got '
      f'another one, {unknown[0]!r}.'
    )
  return tff.learning.models.ModelWeights(
    tuple(fitted[: len(trainable)]), tuple(fitted[len(trainable) :])
  )


def with_weights(
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
) -> tff.learning.models.FunctionalModel:
  """Returns a model with other initial weights.

  Args:
    model: The model.
    weights: The weights, flat, in the model's order.
  """
  return supervised.replace_pass(
    model,
    model.predict_on_batch,
    tuple(
      tf.nest.pack_sequence_as(initial, given)
      for initial, given in zip(model.initial_weights, weights)
    ),
  )


def _read_keras_weights(
  file: h5py.Group, tensor_names: Sequence[str]
) -> dict[str, np.ndarray]:
  """Returns the tensors in a file of Keras' two forms by name.

  Args:
    file: The file.
    tensor_names: The names of the model's tensors.
  """
  file = file.get('model_weights', file)
  if 'layer_names' in file.attrs:
    tensors = {
      name.partition(':')[0]: np.asarray(file[layer][name])
      for layer in map(_to_text, file.attrs['layer_names'])
      for name in map(_to_text, file[layer].attrs['weight_names'])
    }
    return _match_names(tensors, tensor_names)
  # The newer form has no names of tensors, but numbers in their layers. Keras 2
  # names layers only by their classes, Keras 3 in attributes, too.
  by_layer: dict[str, np.ndarray] = {}
  by_class: dict[str, np.ndarray] = {}
  positions: dict[str, str] = {}
  for name in tensor_names:
    layer = name.rpartition('/')[0]
    number = sum(n.rpartition('/')[0] == layer for n in positions.values())
    positions[f'{layer}/vars/{number}'] = name

  def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
    parts = name.split('/')
    if not isinstance(item, h5py.Dataset) or _NO_WEIGHTS & {*parts}:
      return
    for layers in _LAYERS:
      name = name.removeprefix(f'{layers}/')
    tensor = by_class[name] = np.asarray(item)
    groups = ('/'.join(parts[:i]) for i in range(1, len(parts) - 1))
    labels = [
      _to_text(file[f'{group}/vars'].attrs['name'])
      for group in groups
      if 'name' in file.get(f'{group}/vars', file).attrs
    ]
    label = '/'.join([*labels, *parts[-2:]]) if labels else name
    # Layers of a list may have the same name.
    by_layer[f'{label} ({name})' if label in by_layer else label] = tensor

  file.visititems(visit)
  # As Keras does, takes layers of other names by the numbers of their classes.
  found = max(
    (_match_names(by_layer, positions), by_class),
    key=lambda named: len(named.keys() & positions.keys()),
  )
  return {positions.get(name, name): tensor for name, tensor in found.items()}


def _match_names(
  tensors: Mapping[str, np.ndarray], known: Collection[str]
) -> dict[str, np.ndarray]:
  """Returns tensors under a model's names for them where it has such.

  The names of a file may begin with those of the model, and in Keras 3 of the
  models in it, around the layers.

  Args:
    tensors: The tensors by their names in a file.
    known: The names in the model.
  """
  named = {name: tensors[name] for name in tensors if name in known}
  for name, tensor in tensors.items():
    if name not in known:
      parts = name.split('/')
      ends = ('/'.join(parts[i:]) for i in range(1, len(parts)))
      fits = (end for end in ends if end in known and end not in named)
      named[next(fits, name)] = tensor
  return named


def _to_text(name: str | bytes) -> str:
  return name.decode() if isinstance(name, bytes) else name
