# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial weights of a model from files of other tools, by name and shape.

Names, shapes and dtypes are compared before any values are read. Files of
weights are data, and so are the weights in a model of Keras 3 (.keras). A model
of Keras 2 lacks their names without its program, so it is loaded only if it is
trusted.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import functools
import io
import os
import pathlib
import re
from typing import Any
import zipfile

from fedfish_tff import errors
from fedfish_tff import regular_files
from fedfish_tff import trust
from fedfish_tff.datasets import npz_files
from fedfish_tff.models import frozen_graph
from fedfish_tff.models import keras_conversion
from fedfish_tff.models import keras_weights
from fedfish_tff.models import stored_tensors

import numpy as np
import safetensors
import tensorflow as tf
import tensorflow_federated as tff

# The names of tensors without a name, in the order of the model.
_TRAINABLE, _OTHER = 'trainable_{}', 'non_trainable_{}'
_SUFFIXES = ('.npz', '.safetensors', '.h5', '.keras')
# The file of weights in a model of Keras 3.
_MODEL_WEIGHTS = 'model.weights.h5'
# The name of an array without one in an .npz file.
_POSITION = 'arr_{}'


def name_weights(
  weights: tff.learning.models.ModelWeights, tensor_names: Sequence[str]
) -> dict[str, np.ndarray]:
  """Returns a model's weights by name.

  Args:
    weights: The model's weights, trainable and not.
    tensor_names: A name for each trainable tensor. With another number of names
      these are trainable_0, trainable_1, ... in the model's order; those of the
      other tensors are always non_trainable_0, non_trainable_1, ...
  """
  trainable, others = map(tf.nest.flatten, weights)
  if len(tensor_names) != len(trainable):
    tensor_names = [_TRAINABLE.format(i) for i in range(len(trainable))]
  names = [*tensor_names, *map(_OTHER.format, range(len(others)))]
  return dict(zip(names, map(np.asarray, [*trainable, *others]), strict=True))


def read_weights(
  path: str | os.PathLike[str],
  model: tff.learning.models.FunctionalModel,
  *,
  tensor_names: Sequence[str],
  trusted: bool = False,
) -> tff.learning.models.ModelWeights:
  """Reads a file of weights for a model.

  Shapes and dtypes are compared before values are read. Tensors without the
  model's names are taken by shape and order, if only one way fits.

  Args:
    path: An .npz or .safetensors file of arrays; weights of Keras 2 or 3 (.h5);
      or a model of either (.keras).
    model: The model that gives names, shapes and dtypes.
    tensor_names: The names of the model's trainable tensors; empty for none.
    trusted: Whether a model of Keras 2 may run its code.

  Returns:
    The weights, flat, in the model's order.

  Raises:
    errors.InputError: If the file cannot be read, does not fit the model or
      holds a value that is not finite; or a model of Keras 2 is not trusted.
  """
  expected = _shapes_of(model, tensor_names)
  with _opened(path, expected, trusted) as (tensors, writer):
    return _fit(
      model, tensors, tensor_names=tensor_names, source=path, writer=writer
    )


def _fit(
  model: tff.learning.models.FunctionalModel,
  tensors: keras_weights.Tensors,
  *,
  tensor_names: Sequence[str],
  source: object,
  writer: str,
) -> tff.learning.models.ModelWeights:
  """Returns a model's weights, as `read_weights`, after comparing all shapes.

  Args:
    model: The model that gives names, shapes and dtypes.
    tensors: The tensors, by the names that the file or the model has for them.
    tensor_names: The names of the model's trainable tensors; empty for none.
    source: The name of the place of the tensors, for errors.
    writer: The program that has written them; '' if unknown.
  """
  if _TRAINABLE.format(0) in tensors:
    tensor_names = ()
  expected = _shapes_of(model, tensor_names)
  for name, shape in expected.items():
    found = tensors.get(name)
    if found is None or found.shape != shape:
      what = 'no such tensor' if found is None else f'one of {found.shape}'
      advice = (
        f' ({writer} has written it); an .npz file with the names of the model '
        'will do, numpy.savez(FILE, **{name: array})'
      )
      raise errors.InputError(
        f'{source} must have a tensor {name!r} of shape {shape}, as the model '
        f'has, got {what}; it has {errors.list_some([*tensors])}'
        f'{advice if writer and found is None else ""}.'
      )
  unknown = [name for name in tensors if name not in expected]
  if unknown:
    raise errors.InputError(
      f'{source} must have the tensors of the model, '
      f'{errors.list_some([*expected])}, got another one, {unknown[0]!r}.'
    )
  trainable, others = map(tf.nest.flatten, model.initial_weights)
  fitted = [
    stored_tensors.cast(
      tensors[name],
      np.asarray(initial).dtype,
      name=f'Tensor {name!r} of {source}',
    )
    for name, initial in zip(expected, [*trainable, *others], strict=True)
  ]
  return tff.learning.models.ModelWeights(
    tuple(fitted[: len(trainable)]), tuple(fitted[len(trainable) :])
  )


