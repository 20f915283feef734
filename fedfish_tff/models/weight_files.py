# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial weights of a model from files of NumPy and Keras, by name and shape.

Files of weights are data. A whole model of Keras (.keras) is a program, so it
is loaded only after a call of `trust.trust`, in Keras' own safe mode.
"""

from collections.abc import Mapping
from collections.abc import Sequence
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
import tensorflow as tf
import tensorflow_federated as tff

# The names of tensors without a name, in the order of the model.
_TRAINABLE, _OTHER = 'trainable_{}', 'non_trainable_{}'
# The groups of Keras' newer files, which name layers by their classes.
_LAYERS = ('_layer_checkpoint_dependencies', 'layers')


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
    path: An .npz file of arrays; weights of Keras (.h5); or a model of Keras
      (.keras).
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
  if suffix not in ('.npz', '.h5', '.keras') or not path.is_file():
    raise errors.InputError(
      'A model must begin with the workdir of a run, or a file of weights ending '
      f'in .npz, .h5 or .keras, got {name!r}.'
    )
  if suffix == '.keras':
    trust.check_saved_model(path)
    model = frozen_graph.load_keras_model(path)
    names = keras_classifier.keras_tensor_names(model)
    named = dict(zip(names, model.trainable_variables))
    named |= {v.name: v for v in model.non_trainable_variables}
    return {name: variable.numpy() for name, variable in named.items()}
  try:
    with open(path, 'rb', opener=regular_files.opener) as file:
      if suffix == '.npz':
        with zipfile.ZipFile(file) as archive:
          names = [name.removesuffix('.npy') for name in archive.namelist()]
          return {n: npz_files.read_npz_array(archive, n) for n in names}
      with h5py.File(file, 'r') as group:
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
    return {
      name.partition(':')[0]: np.asarray(file[layer][name])
      for layer in map(_to_text, file.attrs['layer_names'])
      for name in map(_to_text, file[layer].attrs['weight_names'])
    }
  # The newer form has no names of tensors, but numbers in their layers.
  tensors: dict[str, np.ndarray] = {}
  positions: dict[str, str] = {}
  for name in tensor_names:
    layer = name.rpartition('/')[0]
    number = sum(n.rpartition('/')[0] == layer for n in positions.values())
    positions[f'{layer}/vars/{number}'] = name

  def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
    if isinstance(item, h5py.Dataset):
      for layers in _LAYERS:
        name = name.removeprefix(f'{layers}/')
      tensors[positions.get(name, name)] = np.asarray(item)

  file.visititems(visit)
  return tensors


def _to_text(name: str | bytes) -> str:
  return name.decode() if isinstance(name, bytes) else name
