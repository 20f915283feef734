# Copyright 2026 The FedFish-TFF Authors.
# SPDX-License-Identifier: Apache-2.0
"""Exports of a trained model: a SavedModel and plain arrays."""

from collections.abc import Mapping
from collections.abc import Sequence
import hashlib
import io
import os
import pathlib
import shutil

from fedfish_tff import errors
from fedfish_tff import models
from fedfish_tff import new_files
from fedfish_tff.models import model_functions
from fedfish_tff.simulation import files

import numpy as np
import safetensors.numpy
import tensorflow as tf
import tensorflow_federated as tff


def write_weights(
  weights: tff.learning.models.ModelWeights, path: str | os.PathLike[str]
) -> None:
  """Writes weights as an .npz of arrays trainable_0, non_trainable_0, ...

  Args:
    weights: The model weights, arrays in the model's order.
    path: The file, in an existing folder; it is written whole or not at all.
  """
  flat = model_functions.flatten_weights(weights)
  arrays = {
    f'{name}_{i}': np.asarray(array)
    for name, group in flat._asdict().items()
    for i, array in enumerate(group)
  }
  content = io.BytesIO()
  np.savez(content, **arrays)
  files.write_atomically(path, content.getvalue())


def write_named_weights(
  weights: tff.learning.models.ModelWeights,
  path: str | os.PathLike[str],
  *,
  tensor_names: Sequence[str],
) -> str:
  """Writes weights by name as .safetensors, which `models.read_weights` reads.

  Args:
    weights: The model weights, arrays in the model's order.
    path: The file, in an existing folder; it is written whole or not at all.
    tensor_names: The names of the trainable tensors, as for
      `models.name_weights`.

  Returns:
    The SHA-256 digest of the file in hexadecimal.
  """
  named = models.name_weights(weights, tensor_names)
  # Tensors that are views of others, such as transposes, are copied.
  arrays = {name: np.asarray(array, order='C') for name, array in named.items()}
  content = safetensors.numpy.save(arrays)
  files.write_atomically(path, content)
  return hashlib.sha256(content).hexdigest()


def write_saved_model(
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
  folder: str | os.PathLike[str],
) -> None:
  """Writes a SavedModel that `tf.saved_model.load` reads without this package.

  Its signature `serving_default` takes a batch of inputs as `x`, or x's items
  by name if x is a mapping. It returns the predictions in inference mode as
  `output`, or their items by name if they are a mapping.

  Args:
    model: The model, whose predictions are exported.
    weights: The weights, arrays in the model's order.
    folder: The SavedModel's folder. An earlier one is replaced once the new one
      is written.
  """
  folder = pathlib.Path(folder)
  new, old = (new_files.temporary_path(folder) for _ in range(2))
  try:
    _save(model, weights, new)
    if folder.exists():
      os.replace(folder, old)
    os.replace(new, folder)
    if old.exists():
      shutil.rmtree(old)
  except OSError as error:
    raise files.unwritable_error(folder, error) from error
  except tf.errors.OpError as error:
    raise errors.InputError(
      f'Cannot write {folder}: {error.message.splitlines()[0]}.'
    ) from error
  finally:
    shutil.rmtree(new, ignore_errors=True)


def _save(
  model: tff.learning.models.FunctionalModel,
  weights: tff.learning.models.ModelWeights,
  folder: pathlib.Path,
) -> None:
  flat = model_functions.flatten_weights(weights)
  module = tf.Module(name='model')
  module.trainable_weights = [tf.Variable(value) for value in flat.trainable]
  module.non_trainable_weights = [
    tf.Variable(value, trainable=False) for value in flat.non_trainable
  ]
  x_spec, _ = model_functions.split_batch(model.input_spec)
  by_name = isinstance(x_spec, Mapping)

  @tf.function
  def serve(**inputs: tf.Tensor) -> Mapping[str, tf.Tensor]:
    variables = (module.trainable_weights, module.non_trainable_weights)
    model_weights = tuple(
      tf.nest.pack_sequence_as(group, [v.read_value() for v in values])
      for group, values in zip(model.initial_weights, variables)
    )
    output = model.predict_on_batch(
      model_weights, inputs if by_name else inputs['x'], training=False
    )
    return output if isinstance(output, Mapping) else {'output': output}

  specs = {
    name: tf.TensorSpec(spec.shape, spec.dtype, name)
    for name, spec in (x_spec if by_name else {'x': x_spec}).items()
  }
  tf.saved_model.save(
    module,
    os.fspath(folder),
    signatures={'serving_default': serve.get_concrete_function(**specs)},
  )