def _shapes_of(
  model: tff.learning.models.FunctionalModel, tensor_names: Sequence[str]
) -> dict[str, tuple[int, ...]]:
  """Returns the shapes of a model's tensors by name, in its order."""
  named = name_weights(
    tff.learning.models.ModelWeights(*model.initial_weights), tensor_names
  )
  return {name: weight.shape for name, weight in named.items()}


@contextlib.contextmanager
def _opened(
  path: str | os.PathLike[str], expected: keras_weights.Shapes, trusted: bool
) -> Iterator[tuple[keras_weights.Tensors, str]]:
  """Opens a file of weights.

  Args:
    path: A file as for `read_weights`.
    expected: The shapes of the model's tensors, by name.
    trusted: Whether a model of Keras 2 may run its code.

  Yields:
    The tensors, by the model's names where those are certain, and the program
    that has written them; '' if that is unknown.
  """
  name, path = os.fspath(path), pathlib.Path(path)
  suffix = path.suffix.lower()
  if suffix not in _SUFFIXES or not path.is_file():
    raise errors.InputError(
      'A model must begin with the workdir of a run, or a file of weights ending '
      f'in {", ".join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, got {name!r}.'
    )
  version = ''
  if suffix == '.keras':
    version = frozen_graph.keras_version(path)
    if not version.startswith('3.'):
      trust.check_saved_model(path, trusted)
      yield _load_keras_2(path, expected), f'Keras {version}'
      return
  try:
    with contextlib.ExitStack() as stack:
      if suffix == '.safetensors':
        # Opened again by its path, once it has shown to be a regular file.
        stack.enter_context(open(path, 'rb', opener=regular_files.opener))
        found = _find_safetensors(
          stack.enter_context(safetensors.safe_open(path, framework='numpy'))
        )
      elif suffix == '.npz':
        archive = stack.enter_context(npz_files.open_archive(path))
        found = _find_arrays(archive, expected)
      else:
        file = path
        if version:
          archive = stack.enter_context(npz_files.open_archive(path))
          file = io.BytesIO(archive.read(_MODEL_WEIGHTS))
        group = stack.enter_context(stored_tensors.open_hdf5(file))
        found, writer = keras_weights.find_weights(group, expected)
        yield found, f'Keras {version}' if version else writer
        return
      yield found, ''
  except errors.InputError:
    raise
  # Depending on the wrong byte, h5py raises nearly any exception.
  except Exception as error:
    raise errors.InputError(
      f'The weights {path} cannot be read ({" ".join(str(error).split())}).'
    ) from error


def _load_keras_2(
  path: pathlib.Path, expected: keras_weights.Shapes
) -> keras_weights.Tensors:
  """Loads a trusted model, without whose program its weights have no names."""
  model = frozen_graph.load_keras_model(path)
  names = keras_conversion.keras_tensor_names(model)
  named = dict(zip(names, model.trainable_variables))
  named |= {v.name: v for v in model.non_trainable_variables}
  return keras_weights.match_names(
    {
      n: stored_tensors.StoredTensor.of_array(v.numpy())
      for n, v in named.items()
    },
    expected,
  )


def _find_safetensors(archive: Any) -> keras_weights.Tensors:
  return {
    name: stored_tensors.StoredTensor(
      tuple(header.get_shape()),
      header.get_dtype(),
      # F32, BF16, F8_E4M3, I64, U8 ..., but not BOOL, C64 and packed F4.
      bool(re.match(r'(F|BF|I|U)(8|16|32|64)', header.get_dtype())),
      functools.partial(archive.get_tensor, name),
    )
    for name in archive.keys()
    for header in [archive.get_slice(name)]
  }


def _find_arrays(
  archive: zipfile.ZipFile, expected: keras_weights.Shapes
) -> keras_weights.Tensors:
  """Finds the arrays in an .npz file."""
  names = [name.removesuffix('.npy') for name in archive.namelist()]
  tensors = {
    name: stored_tensors.StoredTensor.of(
      *npz_files.read_npz_header(archive, name),
      functools.partial(npz_files.read_npz_array, archive, name),
    )
    for name in names
  }
  # numpy.savez(FILE, *model.get_weights()) names arrays by their positions, in
  # which what is not trained stands among the rest.
  by_position = [_POSITION.format(i) for i in range(len(expected))]
  if set(names) != {*by_position} or _OTHER.format(0) in expected:
    return tensors
  in_order = {name: tensors[name] for name in by_position}
  if not keras_weights.fits_in_order(in_order, expected):
    return tensors
  return dict(zip(expected, in_order.values(), strict=True))
